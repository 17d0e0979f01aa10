/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DCQCN on a host's ports: what the ingress and the egress program have in common.
 */
#ifndef LOSSLESS_DCQCN_H
#define LOSSLESS_DCQCN_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/dcqcn_host.h"
#include "stages/zone.h"

/* Ethernet, two tags, IPv6, UDP and BTH. */
#define LL_ROCE_HEAD 82u

/* By a copy of the headers: they may be in fragments, and offsets are variable. */
static __always_inline enum ll_roce_kind ll_roce_of_skb(struct __sk_buff *skb, struct ll_roce *r)
{
	__u8 head[LL_ROCE_HEAD + 6] = {};
	__u32 len = skb->len;

	if (len > LL_ROCE_HEAD)
		len = LL_ROCE_HEAD;
	if (len < LL_ETH_HLEN || bpf_skb_load_bytes(skb, 0, head, len))
		return LL_ROCE_OTHER;
	return ll_roce_parse(head, head + len, skb->len, r);
}

#define LL_ADDRESS_SOURCE 0u
#define LL_ADDRESS_DESTINATION 1u

static __always_inline void ll_address_of(struct ll_zone_key *key, const __u8 *ip, __u32 version, __u32 which)
{
	if (version == 4)
		ll_zone_key_v4(key, ip + 12 + 4 * which);
	else
		__builtin_memcpy(key, ip + 8 + 16 * which, sizeof *key);
}

#endif
