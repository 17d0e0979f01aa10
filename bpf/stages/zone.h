/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Zone isolation (hard zoning): which packets are storage traffic, and whether two hosts have a zone in
 * common. Pure; the caller looks rows up.
 */
#ifndef LOSSLESS_STAGES_ZONE_H
#define LOSSLESS_STAGES_ZONE_H

#include "parse.h"

#define LL_PORT_ROCE 4791u /* UDP: RoCEv2 */
#define LL_PORT_NVME 4420u /* TCP: NVMe/TCP */
#define LL_PORT_NVME_DISCOVERY 8009u

#define LL_PROTO_TCP 6u
#define LL_PROTO_FRAGMENT 44u
#define LL_EXTENSIONS_MAX 4u
/* The most that ll_zone_parse() looks at behind the Ethernet header and tags. */
#define LL_ZONE_PARSE_MAX 512u

struct ll_flow {
	struct ll_zone_key src;
	struct ll_zone_key dst;
	__u8 storage;  /* 1: RoCEv2 or NVMe/TCP, either way */
	__u8 protocol; /* 0: could not be found */
	__u8 cut;      /* 1: ends before that can be told */
};

/* IPv4 as an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2). */
ll_inline void ll_zone_key_v4(struct ll_zone_key *key, const __u8 *address)
{
	key->word[0] = 0;
	key->word[1] = 0;
	key->byte[10] = key->byte[11] = 0xff;
	for (int i = 0; i < 4; i++)
		key->byte[12 + i] = address[i];
}

ll_inline int ll_is_storage(__u8 protocol, __u16 source, __u16 destination)
{
	if (protocol == LL_PROTO_UDP)
		return destination == LL_PORT_ROCE;
	return source == LL_PORT_NVME || destination == LL_PORT_NVME || source == LL_PORT_NVME_DISCOVERY ||
	       destination == LL_PORT_NVME_DISCOVERY;
}

ll_inline int ll_is_extension(__u8 protocol)
{
	/* Hop-by-hop, routing, destination options; fragments are looked at apart. */
	return protocol == 0 || protocol == 43 || protocol == 60;
}

/*
 * Offset of the transport header of IPv6 from the IP header, 0: there is none that could be found (a fragment
 * other than the first, more extension headers than any sane packet has, or the end).
 */
ll_inline __u32 ll_ipv6_transport(const __u8 *ip, const __u8 *end, __u8 *protocol, __u8 *cut)
{
	__u32 off = LL_IPV6_HLEN;
	__u8 next = ip[6];

	for (__u32 i = 0; i < LL_EXTENSIONS_MAX; i++) {
		const __u8 *ext = ip + off;

		if (next != LL_PROTO_FRAGMENT && !ll_is_extension(next))
			break;
		if (ext + 8 > end) {
			*cut = 1;
			return 0;
		}
		if (next == LL_PROTO_FRAGMENT) {
			if (ll_get16(ext + 2) & 0xfff8)
				return 0;
			off += 8;
		} else {
			off += 8u + 8u * ext[1];
		}
		next = ext[0];
		if (off > LL_ZONE_PARSE_MAX)
			return 0;
	}
	*protocol = next;
	return off;
}

/*
 * Of a packet whose IP header ll_parse() found good. A fragment other than the first has no ports and passes:
 * without the first, which is dropped, it is of no use.
 */
ll_inline void ll_zone_parse(const void *data, const void *data_end, const struct ll_headers *h,
			     struct ll_flow *flow)
{
	const __u8 *ip = (const __u8 *)data + (h->l3_off & 0x1f);
	const __u8 *end = (const __u8 *)data_end;
	const __u8 *transport;
	__u8 protocol = 0;
	__u32 off;

	flow->storage = 0;
	flow->protocol = 0;
	flow->cut = 0;
	if (h->ip == 4) {
		if (ip + LL_IPV4_HLEN > end)
			return;
		if (ll_get16(ip + 6) & 0x1fff)
			return;
		protocol = ip[9];
		off = 4u * (ip[0] & 0x0fu);
		ll_zone_key_v4(&flow->src, ip + 12);
		ll_zone_key_v4(&flow->dst, ip + 16);
	} else {
		if (ip + LL_IPV6_HLEN > end)
			return;
		for (int i = 0; i < 16; i++) {
			flow->src.byte[i] = ip[8 + i];
			flow->dst.byte[i] = ip[24 + i];
		}
		off = ll_ipv6_transport(ip, end, &protocol, &flow->cut);
	}
	if (!off || off > LL_ZONE_PARSE_MAX || (protocol != LL_PROTO_TCP && protocol != LL_PROTO_UDP))
		return;
	transport = ip + off;
	if (transport + 4 > end) {
		flow->cut = 1;
		return;
	}
	flow->protocol = protocol;
	flow->storage = ll_is_storage(protocol, ll_get16(transport), ll_get16(transport + 2));
}

/* Whether zone `zone` is in the row's own list. */
ll_inline int ll_zone_listed(const struct ll_zone_host *host, __u32 zone)
{
	__u32 found = 0;

	/* Without branches: the verifier would follow each of them. */
	for (__u32 i = 0; i < LL_ZONE_LIST; i++)
		found |= host->zones[i] == zone;
	return (int)found;
}

ll_inline int ll_zone_has_bit(const struct ll_zone_bits *bits, __u32 zone)
{
	return bits->word[(zone / 64) % LL_ZONE_WORDS] >> (zone % 64) & 1;
}

/*
 * Whether two hosts are in one zone. A host with more zones than its row lists has a bitmap, NULL otherwise;
 * a missing bitmap of such a host counts as no zone.
 */
ll_inline int ll_zone_shared(const struct ll_zone_host *a, const struct ll_zone_bits *a_bits,
			     const struct ll_zone_host *b, const struct ll_zone_bits *b_bits)
{
	__u64 common = 0;

	if (!(a->flags & LL_ZONE_MANY)) {
		for (__u32 i = 0; i < LL_ZONE_LIST; i++) {
			__u32 zone = a->zones[i];

			if (zone == LL_ZONE_NONE)
				return 0;
			if (b->flags & LL_ZONE_MANY ? b_bits && ll_zone_has_bit(b_bits, zone)
						    : ll_zone_listed(b, zone))
				return 1;
		}
		return 0;
	}
	if (!a_bits)
		return 0;
	if (!(b->flags & LL_ZONE_MANY)) {
		for (__u32 i = 0; i < LL_ZONE_LIST; i++) {
			__u32 zone = b->zones[i];

			if (zone == LL_ZONE_NONE)
				return 0;
			if (ll_zone_has_bit(a_bits, zone))
				return 1;
		}
		return 0;
	}
	if (!b_bits)
		return 0;
	for (__u32 i = 0; i < LL_ZONE_WORDS; i++)
		common |= a_bits->word[i] & b_bits->word[i];
	return common != 0;
}

#endif
