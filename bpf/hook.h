/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hook flows on tcx egress: found by the port groups that a packet comes in and goes out by, counted, and
 * where a rule says so rewritten and moved to another TC's queue. Without a port group on the egress port
 * this is one comparison.
 */
#ifndef LOSSLESS_HOOK_H
#define LOSSLESS_HOOK_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/hook_flow.h"

/* PCP of the outermost tag, where there is one. Returns 0, or a negative errno. */
static __always_inline int ll_hook_write_pcp(struct __sk_buff *skb, const struct ll_headers *h,
					     const struct ll_hook_verdict *v)
{
	__u8 tci;

	if (skb->vlan_present) {
		__be16 proto = (__be16)skb->vlan_proto;
		__u16 moved = ll_hook_tci(v, (__u16)skb->vlan_tci);
		int error;

		if (moved == (__u16)skb->vlan_tci)
			return 0;
		error = (int)bpf_skb_vlan_pop(skb);
		return error ? error : (int)bpf_skb_vlan_push(skb, proto, moved);
	}
	if (h->l3_off <= LL_ETH_HLEN)
		return 0;
	if (bpf_skb_load_bytes(skb, LL_ETH_HLEN, &tci, sizeof tci))
		return -1;
	tci = (__u8)((v->dot1p << 5) | (tci & 0x1f));
	return (int)bpf_skb_store_bytes(skb, LL_ETH_HLEN, &tci, sizeof tci, BPF_F_RECOMPUTE_CSUM);
}

/*
 * The key of the packet's flow. By a copy of the header: the verifier loses track of a pointer into a packet
 * whose offset is a variable of 16 bits.
 */
static __always_inline int ll_hook_read_key(struct __sk_buff *skb, const struct ll_headers *h,
					    struct ll_hook_key *key)
{
	struct ll_headers at = *h;
	__u8 frame[LL_ETH_HLEN + LL_IPV6_HLEN];

	if (!h->ip)
		return -1;
	at.l3_off = LL_ETH_HLEN;
	if (h->ip == 4 ? bpf_skb_load_bytes(skb, h->l3_off, frame + LL_ETH_HLEN, LL_IPV4_HLEN)
		       : bpf_skb_load_bytes(skb, h->l3_off, frame + LL_ETH_HLEN, LL_IPV6_HLEN))
		return -1;
	return ll_hook_key_of(frame, frame + sizeof frame, &at, skb->ingress_ifindex, skb->ifindex, key);
}

static __always_inline void ll_hook_count(__u32 slot, const struct ll_hook_verdict *v, int failed,
					  __u32 segments)
{
	struct ll_hook_stats *stats = bpf_map_lookup_elem(&hook_stats, &slot);

	if (!stats)
		return;
	if (v->kind != LL_HOOK_MOVE)
		stats->other += segments;
	else if (failed)
		stats->failed += segments;
	else
		stats->moved += segments;
}

static __always_inline void ll_hook_list(const struct ll_hook_key *key, __u8 moved, __u8 dscp, __u8 tc,
					 __u32 segments, __u32 bytes)
{
	struct ll_hook_flow *flow = bpf_map_lookup_elem(&hook_flows, key);
	__u64 now = bpf_ktime_get_ns();

	if (!flow) {
		struct ll_hook_flow first = {.packets = segments,
					     .bytes = bytes,
					     .first_ns = now,
					     .last_ns = now,
					     .moved = moved,
					     .dscp = dscp,
					     .tc = tc};

		bpf_map_update_elem(&hook_flows, key, &first, BPF_NOEXIST);
		return;
	}
	__sync_fetch_and_add(&flow->packets, segments);
	__sync_fetch_and_add(&flow->bytes, bytes);
	LL_WRITE_ONCE(flow->last_ns, now);
	flow->moved = moved;
	flow->dscp = dscp;
	flow->tc = tc;
}

/* A packet between two ports of one group. Returns the TC of its queue. */
static __noinline __u32 ll_hook_take(struct __sk_buff *skb, __u32 slot, __u32 group, struct ll_headers *h,
				     __u32 tc)
{
	struct ll_hook *rules = bpf_map_lookup_elem(&hooks, &group);
	struct ll_hook_verdict v;
	struct ll_hook_key key;
	__u32 segments = ll_segments(skb);
	__u32 bytes = skb->wire_len;
	int listed, failed = 0;

	if (!rules || !h)
		return tc;
	v = ll_hook_decide(rules, (__u8)group, (__u8)group, h);
	listed = !ll_hook_read_key(skb, h, &key);
	if (v.kind == LL_HOOK_MOVE) {
		failed = ll_write_tos(skb, h, ll_hook_tos(&v, h->tos)) || ll_hook_write_pcp(skb, h, &v);
		if (!failed) {
			h->tos = ll_hook_tos(&v, h->tos);
			tc = v.tc;
			skb->priority = LL_PRIORITY(tc);
			skb->tc_index = LL_TC_INDEX(tc);
		}
	}
	ll_hook_count(slot, &v, failed, segments);
	if (listed)
		ll_hook_list(&key, v.kind == LL_HOOK_MOVE && !failed, h->tos >> 2, (__u8)tc, segments, bytes);
	return tc;
}

/* The TC of the queue that a packet of TC `tc` goes into. */
static __always_inline __u32 ll_hook_tc(struct __sk_buff *skb, const struct ll_port *egress,
					struct ll_headers *h, __u32 tc)
{
	const struct ll_port *ingress;

	if (LL_LIKELY(egress->group == LL_HOOK_NO_GROUP))
		return tc;
	ingress = ll_find_port(skb->ingress_ifindex);
	if (!ingress || ingress->group != egress->group)
		return tc;
	return ll_hook_take(skb, egress->slot, egress->group, h, tc) & (LL_TCS - 1);
}

#endif
