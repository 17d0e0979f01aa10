/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN Overlay on the port that carries the tunnels. At tcx egress a packet that this machine has just
 * encapsulated gets the inner ECN outside; at tcx ingress one that it is about to decapsulate gets the outer
 * mark inside, before Linux takes the outer header away. Transit traffic, whose ends are other machines, is
 * left alone. Ports without it do not call these.
 *
 * By copies of the headers: the frames may be in fragments, and offsets are variable.
 */
#ifndef LOSSLESS_ECN_OVERLAY_H
#define LOSSLESS_ECN_OVERLAY_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/ecn_overlay.h"
#include "stages/zone.h"

/* Where a tunnelled packet has its parts: offsets from the start of the frame. */
struct ll_tunnelled {
	__u32 udp_off;
	__u32 frame_off; /* of the inner frame */
	__u32 checked;   /* the outer UDP header has a checksum */
};

#define LL_END_SOURCE 0u
#define LL_END_DESTINATION 1u

/* Whether one end of the outer header is this machine. */
static __always_inline int ll_overlay_is_end(const __u8 *ip, __u32 version, __u32 end)
{
	struct ll_zone_key key;

	if (version == 4)
		ll_zone_key_v4(&key, ip + 12 + 4 * end);
	else
		__builtin_memcpy(&key, ip + 8 + 16 * end, sizeof key);
	return bpf_map_lookup_elem(&overlay_ends, &key) != NULL;
}

/* 1: VXLAN that begins (LL_END_SOURCE) or ends (LL_END_DESTINATION) here. */
static __always_inline int ll_overlay_find(struct __sk_buff *skb, const struct ll_overlay *o, __u32 l3_off,
					   __u32 version, __u32 end, struct ll_tunnelled *t)
{
	__u8 udp[LL_UDP_HLEN + LL_VXLAN_HLEN];
	__u8 ip[LL_IPV6_HLEN];
	__u32 off;

	if (bpf_skb_load_bytes(skb, l3_off, ip, version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN))
		return 0;
	off = ll_overlay_udp(ip, (__u8)version);
	if (!off || bpf_skb_load_bytes(skb, l3_off + off, udp, sizeof udp))
		return 0;
	if (!ll_overlay_is_vxlan(udp, o->udp_port) || !ll_overlay_is_end(ip, version, end))
		return 0;
	t->udp_off = l3_off + off;
	t->frame_off = t->udp_off + sizeof udp;
	t->checked = ll_get16(udp + 6) != 0;
	return 1;
}

/* Parses the inner frame; counts and returns 0 when there is no IP in it. h->l3_off counts from its start. */
static __always_inline int ll_overlay_inner(struct __sk_buff *skb, const struct ll_tunnelled *t,
					    struct ll_headers *h, struct ll_overlay_stats *stats)
{
	__u8 frame[LL_PARSE_MAX + 6] = {};
	__u32 left = skb->len - t->frame_off;

	if (skb->len < t->frame_off + LL_ETH_HLEN) {
		stats->bad++;
		return 0;
	}
	if (left > LL_PARSE_MAX)
		left = LL_PARSE_MAX;
	if (left < LL_ETH_HLEN || bpf_skb_load_bytes(skb, t->frame_off, frame, left)) {
		stats->bad++;
		return 0;
	}
	ll_parse(frame, frame + left, h);
	stats->bad += h->bad != LL_BAD_NONE;
	stats->not_ip += h->bad == LL_BAD_NONE && !h->ip;
	return h->ip != 0;
}

#endif
