/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN on a host, tcx ingress: the notification point, and what dcqcn_take.h does with the rest. See
 * docs/dcqcn.md. */
#ifndef LOSSLESS_DCQCN_INGRESS_H
#define LOSSLESS_DCQCN_INGRESS_H

#include "carrier.h"
#include "dcqcn_take.h"

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

/* A well-formed CNP of `bytes` from the IP header on. */
__noinline int ll_host_take_cnp(struct __sk_buff *skb, __u32 slot, __u32 flags, __u32 where, __u32 bytes)
{
	__u32 version = (where >> 8 & 0xff) == 4 ? 4 : 6;
	struct ll_cnp_bytes cnp = {};

	if (bytes != (version == 4 ? LL_CNP4_LEN : LL_CNP6_LEN))
		return ll_host_bad(slot, LL_ROCE_EXT_SHORT);
	if (version == 4 ? bpf_skb_load_bytes(skb, where & 0x1f, cnp.ip, LL_CNP4_LEN)
			 : bpf_skb_load_bytes(skb, where & 0x1f, cnp.ip, LL_CNP6_LEN))
		return 0;
	return ll_host_end_cnp(&cnp, slot, flags, version);
}

/*
 * RoCEv2 behind IP options, in fragments or behind IPv6 extension headers (A17.4.1 has none of these): the IP
 * stack would put it together and hand it to rxe unseen. 1: it is such a packet.
 */
__noinline int ll_host_hides(struct __sk_buff *skb, __u32 slot, __u32 l3_off, __u32 version)
{
	__u32 need = l3_off + LL_ZONE_PARSE_MAX;
	__u8 next;

	if (bpf_skb_load_bytes(skb, l3_off + 6, &next, sizeof next) || !ll_host_may_hide(version, next))
		return 0;
	if (skb->data_end - skb->data < need)
		bpf_skb_pull_data(skb, skb->len < need ? skb->len : need);
	return ll_host_uncovers((void *)(long)skb->data, (void *)(long)skb->data_end, slot, l3_off, version);
}

/* tcx ingress of a host's port, of a packet that ll_roce_look() found to be of this kind: 1, it ends here. */
static __always_inline int ll_host_ingress(struct __sk_buff *skb, __u32 where, __u32 kind,
					   const struct ll_roce_packet *p, const struct ll_port *port)
{
	__u32 version = where >> 8 & 0xff, l3_off = where & 0x1f, slot = port->slot;

	switch (ll_host_act_on((enum ll_roce_kind)kind, &p->r, port->host, version)) {
	case LL_HOST_TAKE_CNP:
		ll_host_take_cnp(skb, slot, port->host, where, p->r.icrc_at + LL_ICRC_LEN - l3_off);
		return 1;
	case LL_HOST_MARKED:
		ll_host_np(skb, slot, l3_off, version, p->r.dest_qp);
		return 0;
	case LL_HOST_LOOK_ON:
		return ll_host_hides(skb, slot, l3_off, version);
	case LL_HOST_DROP:
		ll_host_bad(slot, kind);
		return 1;
	case LL_HOST_PASS:
		break;
	}
	return 0;
}

#endif
