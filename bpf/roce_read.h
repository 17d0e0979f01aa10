/* SPDX-License-Identifier: GPL-2.0-only */
/* What both hooks do with a RoCEv2 packet: parse it and find the key of its flow. */
#ifndef LOSSLESS_ROCE_READ_H
#define LOSSLESS_ROCE_READ_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/roce_flow.h"

/* Where the IP header is and what ll_parse() found, as one argument: offset, version, ToS. */
#define LL_ROCE_WHERE(h) ((__u32)(h)->l3_off | (__u32)(h)->ip << 8 | (__u32)(h)->tos << 16)

static __always_inline const struct ll_roce_config *ll_roce_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&roce_config, &zero);
}

static __always_inline int ll_roce_on(void)
{
	const struct ll_roce_config *c = ll_roce_settings();

	return c && c->on;
}

/*
 * Parses from the IP header on, which `where` names, and finds the key of the packet's flow. [data, end) is
 * what may be read, of `len` bytes of the frame.
 */
static __always_inline enum ll_roce_kind ll_roce_read_bytes(const __u8 *data, const __u8 *end, __u32 len,
							    __u32 where, struct ll_roce *r,
							    struct ll_roce_key *key)
{
	const __u32 l3_off = where & 0x1f;
	const __u8 *ip = data + l3_off;
	struct ll_roce zero = {};
	enum ll_roce_kind kind;

	*r = zero;
	r->ip_at = (__u16)l3_off;
	r->ip_version = (where >> 8 & 0xff) == 4 ? 4 : 6;
	r->tos = where >> 16;
	kind = ll_roce_parse_ip(ip, end, len - l3_off, r);
	if (kind != LL_ROCE_OK)
		return kind;
	/* The parser made sure of it already, but the verifier has lost sight of that. */
	if (ip + (r->ip_version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN) > end)
		return LL_ROCE_IP_SHORT;
	ll_roce_key_of(ip, r->ip_version, r->dest_qp, key);
	return kind;
}

/* Whether a packet that could not be parsed was meant for RoCE's port: what is wrong may come before it. */
static __always_inline int ll_roce_meant(const __u8 *data, const __u8 *end, __u32 where)
{
	const __u8 *ip = data + (where & 0x1f);
	__u32 len = LL_IPV6_HLEN;

	if (ip + LL_IPV4_HLEN > end)
		return 0;
	if ((where >> 8 & 0xff) == 4) {
		if (ll_get16(ip + 6) & 0x1fff)
			return 0;
		len = (ip[0] & 0x0fu) * 4;
	}
	ip += len;
	return ip + 4 <= end && ll_get16(ip + 2) == LL_ROCE_PORT;
}

static __always_inline enum ll_roce_kind ll_roce_read_once(struct __sk_buff *skb, __u32 where,
							   struct ll_roce *r, struct ll_roce_key *key)
{
	return ll_roce_read_bytes((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, where, r,
				  key);
}

/* The same of an sk_buff, whose headers may sit in page fragments; they are pulled only then. */
static __always_inline enum ll_roce_kind ll_roce_read(struct __sk_buff *skb, __u32 where, struct ll_roce *r,
						      struct ll_roce_key *key)
{
	const __u32 need = (where & 0x1f) + LL_IPV6_HLEN + 8 + sizeof(struct ll_bth);
	enum ll_roce_kind kind = ll_roce_read_once(skb, where, r, key);

	if (LL_LIKELY(kind == LL_ROCE_OK || kind == LL_ROCE_OTHER) || skb->len <= skb->data_end - skb->data)
		return kind;
	if (bpf_skb_pull_data(skb, skb->len < need ? skb->len : need))
		return kind;
	return ll_roce_read_once(skb, where, r, key);
}

#endif
