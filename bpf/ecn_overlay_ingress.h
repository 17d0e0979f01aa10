/* SPDX-License-Identifier: GPL-2.0-only */
/* ECN Overlay where tunnels end; see ecn_overlay.h. */
#ifndef LOSSLESS_ECN_OVERLAY_INGRESS_H
#define LOSSLESS_ECN_OVERLAY_INGRESS_H

#include "ecn_overlay.h"

/*
 * Writes the inner ToS octet. In IPv4 the header checksum takes the change up, and no sum around it changes;
 * in IPv6 the outer UDP checksum has to, where there is one.
 */
static __always_inline int ll_overlay_write_inner(struct __sk_buff *skb, const struct ll_tunnelled *t,
						  const struct ll_headers *h, __u8 tos)
{
	__u32 off = t->frame_off + h->l3_off;
	__u8 ip[LL_TOS_BYTES_V4];
	__u16 before, after;
	int error;

	if (h->ip == 4) {
		if (bpf_skb_load_bytes(skb, off, ip, LL_TOS_BYTES_V4))
			return -1;
		ll_set_tos_v4(ip, tos);
		return (int)bpf_skb_store_bytes(skb, off, ip, LL_TOS_BYTES_V4, 0);
	}
	if (bpf_skb_load_bytes(skb, off, ip, LL_TOS_BYTES_V6))
		return -1;
	before = ll_get16(ip);
	ll_set_tos_v6(ip, tos);
	after = ll_get16(ip);
	error = (int)bpf_skb_store_bytes(skb, off, ip, LL_TOS_BYTES_V6,
					 t->checked ? 0 : BPF_F_RECOMPUTE_CSUM);
	if (error || !t->checked)
		return error;
	return (int)bpf_l4_csum_replace(skb, t->udp_off + 6, bpf_htons(before), bpf_htons(after),
					sizeof before | BPF_F_MARK_MANGLED_0);
}

/* tcx ingress, of a packet with an IP header (version 4 or 6) at l3_off: 1, it has to be dropped. */
__noinline int ll_overlay_ingress(struct __sk_buff *skb, __u32 slot, __u32 l3_off, __u32 version, __u32 tos)
{
	struct ll_overlay *o = bpf_map_lookup_elem(&overlay, &slot);
	struct ll_overlay_stats *stats = bpf_map_lookup_elem(&overlay_stats, &slot);
	__u32 segments = ll_segments(skb);
	struct ll_tunnelled t = {};
	struct ll_headers h;
	__u8 inner, outer, after;

	if (!o || !stats || !ll_overlay_find(skb, o, l3_off, version, LL_END_DESTINATION, &t) ||
	    !ll_overlay_inner(skb, &t, &h, stats))
		return 0;
	inner = h.tos & LL_ECN_MASK;
	outer = tos & LL_ECN_MASK;
	stats->left[inner][outer] += segments;
	after = ll_ecn_decapsulate(inner, outer);
	if (after == LL_ECN_DROP) {
		stats->dropped += segments;
		return 1;
	}
	if (after == inner)
		return 0;
	if (ll_overlay_write_inner(skb, &t, &h, (__u8)((h.tos & ~LL_ECN_MASK) | after)))
		stats->failed += segments;
	else
		stats->restored += segments;
	return 0;
}

#endif
