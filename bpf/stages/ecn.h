/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The ECN field of RFC 3168 and rewriting of the ToS / traffic class octet. Pure. */
#ifndef LOSSLESS_STAGES_ECN_H
#define LOSSLESS_STAGES_ECN_H

#include "parse.h"

#define LL_ECN_MASK 0x03u
#define LL_ECN_NOT_ECT 0u
#define LL_ECN_ECT1 1u
#define LL_ECN_ECT0 2u
#define LL_ECN_CE 3u

/*
 * Incremental Internet checksum, RFC 1624 equation 3; all three values in the same byte order.
 * Folded twice: the first fold can carry again.
 */
ll_inline __u16 ll_csum_replace(__u16 check, __u16 from, __u16 to)
{
	__u32 sum = (__u16)~check + (__u32)(__u16)~from + to;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

/* The first bytes of an IP header that hold the octet and, for IPv4, the checksum. */
#define LL_TOS_BYTES_V4 12u
#define LL_TOS_BYTES_V6 2u

ll_inline void ll_set_tos_v4(__u8 ip[LL_TOS_BYTES_V4], __u8 tos)
{
	__u16 check = ll_csum_replace(ll_get16(ip + 10), ll_get16(ip), (__u16)((ip[0] << 8) | tos));

	ip[1] = tos;
	ip[10] = (__u8)(check >> 8);
	ip[11] = (__u8)check;
}

ll_inline void ll_set_tos_v6(__u8 ip[LL_TOS_BYTES_V6], __u8 tos)
{
	ip[0] = (__u8)((ip[0] & 0xf0) | (tos >> 4));
	ip[1] = (__u8)((ip[1] & 0x0f) | (tos << 4));
}

#endif
