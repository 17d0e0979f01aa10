/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN on a host, tcx ingress: the notification point, and what becomes of CNPs. See docs/dcqcn.md. */
#ifndef LOSSLESS_DCQCN_INGRESS_H
#define LOSSLESS_DCQCN_INGRESS_H

#include "carrier.h"
#include "dcqcn.h"
#include "stages/icrc.h"

static __always_inline void ll_host_tell(__u32 slot, __u32 qpn)
{
	struct ll_host_event event = {.slot = slot, .qpn = qpn};

	/* Full: the daemon is awake, and looks at all QPs. */
	bpf_ringbuf_output(&host_events, &event, sizeof event, 0);
}

static __always_inline struct ll_host_qp *ll_host_find_qp(__u32 slot, __u32 qpn)
{
	struct ll_host_qp_key key = {.slot = slot, .qpn = qpn};
	struct ll_host_qp *qp = bpf_map_lookup_elem(&host_qps, &key);

	if (!qp)
		ll_host_tell(slot, qpn);
	return qp;
}

/* 1: a CNP may be sent for this packet now. */
static __always_inline int ll_np_due(struct __sk_buff *skb, const struct ll_host *host, __u32 slot,
				     __u32 ip_at, __u32 version, __u32 qpn)
{
	struct ll_dcqcn_np fresh = {}, *np;
	struct ll_np_key key = {.slot = slot};
	__u8 ip[LL_IPV6_HLEN];

	if (host->cnp_per != LL_CNP_PER_PORT) {
		if (bpf_skb_load_bytes(skb, ip_at, ip, version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN))
			return 0;
		ll_address_of(&key.src, ip, version, LL_ADDRESS_SOURCE);
		ll_address_of(&key.dst, ip, version, LL_ADDRESS_DESTINATION);
	}
	if (host->cnp_per == LL_CNP_PER_QP)
		key.qpn = qpn;
	np = bpf_map_lookup_elem(&np_flows, &key);
	if (!np) {
		bpf_map_update_elem(&np_flows, &key, &fresh, BPF_NOEXIST);
		np = bpf_map_lookup_elem(&np_flows, &key);
	}
	return np && ll_dcqcn_np_ce(&host->params, np, bpf_ktime_get_ns());
}

/* Addresses, ports and MACs of the marked packet, exchanged. 0: done. */
static __always_inline int ll_np_answer(struct __sk_buff *skb, const struct ll_host *host, __u32 version,
					__u32 peer_qpn, struct ll_carrier *c)
{
	struct ll_cnp *cnp = &c->cnp;
	__u8 mac[12], udp[2];

	cnp->ip = (__u8)version;
	cnp->tos = host->cnp_tos;
	cnp->dest_qp = peer_qpn;
	cnp->id = 0;
	if (bpf_skb_load_bytes(skb, 0, mac, sizeof mac))
		return -1;
	__builtin_memcpy(cnp->eth_src, mac, 6);
	__builtin_memcpy(cnp->eth_dst, mac + 6, 6);
	if (version == 4) {
		if (bpf_skb_load_bytes(skb, LL_ETH_HLEN + 12, cnp->dst, 4) ||
		    bpf_skb_load_bytes(skb, LL_ETH_HLEN + 16, cnp->src, 4) ||
		    bpf_skb_load_bytes(skb, LL_ETH_HLEN + LL_IPV4_HLEN, udp, sizeof udp))
			return -1;
	} else if (bpf_skb_load_bytes(skb, LL_ETH_HLEN + 8, cnp->dst, 16) ||
		   bpf_skb_load_bytes(skb, LL_ETH_HLEN + 24, cnp->src, 16) ||
		   bpf_skb_load_bytes(skb, LL_ETH_HLEN + LL_IPV6_HLEN, udp, sizeof udp)) {
		return -1;
	}
	cnp->sport = ll_get16(udp);
	c->cnp_tc = host->cnp_tc & (LL_TCS - 1);
	c->cnp_flags = skb->vlan_present ? LL_CNP_TAGGED : 0;
	c->vlan_tci = (__u16)((skb->vlan_tci & 0x1fff) | (__u32)c->cnp_tc << 13);
	c->vlan_proto = (__u16)skb->vlan_proto;
	return 0;
}

