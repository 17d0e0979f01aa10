/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN on a host, tcx egress: clones become CNPs, and packets of a QP that was cut get their time to leave.
 */
#ifndef LOSSLESS_DCQCN_EGRESS_H
#define LOSSLESS_DCQCN_EGRESS_H

#include "dcqcn.h"
#include "stages/cnp.h"

/* Addresses, ports and MACs of the marked packet, exchanged. */
static __always_inline int ll_cnp_answer(struct __sk_buff *skb, const struct ll_cnp_carrier *c,
					 struct ll_cnp *cnp)
{
	__u8 mac[12], udp[2];

	cnp->ip = (__u8)c->version;
	cnp->tos = (__u8)c->tos;
	cnp->dest_qp = c->peer_qpn;
	if (bpf_skb_load_bytes(skb, 0, mac, sizeof mac))
		return -1;
	__builtin_memcpy(cnp->eth_src, mac, 6);
	__builtin_memcpy(cnp->eth_dst, mac + 6, 6);
	if (c->version == 4) {
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
	return 0;
}

/* The CNP in place of the clone; a function for each IP version, since both together need too much stack. */
__noinline int ll_cnp_store4(struct __sk_buff *skb, const struct ll_cnp *cnp)
{
	__u8 frame[LL_CNP4_FRAME];

	if (!cnp || cnp->ip != 4)
		return -1;
	ll_cnp_build(frame, cnp);
	if (bpf_skb_change_tail(skb, sizeof frame, 0))
		return -1;
	return (int)bpf_skb_store_bytes(skb, 0, frame, sizeof frame, BPF_F_INVALIDATE_HASH);
}

__noinline int ll_cnp_store6(struct __sk_buff *skb, const struct ll_cnp *cnp)
{
	__u8 frame[LL_CNP6_FRAME];

	if (!cnp || cnp->ip == 4)
		return -1;
	ll_cnp_build(frame, cnp);
	if (bpf_skb_change_tail(skb, sizeof frame, 0))
		return -1;
	return (int)bpf_skb_store_bytes(skb, 0, frame, sizeof frame, BPF_F_INVALIDATE_HASH);
}

/* Turns the clone into the CNP that `cnp_carriers` says. LL_TCX_DROP: it could not. */
__noinline int ll_make_cnp(struct __sk_buff *skb)
{
	struct ll_cnp_carrier *c = ll_cnp_carrier();
	struct ll_cnp cnp = {};

	if (!c || ll_cnp_answer(skb, c, &cnp))
		return LL_TCX_DROP;
	if (cnp.ip == 4 ? ll_cnp_store4(skb, &cnp) : ll_cnp_store6(skb, &cnp))
		return LL_TCX_DROP;
	skb->mark = 0;
	skb->priority = LL_PRIORITY(c->tc & (LL_TCS - 1));
	c->armed = 0;
	return LL_TCX_NEXT;
}

/* The key of the flow that a data packet of ours belongs to. 0: it is one. */
__noinline int ll_rp_key_of(struct __sk_buff *skb, struct ll_rp_key *key)
{
	struct ll_roce r = {};
	__u8 ip[LL_IPV6_HLEN];

	if (!key || ll_roce_of_skb(skb, &r) != LL_ROCE_OK || r.opcode == LL_OP_CNP || r.opcode == LL_OP_ACK)
		return -1;
	if (bpf_skb_load_bytes(skb, r.ip_at, ip, r.ip_version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN))
		return -1;
	ll_address_of(&key->peer, ip, r.ip_version, LL_ADDRESS_DESTINATION);
	key->peer_qpn = r.dest_qp;
	return 0;
}

/* Holds a packet of a QP that was cut to its rate: fq sends it at skb->tstamp. */
__noinline int ll_host_pace(struct __sk_buff *skb, __u32 slot)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	struct ll_host *host = bpf_map_lookup_elem(&hosts, &slot);
	struct ll_rp_key key = {};
	struct ll_rp_flow *f;
	__u32 bytes = skb->len;
	__u64 now, at;

	if (!stats || !host || ll_rp_key_of(skb, &key))
		return 0;
	key.slot = slot;
	f = bpf_map_lookup_elem(&rp_flows, &key);
	if (!f)
		return 0;
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&f->lock);
	ll_dcqcn_rp_advance(&host->params, &f->rp, now);
	ll_dcqcn_rp_sent(&host->params, &f->rp, bytes);
	at = ll_rp_departure(f, now, bytes);
	f->last_ns = now;
	f->packets++;
	f->bytes += bytes;
	f->paced += at != 0;
	bpf_spin_unlock(&f->lock);
	if (!at)
		return 0;
	stats->rp_paced++;
	skb->tstamp = at;
	return 0;
}

#endif
