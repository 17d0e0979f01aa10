/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Ethernet, up to two 802.1Q/802.1ad tags, IPv4 and IPv6: where the IP header is and what classification
 * and marking need of it. Pure; never reads at or past `end`.
 */
#ifndef LOSSLESS_STAGES_PARSE_H
#define LOSSLESS_STAGES_PARSE_H

#include "../abi.h"
#include "base.h"

#define LL_ETH_HLEN 14u
#define LL_VLAN_HLEN 4u
#define LL_IPV4_HLEN 20u
#define LL_IPV4_HLEN_MAX 60u
#define LL_IPV6_HLEN 40u
#define LL_PROTO_UDP 17u
/* The most that ll_parse() looks at: Ethernet, two tags, IPv4 with all its options. */
#define LL_PARSE_MAX (LL_ETH_HLEN + 2u * LL_VLAN_HLEN + LL_IPV4_HLEN_MAX)

#define LL_PCP_NONE 0xffu
#define LL_BAD_NONE 0xffu

struct ll_headers {
	__u16 l3_off; /* bytes from the start of the frame to the IP header */
	__u8 ip;      /* 4, 6, or 0: not IP, or bad */
	__u8 tos;     /* IPv4 ToS or IPv6 traffic class: DSCP in the upper six bits, ECN in the lower two */
	__u8 pcp;     /* of the outermost tag in the frame, LL_PCP_NONE without one */
	__u8 bad;     /* enum ll_bad, or LL_BAD_NONE */
};

ll_inline __u16 ll_get16(const __u8 *p)
{
	return (__u16)((p[0] << 8) | p[1]);
}

ll_inline int ll_is_vlan(__u16 ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

ll_inline void ll_parse_ip(const __u8 *ip, const __u8 *end, __u16 ethertype, struct ll_headers *h)
{
	const __u8 version = ethertype == 0x0800 ? 4 : 6;

	if (ip + LL_IPV4_HLEN > end || (version == 6 && ip + LL_IPV6_HLEN > end)) {
		h->bad = LL_BAD_IP_SHORT;
		return;
	}
	if ((ip[0] >> 4) != version) {
		h->bad = LL_BAD_IP_VERSION;
		return;
	}
	if (version == 4 && (ip[0] & 0x0f) < 5) {
		h->bad = LL_BAD_IP_HLEN;
		return;
	}
	if (version == 4 && ip + 4u * (ip[0] & 0x0fu) > end) {
		h->bad = LL_BAD_IP_SHORT;
		return;
	}
	h->ip = version;
	h->tos = version == 4 ? ip[1] : (__u8)((ip[0] << 4) | (ip[1] >> 4));
}

/*
 * Most packets: IPv4 without options or IPv6, without a tag in the frame, and whole. Returns 0 for all
 * others, with *h as it was.
 */
ll_inline int ll_parse_plain(const void *data, const void *data_end, struct ll_headers *h)
{
	const __u8 *p = (const __u8 *)data;
	const __u8 *end = (const __u8 *)data_end;
	const __u8 *ip = p + LL_ETH_HLEN;
	__u16 ethertype;

	if (ip + LL_IPV4_HLEN > end)
		return 0;
	ethertype = ll_get16(p + 12);
	if (ethertype == 0x0800 && ip[0] == 0x45) {
		h->ip = 4;
		h->tos = ip[1];
	} else if (ethertype == 0x86dd && ip[0] >> 4 == 6 && ip + LL_IPV6_HLEN <= end) {
		h->ip = 6;
		h->tos = (__u8)((ip[0] << 4) | (ip[1] >> 4));
	} else {
		return 0;
	}
	h->l3_off = LL_ETH_HLEN;
	h->pcp = LL_PCP_NONE;
	h->bad = LL_BAD_NONE;
	return 1;
}

ll_inline void ll_parse(const void *data, const void *data_end, struct ll_headers *h)
{
	const __u8 *p = (const __u8 *)data;
	const __u8 *end = (const __u8 *)data_end;
	__u16 ethertype;

	h->l3_off = LL_ETH_HLEN;
	h->ip = 0;
	h->tos = 0;
	h->pcp = LL_PCP_NONE;
	h->bad = LL_BAD_NONE;
	if (p + LL_ETH_HLEN > end)
		goto l2_short;
	ethertype = ll_get16(p + 12);
	if (ll_is_vlan(ethertype)) {
		if (p + LL_ETH_HLEN + LL_VLAN_HLEN > end)
			goto l2_short;
		h->pcp = p[14] >> 5;
		ethertype = ll_get16(p + 16);
		h->l3_off += LL_VLAN_HLEN;
		if (ll_is_vlan(ethertype)) {
			if (p + LL_ETH_HLEN + LL_VLAN_HLEN + LL_VLAN_HLEN > end)
				goto l2_short;
			ethertype = ll_get16(p + 20);
			h->l3_off += LL_VLAN_HLEN;
		}
	}
	if (ethertype == 0x0800 || ethertype == 0x86dd)
		ll_parse_ip(p + h->l3_off, end, ethertype, h);
	return;
l2_short:
	h->bad = LL_BAD_L2_SHORT;
}

#endif
