/* SPDX-License-Identifier: GPL-2.0-only */
/* ECN Overlay where tunnels begin; see ecn_overlay.h. */
#ifndef LOSSLESS_ECN_OVERLAY_EGRESS_H
#define LOSSLESS_ECN_OVERLAY_EGRESS_H

#include "ecn_overlay.h"

/* tcx egress, of a packet with an IP header (version 4 or 6) at l3_off: the outer ToS octet that it leaves
 * with. */
__noinline int ll_overlay_egress(struct __sk_buff *skb, __u32 slot, __u32 l3_off, __u32 version, __u32 tos)
{
	struct ll_overlay *o = bpf_map_lookup_elem(&overlay, &slot);
	struct ll_overlay_stats *stats = bpf_map_lookup_elem(&overlay_stats, &slot);
	struct ll_headers outer = {.l3_off = (__u16)l3_off, .ip = (__u8)version};
	__u32 segments = ll_segments(skb);
	struct ll_tunnelled t = {};
	struct ll_headers h;
	__u8 after;

	if (!o || !stats || !ll_overlay_find(skb, o, l3_off, version, LL_END_SOURCE, &t) ||
	    !ll_overlay_inner(skb, &t, &h, stats))
		return (int)tos;
	stats->entered[h.tos & LL_ECN_MASK] += segments;
	after = ll_ecn_encapsulate(o, h.tos, (__u8)tos);
	if (after == (__u8)tos)
		return (int)tos;
	if (ll_write_tos(skb, &outer, after)) {
		stats->failed += segments;
		return (int)tos;
	}
	if ((after ^ tos) & LL_ECN_MASK)
		stats->corrected += segments;
	if ((after ^ tos) & ~LL_ECN_MASK)
		stats->carried += segments;
	return after;
}

#endif
