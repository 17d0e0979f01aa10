/* SPDX-License-Identifier: GPL-2.0-only */
/* Zone isolation and the white list at tcx ingress: storage traffic that may not pass is counted and dropped.
 */
#ifndef LOSSLESS_ZONE_H
#define LOSSLESS_ZONE_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/zone.h"

/*
 * enum ll_zone_drop, or LL_ZONE_PASS. A global function: the verifier goes through it once, and not anew for
 * every way of getting here.
 */
__noinline int ll_zone_judge(const struct ll_flow *flow, __u32 slot, __u32 guard)
{
	struct ll_zone_bits *a_bits = NULL, *b_bits = NULL;
	struct ll_zone_host *a, *b;
	struct ll_allow_key allowed;

	if (!flow)
		return LL_ZONE_PASS;
	allowed.prefix = LL_ALLOW_BITS;
	allowed.slot = slot;
	allowed.address = flow->src;
	if (guard & LL_GUARD_LIST && !bpf_map_lookup_elem(&zone_allow, &allowed))
		return LL_ZONE_DROP_DENIED;
	if (!(guard & (LL_GUARD_ZONES | LL_GUARD_INITIATORS)))
		return LL_ZONE_PASS;
	a = bpf_map_lookup_elem(&zone_hosts, &flow->src);
	b = bpf_map_lookup_elem(&zone_hosts, &flow->dst);
	if (!a)
		return b && guard & LL_GUARD_ZONES ? LL_ZONE_DROP_STRANGER : LL_ZONE_PASS;
	if (!b)
		return guard & LL_GUARD_ZONES ? LL_ZONE_DROP_STRANGER : LL_ZONE_PASS;
	if (guard & LL_GUARD_INITIATORS && a->flags & b->flags & LL_ZONE_INITIATOR)
		return LL_ZONE_DROP_INITIATORS;
	if (!(guard & LL_GUARD_ZONES))
		return LL_ZONE_PASS;
	if (a->flags & LL_ZONE_MANY)
		a_bits = bpf_map_lookup_elem(&zone_bits, &flow->src);
	if (b->flags & LL_ZONE_MANY)
		b_bits = bpf_map_lookup_elem(&zone_bits, &flow->dst);
	return ll_zone_shared(a, a_bits, b, b_bits) ? LL_ZONE_PASS : LL_ZONE_DROP_ISOLATED;
}

/* 1: the packet, whose IP header (4 or 6) is at l3_off, has to go. Ports without a guard do not call it. */
__noinline int ll_zone_guard(struct __sk_buff *skb, __u32 slot, __u32 guard, __u32 l3_off, __u32 ip)
{
	const struct ll_headers h = {.l3_off = (__u16)l3_off, .ip = (__u8)ip};
	struct ll_zone_stats *stats;
	struct ll_flow flow = {};
	__u32 verdict;

	ll_zone_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &h, &flow);
	if (flow.cut && skb->len > skb->data_end - skb->data) {
		__u32 need = l3_off + LL_ZONE_PARSE_MAX;

		if (bpf_skb_pull_data(skb, skb->len < need ? skb->len : need) == 0)
			ll_zone_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &h, &flow);
	}
	if (!flow.storage)
		return 0;
	verdict = (__u32)ll_zone_judge(&flow, slot, guard);
	if (verdict >= LL_ZONE_DROPS)
		return 0;
	stats = bpf_map_lookup_elem(&zone_stats, &slot);
	if (stats)
		stats->drop[verdict] += ll_segments(skb);
	return 1;
}

#endif
