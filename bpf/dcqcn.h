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
