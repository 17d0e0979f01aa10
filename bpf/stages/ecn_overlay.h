/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * ECN Overlay: congestion marks across VXLAN (RFC 7348) as RFC 6040 has them for tunnels. Layouts of its
 * maps, and what becomes of the two ECN fields where a tunnel begins and ends. Pure.
 */
#ifndef LOSSLESS_STAGES_ECN_OVERLAY_H
#define LOSSLESS_STAGES_ECN_OVERLAY_H

#include "ecn.h"

#define LL_VXLAN_HLEN 8u
#define LL_UDP_HLEN 8u
#define LL_VXLAN_VNI_VALID 0x08u /* I flag: the frame has a VNI (RFC 7348 section 5) */

/* Map `overlay`, row per port slot. User space writes. */
struct ll_overlay {
	__u64 carried;  /* bit n: inner DSCP n is written into the outer header */
	__u16 udp_port; /* of VXLAN */
	__u8 reserved[6];
};

/* Map `overlay_ends`, key: struct ll_zone_key: addresses of this machine, where tunnels begin and end. */
#define LL_OVERLAY_ENDS 4096u

/* Map `overlay_stats`, per CPU, row per port slot; packets, by ECN field where there is an index. */
struct ll_overlay_stats {
	__u64 entered[4]; /* encapsulated here, by inner ECN */
	__u64 corrected;  /* of them: the outer ECN had to be rewritten */
	__u64 carried;    /* of them: the DSCP was carried out */
	__u64 left[4][4]; /* decapsulated here, by inner and outer ECN */
	__u64 restored;   /* of them: the inner ECN was rewritten */
	__u64 dropped;    /* of them: Not-ECT inside, CE outside */
	__u64 not_ip;     /* the inner frame is no IP */
	__u64 bad;        /* the inner frame ends inside a header, or contradicts itself */
	__u64 failed;     /* could not be rewritten: passed as it was */
};

/*
 * RFC 6040 section 4.2, figure 4: the ECN field that leaves the tunnel; LL_ECN_DROP: the packet must be
 * dropped, since its sender would never learn of the congestion.
 */
#define LL_ECN_DROP 0xffu
ll_inline __u8 ll_ecn_decapsulate(__u8 inner, __u8 outer)
{
	if (inner == LL_ECN_NOT_ECT)
		return outer == LL_ECN_CE ? LL_ECN_DROP : LL_ECN_NOT_ECT;
	if (outer == LL_ECN_CE)
		return LL_ECN_CE;
	if (inner == LL_ECN_ECT0 && outer == LL_ECN_ECT1)
		return LL_ECN_ECT1;
	return inner;
}

/* The outer ToS octet of a packet that enters a tunnel: RFC 6040 section 4.1, normal mode. */
ll_inline __u8 ll_ecn_encapsulate(const struct ll_overlay *o, __u8 inner, __u8 outer)
{
	__u8 dscp = o->carried >> (inner >> 2) & 1 ? inner : outer;

	return (__u8)((dscp & ~LL_ECN_MASK) | (inner & LL_ECN_MASK));
}

/*
 * Offset of the UDP header from an IP header that ll_parse() found good, of which 20 (IPv4) or 40 (IPv6)
 * bytes are there; 0: no UDP, or a fragment, whose other parts cannot be seen.
 */
ll_inline __u32 ll_overlay_udp(const __u8 *ip, __u8 version)
{
	if (version == 6)
		return ip[6] == LL_PROTO_UDP ? LL_IPV6_HLEN : 0;
	if (ip[9] != LL_PROTO_UDP || ll_get16(ip + 6) & 0x3fff)
		return 0;
	return 4u * (ip[0] & 0x0fu);
}

/* Whether UDP and VXLAN headers, 16 bytes, are that. */
ll_inline int ll_overlay_is_vxlan(const __u8 *udp, __u16 port)
{
	return port && ll_get16(udp + 2) == port && udp[LL_UDP_HLEN] & LL_VXLAN_VNI_VALID;
}

#endif
