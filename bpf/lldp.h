/* SPDX-License-Identifier: GPL-2.0-only */
/* LLDP frames that come in are for this port. Linux's bridge keeps two of the three addresses to itself, but
 * forwards 01-80-C2-00-00-00 while it runs no STP; this machine is the nearest customer bridge, so such a
 * frame ends here too (IEEE 802.1AB-2016, 7.1). It gets the address of the nearest bridge, which the bridge
 * passes up and never forwards. */
#ifndef LOSSLESS_LLDP_H
#define LOSSLESS_LLDP_H

#include "kernel.h"

#define LL_ETH_LLDP 0x88cc
#define LL_NEAREST_BRIDGE_LAST 0x0e

__noinline int ll_keep_lldp(struct __sk_buff *skb)
{
	const __u8 last = LL_NEAREST_BRIDGE_LAST;
	__u8 dst[6];

	if (bpf_skb_load_bytes(skb, 0, dst, sizeof dst))
		return 0;
	if (dst[0] == 0x01 && dst[1] == 0x80 && dst[2] == 0xc2 && !(dst[3] | dst[4] | dst[5]))
		bpf_skb_store_bytes(skb, sizeof dst - 1, &last, sizeof last, 0);
	return 0;
}

#endif
