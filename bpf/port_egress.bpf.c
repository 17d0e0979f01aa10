// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcx egress: reads the real depth of the packet's leaf queue and applies WRED/ECN to it. Runs before the
 * packet is enqueued, so the depth is what the packet finds. Then counts the packet for the buffer model, and
 * stops the peer it came from when that has sent too much.
 */
#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "hook.h"
#include "mmu.h"
#include "dequeue.h"
#include "application.h"
#include "dcqcn_egress.h"
#include "ecn_overlay_egress.h"
#include "ipcc.h"
#include "roce_egress.h"
#include "stages/classify.h"
#include "stages/wred.h"

/*
 * The TC that ingress decided on. Routing overwrites skb->priority from the ToS, so there skb->tc_index
 * tells it; that field outlives the trip through another namespace, so it counts only for a packet that
 * came in by one of our ports. Local packets never passed ingress: this port's own trust decides.
 */
static __always_inline __u32 egress_tc(struct __sk_buff *skb, const struct ll_port *egress,
				       const struct ll_headers *h)
{
	__u32 tc = ll_tc_of_priority(skb->priority);

	if (LL_LIKELY(tc < LL_TCS))
		return tc;
	tc = ll_tc_of_index(skb->tc_index);
	if (tc >= LL_TCS || !ll_find_index(skb->ingress_ifindex))
		tc = ll_classify_packet(skb, egress, h).tc;
	skb->priority = LL_PRIORITY(tc);
	return tc;
}

static __always_inline int selected(const struct ll_wred *w, __u32 row, __u32 depth)
{
	__u64 probability;

	if (w->flags & LL_WRED_EWMA) {
		struct ll_ewma *average = bpf_map_lookup_elem(&ewma, &row);

		if (average)
			depth = ll_ewma_update(average, w, depth, bpf_ktime_get_ns());
	}
	probability = ll_wred_probability(w, depth);
	if (probability == 0)
		return 0;
	return probability >= LL_PROBABILITY_ONE || bpf_get_prandom_u32() < probability;
}

static __always_inline int apply(struct __sk_buff *skb, const struct ll_wred *w, const struct ll_headers *h,
				 struct ll_ecn_stats *stats, __u32 segments)
{
	stats->selected += segments;
	switch (ll_wred_act(w, h->tos & LL_ECN_MASK)) {
	case LL_WRED_MARK:
		if (ll_write_tos(skb, h, h->tos | LL_ECN_CE)) {
			stats->failed += segments;
			return LL_TCX_NEXT;
		}
		stats->marked += segments;
		if (ll_roce_on())
			ll_roce_egress(skb, LL_ROCE_WHERE(h), 0, LL_ROCE_MARKED);
		return LL_TCX_NEXT;
	case LL_WRED_DROP:
		stats->dropped += segments;
		return LL_TCX_DROP;
	case LL_WRED_ALREADY_CE:
		stats->already_ce += segments;
		return LL_TCX_NEXT;
	case LL_WRED_SPARE:
		break;
	}
	stats->spared += segments;
	return LL_TCX_NEXT;
}

/* WRED/ECN by the depth the packet finds. */
static __always_inline int mark(struct __sk_buff *skb, struct ll_mmu *m, __u32 row, __u32 tc,
				const struct ll_headers *h, __u32 segments)
{
	struct ll_ecn_stats *stats = bpf_map_lookup_elem(&ecn_stats, &row);
	struct ll_wred *w = bpf_map_lookup_elem(&wred, &row);
	__u32 depth;

	if (!stats || !w)
		return LL_TCX_NEXT;
	stats->seen[h->tos & LL_ECN_MASK] += segments;
	if (!h->ip)
		stats->not_ip += segments;
	if (ll_leaf_depth(skb, LL_LEAF_HANDLE(tc), &depth)) {
		if (w->flags & LL_WRED_ON)
			stats->no_depth += segments;
		return LL_TCX_NEXT;
	}
	if (ll_mmu_egress(m, w, depth + skb->wire_len) == LL_TCX_DROP)
		return LL_TCX_DROP;
	ll_ipcc_join(skb, h, row, depth);
	if (!(w->flags & LL_WRED_ON) || !selected(w, row, depth))
		return LL_TCX_NEXT;
	return apply(skb, w, h, stats, segments);
}

SEC("tcx/egress")
int ll_port_egress(struct __sk_buff *skb)
{
	struct ll_port *port = ll_find_port(skb->ifindex);
	struct ll_headers h;
	struct ll_mmu *m;
	__u32 tc, queue_tc, row, segments;

	if (!port)
		return LL_TCX_NEXT;
	skb->cb[LL_CB_COOKIE] = 0;
	if (LL_UNLIKELY(skb->mark == LL_CARRIER_MARK)) {
		struct ll_carrier *c = ll_armed_carrier();

		if (c)
			return c->armed == LL_CARRIES_CNP ? ll_make_cnp(skb) : ll_make_xoff(skb);
	}
	if (LL_UNLIKELY(skb->protocol == bpf_htons(LL_ETH_MAC_CONTROL))) {
		skb->priority = LL_PRIORITY_FIRST;
		return LL_TCX_NEXT;
	}
	ll_parse_skb(skb, &h);
	if (LL_UNLIKELY(port->overlay) && h.ip)
		h.tos = (__u8)ll_overlay_egress(skb, port->slot, h.l3_off, h.ip, h.tos);
	tc = egress_tc(skb, port, &h);
	queue_tc = ll_hook_tc(skb, port, &h, tc);
	ll_roce_leave(skb, &h, queue_tc);
	row = LL_ROW(port->slot, queue_tc);
	segments = ll_segments(skb);
	m = bpf_map_lookup_elem(&mmu, &row);
	if (!m)
		return LL_TCX_NEXT;
	if (LL_UNLIKELY(ll_discards(m, row, segments)))
		return LL_TCX_DROP;
	if (mark(skb, m, row, queue_tc, &h, segments) == LL_TCX_DROP)
		return LL_TCX_DROP;
	if (LL_UNLIKELY(port->host & LL_HOST_RP) && h.ip)
		ll_host_pace(skb, port->slot, LL_ROCE_WHERE(&h));
	/* By the TC it arrived in, whatever queue it is in: that is the one in which its peer can be stopped.
	 */
	return ll_mmu_enter(skb, tc);
}