/* A data packet with CE for the local QP `qpn`. */
__noinline int ll_host_np(struct __sk_buff *skb, __u32 slot, __u32 ip_at, __u32 version, __u32 qpn)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	struct ll_host *host = bpf_map_lookup_elem(&hosts, &slot);
	struct ll_carrier *c = ll_carrier();
	struct ll_host_qp *qp;

	if (!stats || !host || !c)
		return 0;
	stats->np_ecn_marked_roce_packets++;
	if (!ll_np_due(skb, host, slot, ip_at, version, qpn)) {
		stats->np_held++;
		return 0;
	}
	qp = ll_host_find_qp(slot, qpn);
	if (!qp) {
		stats->np_no_peer++;
		return 0;
	}
	/* With a second tag in the frame the answer would need it too. */
	if (ip_at == LL_ETH_HLEN && !ll_np_answer(skb, host, version, qp->peer_qpn, c) &&
	    ll_launch(skb, c, LL_CARRIES_CNP, skb->ifindex, bpf_ktime_get_ns()))
		stats->np_cnp_sent++;
	else
		stats->np_no_carrier++;
	return 0;
}

/* The flow of a QP, with a new entry where there is none. */
static __always_inline struct ll_rp_flow *ll_rp_find(const struct ll_rp_key *key, const struct ll_host *host,
						     __u32 qpn, __u64 now)
{
	struct ll_rp_flow *f = bpf_map_lookup_elem(&rp_flows, key);
	struct ll_rp_flow fresh = {.qpn = qpn, .next_ns = now, .last_ns = now};

	if (f)
		return f;
	ll_dcqcn_rp_init(&fresh.rp, host->line_bps, now);
	bpf_map_update_elem(&rp_flows, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rp_flows, key);
}

/* The cut itself, of the QP `qpn` whose CNP came from the source in the IP header. 1: it was found. */
static __always_inline int ll_rp_react(const __u8 *ip, __u32 version, __u32 slot, __u32 qpn)
{
	struct ll_host *host = bpf_map_lookup_elem(&hosts, &slot);
	struct ll_rp_key key = {.slot = slot};
	struct ll_host_qp *qp = ll_host_find_qp(slot, qpn);
	struct ll_rp_flow *f;
	__u64 now;

	if (!host || !qp)
		return 0;
	now = bpf_ktime_get_ns();
	ll_address_of(&key.peer, ip, version, LL_ADDRESS_SOURCE);
	key.peer_qpn = qp->peer_qpn;
	f = ll_rp_find(&key, host, qpn, now);
	if (!f)
		return 0;
	bpf_spin_lock(&f->lock);
	ll_dcqcn_rp_cnp(&host->params, &f->rp, now);
	f->qpn = qpn;
	f->last_ns = now;
	f->cnps++;
	bpf_spin_unlock(&f->lock);
	return 1;
}

/* A well-formed CNP of `bytes` from the IP header on, which ends here whatever it says. */
__noinline int ll_host_cnp(struct __sk_buff *skb, __u32 slot, __u32 ip_at, __u32 version, __u32 bytes)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	struct ll_port *port = ll_find_port(skb->ifindex);
	__u8 ip[LL_CNP6_LEN] = {};
	__u32 computed, carried, qpn;

	if (!stats || !port)
		return 0;
	if (bytes != (version == 4 ? LL_CNP4_LEN : LL_CNP6_LEN)) {
		stats->bad[LL_ROCE_EXT_SHORT]++;
		return 0;
	}
	if (version == 4) {
		if (bpf_skb_load_bytes(skb, ip_at, ip, LL_CNP4_LEN))
			return 0;
		computed = ll_icrc_small4(ip, 16);
		carried = ll_icrc_get(ip + LL_CNP4_LEN - LL_ICRC_LEN);
		qpn = ll_get24(ip + LL_IPV4_HLEN + 8 + 5);
	} else {
		if (bpf_skb_load_bytes(skb, ip_at, ip, LL_CNP6_LEN))
			return 0;
		computed = ll_icrc_small6(ip, 16);
		carried = ll_icrc_get(ip + LL_CNP6_LEN - LL_ICRC_LEN);
		qpn = ll_get24(ip + LL_IPV6_HLEN + 8 + 5);
	}
	if (computed != carried) {
		stats->bad[LL_ROCE_ICRC]++;
		return 0;
	}
	if (port->host & LL_HOST_RP && ll_rp_react(ip, version, slot, qpn))
		stats->rp_cnp_handled++;
	else
		stats->rp_cnp_ignored++;
	return 0;
}

