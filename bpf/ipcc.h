/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * IPCC on tcx egress: a packet that joins a queue may have its sender told to slow down, by a CNP that is
 * made of a clone of the packet and leaves by the port it came in by (stages/ipcc.h).
 */
#ifndef LOSSLESS_IPCC_H
#define LOSSLESS_IPCC_H

#include "carrier.h"
#include "mmu.h"
#include "roce_egress.h"
#include "stages/ipcc.h"

/* Turns the clone into the CNP that `carriers` has. */
__noinline int ll_make_cnp(struct __sk_buff *skb)
{
	struct ll_carrier *c = ll_armed_carrier();
	__u8 frame[LL_CNP_FRAME_MAX];
	__u32 len;

	if (!c || c->armed != LL_CARRIES_CNP)
		return LL_TCX_DROP;
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return LL_TCX_DROP;
	len = ll_cnp_len(&c->cnp);
	if (bpf_skb_change_tail(skb, len, 0))
		return LL_TCX_DROP;
	ll_cnp_build(frame, &c->cnp);
	if (len == LL_CNP4_FRAME ? bpf_skb_store_bytes(skb, 0, frame, LL_CNP4_FRAME, BPF_F_INVALIDATE_HASH)
				 : bpf_skb_store_bytes(skb, 0, frame, LL_CNP6_FRAME, BPF_F_INVALIDATE_HASH))
		return LL_TCX_DROP;
	if ((c->cnp_flags & LL_CNP_TAGGED) && bpf_skb_vlan_push(skb, (__be16)c->vlan_proto, c->vlan_tci))
		return LL_TCX_DROP;
	skb->mark = 0;
	skb->priority = LL_PRIORITY(c->cnp_tc);
	skb->cb[LL_CB_COOKIE] = ll_cookie;
	skb->cb[LL_CB_ROW] = LL_CB_ROW_CNP;
	skb->cb[LL_CB_BYTES] = (__u32)c->start_ns;
	c->armed = 0;
	return LL_TCX_NEXT;
}

/* From the receiver of the flow to its sender, the way the packet came. */
static __always_inline void ll_address_cnp(struct ll_carrier *c, const struct ll_roce_flow *f,
					   const struct ll_roce_key *key,
					   const struct ll_roce_config *settings)
{
	int v4 = ll_roce_is_ip4(key->src);

	__builtin_memcpy(c->cnp.eth_src, f->eth_dst, 6);
	__builtin_memcpy(c->cnp.eth_dst, f->eth_src, 6);
	if (v4) {
		__builtin_memcpy(c->cnp.src, &key->dst[3], 4);
		__builtin_memcpy(c->cnp.dst, &key->src[3], 4);
	} else {
		__builtin_memcpy(c->cnp.src, key->dst, 16);
		__builtin_memcpy(c->cnp.dst, key->src, 16);
	}
	c->cnp.ip = v4 ? 4 : 6;
	c->cnp.tos = settings->cnp_tos;
	c->cnp.dest_qp = f->peer_qpn;
	c->cnp.sport = f->sport;
	c->cnp.id = (__u16)f->cnps;
	c->cnp_tc = settings->cnp_tc & (LL_TCS - 1);
	c->cnp_flags = f->tagged ? LL_CNP_TAGGED : 0;
	c->vlan_tci = (__u16)((f->vlan_tci & 0x1fff) | settings->cnp_tc << 13);
	c->vlan_proto = f->vlan_proto;
}

/* 1: it is on its way. */
static __always_inline int ll_send_cnp(struct __sk_buff *skb, struct ll_roce_flow *f,
				       const struct ll_roce_key *key, __u64 now)
{
	const struct ll_roce_config *settings = ll_roce_settings();
	struct ll_carrier *c = ll_carrier();

	if (!c || !settings || !ll_find_port(f->in_ifindex))
		return 0;
	ll_address_cnp(c, f, key, settings);
	return ll_launch(skb, c, LL_CARRIES_CNP, f->in_ifindex, now);
}

/* The flow had no CNP within its interval; this one counts. */
static __always_inline int ll_ipcc_flow_may(const struct ll_ipcc *c, struct ll_roce_flow *f, __u64 now)
{
	__u64 last = LL_READ_ONCE(f->cnp_ns);

	return now - last >= c->flow_ns && __sync_val_compare_and_swap(&f->cnp_ns, last, now) == last;
}

/* A packet whose sender is to be told. */
__noinline int ll_ipcc_tell(struct __sk_buff *skb, __u32 where, __u32 row, __u32 found)
{
	struct ll_ipcc_stats *stats = bpf_map_lookup_elem(&ipcc_stats, &row);
	struct ll_ipcc_state *state = bpf_map_lookup_elem(&ipcc_state, &row);
	struct ll_ipcc *c = bpf_map_lookup_elem(&ipcc, &row);
	__u32 slot = row / LL_TCS;
	struct ll_ipcc_limit *limit = bpf_map_lookup_elem(&ipcc_limit, &slot);
	struct ll_roce_flow *f;
	struct ll_roce_key key;
	struct ll_roce r;
	__u64 now;

	if (!stats || !state || !c || !limit)
		return 0;
	stats->chosen++;
	if (ll_roce_read(skb, where, &r, &key) != LL_ROCE_OK || !ll_roce_is_data(&r)) {
		stats->not_roce++;
		return 0;
	}
	ll_ipcc_used(state, bpf_get_prandom_u32());
	f = ll_roce_flow_of(&key);
	if (!f || f->how == LL_PAIR_NONE) {
		stats->unpaired++;
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (!ll_ipcc_flow_may(c, f, now)) {
		stats->flow_limit++;
	} else if (!ll_ipcc_port_may(c, limit, now)) {
		stats->port_limit++;
	} else if (ll_send_cnp(skb, f, &key, now)) {
		f->cnps++;
		if (found < LL_IPCC_CASES)
			stats->sent[found]++;
	} else {
		stats->failed++;
	}
	return 0;
}

/* A packet that joins a queue at this depth. One look at an array where the queue has no IPCC. */
static __always_inline void ll_ipcc_join(struct __sk_buff *skb, const struct ll_headers *h, __u32 row,
					 __u32 depth)
{
	struct ll_ipcc *c = bpf_map_lookup_elem(&ipcc, &row);
	struct ll_ipcc_state *state;
	struct ll_ipcc_stats *stats;
	enum ll_ipcc_case found;

	if (LL_LIKELY(!c || !c->on || depth <= c->low))
		return;
	state = bpf_map_lookup_elem(&ipcc_state, &row);
	stats = bpf_map_lookup_elem(&ipcc_stats, &row);
	if (!state || !stats || !h->ip)
		return;
	found = ll_ipcc_case_of(c, state, depth, bpf_ktime_get_ns());
	if (found < LL_IPCC_CASES)
		stats->packets[found] += ll_segments(skb);
	if (ll_ipcc_chooses(c, state, found, skb->wire_len))
		ll_ipcc_tell(skb, LL_ROCE_WHERE(h), row, found);
}

#endif
