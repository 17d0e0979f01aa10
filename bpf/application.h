/* SPDX-License-Identifier: GPL-2.0-only */
/* The application priority table, for packets of ports that trust nothing else. */
#ifndef LOSSLESS_APPLICATION_H
#define LOSSLESS_APPLICATION_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/classify.h"

#define LL_IPPROTO_TCP 6
#define LL_IPPROTO_UDP 17

static __always_inline __u32 ll_app_entry(__u32 table, __u32 field, __u32 protocol)
{
	__u32 key = table | LL_APP_KEY(field, protocol);
	__u32 *priority = bpf_map_lookup_elem(&apps, &key);

	return priority ? *priority & (LL_TCS - 1) : LL_TCS;
}

/* By destination port; only first fragments have one. IPv6 extension headers are not looked behind. */
static __always_inline __u32 ll_app_by_port(struct __sk_buff *skb, __u32 table, __u32 l3_off, __u32 ip)
{
	__u8 head[LL_IPV4_HLEN], l4[4], protocol;
	__u32 l4_off = l3_off + LL_IPV6_HLEN, priority, to;

	if (bpf_skb_load_bytes(skb, l3_off, head, sizeof(head)))
		return LL_TCS;
	protocol = head[6];
	if (ip == 4) {
		if ((head[6] & 0x1f) | head[7])
			return LL_TCS;
		l4_off = l3_off + 4u * (head[0] & 0x0fu);
		protocol = head[9];
	}
	if (protocol != LL_IPPROTO_TCP && protocol != LL_IPPROTO_UDP)
		return LL_TCS;
	if (bpf_skb_load_bytes(skb, l4_off, l4, sizeof(l4)))
		return LL_TCS;
	to = ll_get16(l4 + 2);
	priority = ll_app_entry(table, protocol == LL_IPPROTO_TCP ? LL_APP_TCP : LL_APP_UDP, to);
	return priority < LL_TCS ? priority : ll_app_entry(table, LL_APP_PORT, to);
}

/*
 * The packet's priority, or LL_TCS: it is in no entry. A global function: the verifier goes through it once.
 * Ports with another trust do not call it. Weak: both hooks have it, and one copy is linked.
 */
__weak int ll_app_priority(struct __sk_buff *skb, __u32 table, __u32 l3_off, __u32 ip)
{
	__u32 priority = ip ? ll_app_by_port(skb, table, l3_off, ip) : LL_TCS;
	__u8 type[2];

	if (priority < LL_TCS || l3_off < sizeof(type) ||
	    bpf_skb_load_bytes(skb, l3_off - 2, type, sizeof(type)))
		return (int)priority;
	return (int)ll_app_entry(table, LL_APP_ETHERTYPE, ll_get16(type));
}

/* ll_classify(), with the table. */
static __always_inline struct ll_class ll_classify_packet(struct __sk_buff *skb, const struct ll_port *port,
							  const struct ll_headers *h)
{
	struct ll_class c = ll_classify(port, h);

	if (LL_UNLIKELY(port->trust == LL_TRUST_APPLICATION)) {
		__u32 table = port->apps ? LL_APP_TABLE(port->slot) : LL_APP_COMMON;
		__u32 priority = (__u32)ll_app_priority(skb, table, h->l3_off, h->ip);

		if (priority < LL_TCS) {
			c.tc = port->dot1p_tc[priority & (LL_TCS - 1)] & (LL_TCS - 1);
			c.untrusted = 0;
		}
	}
	return c;
}

#endif