/*
 * RoCEv2 behind IP options, in fragments or behind IPv6 extension headers (A17.4.1 has none of these): the IP
 * stack would put it together and hand it to rxe unseen. 1: it is such a packet.
 */
__noinline int ll_host_hides(struct __sk_buff *skb, __u32 slot, __u32 l3_off, __u32 version)
{
	const struct ll_headers h = {.l3_off = (__u16)l3_off, .ip = (__u8)version};
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	__u32 need = l3_off + LL_ZONE_PARSE_MAX;
	struct ll_flow flow = {};

	if (!stats)
		return 0;
	if (skb->data_end - skb->data < need)
		bpf_skb_pull_data(skb, skb->len < need ? skb->len : need);
	ll_zone_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &h, &flow);
	if (!flow.storage || flow.protocol != LL_PROTO_UDP)
		return 0;
	stats->headers++;
	return 1;
}

/* Where the parser could not look for UDP: it may be there all the same. */
static __always_inline int ll_may_hide(enum ll_roce_kind kind, const struct ll_headers *h, __u8 next)
{
	if (h->ip == 6)
		return kind == LL_ROCE_OTHER && (ll_is_extension(next) || next == LL_PROTO_FRAGMENT);
	return kind == LL_ROCE_IP_OPTIONS || kind == LL_ROCE_IP_FRAGMENT;
}

/* enum ll_roce_kind of the packet. A function of its own, which the verifier goes through once. */
__noinline int ll_host_look(struct __sk_buff *skb, struct ll_roce *r)
{
	if (!r)
		return LL_ROCE_OTHER;
	return (int)ll_roce_of_skb(skb, r);
}

/* tcx ingress of a host's port, of a packet that ll_parse() found to be IP: 1, it ends here. */
__noinline int ll_host_ingress(struct __sk_buff *skb, __u32 slot, __u32 flags, __u32 l3_off, __u32 version)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	const struct ll_headers h = {.l3_off = (__u16)l3_off, .ip = (__u8)version};
	struct ll_roce r = {};
	__u32 kind;
	__u8 next;

	if (!stats || bpf_skb_load_bytes(skb, l3_off + 6, &next, sizeof next))
		return 0;
	kind = (__u32)ll_host_look(skb, &r);
	if (kind == LL_ROCE_OK && r.opcode == LL_OP_CNP) {
		ll_host_cnp(skb, slot, l3_off, version, r.icrc_at + LL_ICRC_LEN - l3_off);
		return 1;
	}
	if (kind == LL_ROCE_OK) {
		if (flags & LL_HOST_NP && (r.tos & LL_ECN_MASK) == LL_ECN_CE && r.opcode != LL_OP_ACK &&
		    r.opcode >> 5 != LL_OP_UD_SEND_ONLY >> 5)
			ll_host_np(skb, slot, l3_off, version, r.dest_qp);
		return 0;
	}
	if (!(flags & LL_HOST_GUARD))
		return 0;
	if (kind < LL_ROCE_UDP_LENGTH)
		return ll_may_hide((enum ll_roce_kind)kind, &h, next) &&
		       ll_host_hides(skb, slot, l3_off, version);
	asm volatile("" : "+r"(kind)); /* the verifier has to see the check on what is used as the index */
	if (kind < LL_ROCE_KINDS)
		stats->bad[kind]++;
	return 1;
}

#endif
