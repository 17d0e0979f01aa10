/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tcx programs do with an sk_buff: parse it, rewrite its ToS octet, read its queue's depth. */
#ifndef LOSSLESS_SKB_H
#define LOSSLESS_SKB_H

#include "kernel.h"
#include "abi.h"
#include "stages/parse.h"
#include "stages/ecn.h"

#define LL_TCX_NEXT (-1)
#define LL_TCX_DROP 2

/*
 * What is not plain. Headers may sit in page fragments; they are pulled into the linear part only when they
 * do. A function of its own, which the verifier goes through once: inlined, it would follow each outcome of
 * the parser through all of the program. Weak: both hooks have it, and one copy is linked.
 */
__weak int ll_parse_any(struct __sk_buff *skb, struct ll_headers *h)
{
	if (!h)
		return 0;
	ll_parse((void *)(long)skb->data, (void *)(long)skb->data_end, h);
	if (h->bad <= LL_BAD_IP_SHORT && skb->len > skb->data_end - skb->data) {
		__u32 need = skb->len < LL_PARSE_MAX ? skb->len : LL_PARSE_MAX;

		if (bpf_skb_pull_data(skb, need) == 0)
			ll_parse((void *)(long)skb->data, (void *)(long)skb->data_end, h);
	}
	return 0;
}

/* ll_parse(). The return from a function costs more than all of this does for a plain packet. */
ll_inline void ll_parse_skb(struct __sk_buff *skb, struct ll_headers *h)
{
	if (LL_UNLIKELY(!ll_parse_plain((void *)(long)skb->data, (void *)(long)skb->data_end, h)))
		ll_parse_any(skb, h);
	/* The kernel takes the outermost tag out of the frame. */
	if (skb->vlan_present)
		h->pcp = (skb->vlan_tci >> 13) & 7;
}

/* Segments that will be on the wire. */
ll_inline __u32 ll_segments(const struct __sk_buff *skb)
{
	return skb->gso_segs > 1 ? skb->gso_segs : 1;
}

/*
 * Writes the ToS octet (and the IPv4 checksum with it) in one store, which also unclones the header:
 * a clone's other owners keep the old value. Returns 0, or a negative errno with nothing written.
 */
ll_inline int ll_write_tos(struct __sk_buff *skb, const struct ll_headers *h, __u8 tos)
{
	__u8 ip[LL_TOS_BYTES_V4];

	if (h->ip == 4) {
		if (bpf_skb_load_bytes(skb, h->l3_off, ip, LL_TOS_BYTES_V4))
			return -1;
		ll_set_tos_v4(ip, tos);
		return (int)bpf_skb_store_bytes(skb, h->l3_off, ip, LL_TOS_BYTES_V4, 0);
	}
	if (bpf_skb_load_bytes(skb, h->l3_off, ip, LL_TOS_BYTES_V6))
		return -1;
	ll_set_tos_v6(ip, tos);
	/* No header checksum takes the change up here, so a CHECKSUM_COMPLETE sum has to follow. */
	return (int)bpf_skb_store_bytes(skb, h->l3_off, ip, LL_TOS_BYTES_V6, BPF_F_RECOMPUTE_CSUM);
}

/* qdisc_hash of a device: 16 buckets of hash_32(handle, 4), the golden ratio multiplication. */
#define LL_QDISC_BUCKET(handle) (((__u32)(handle) * 0x61C88647u) >> 28)
#define LL_QDISC_CHAIN_MAX 32

/*
 * Where the struct begins whose member at `offset` is at `member`. One subtraction and not what clang makes
 * of it, adding a negated register: the verifier of 6.12 loses track of the value there ("math between
 * pointer and register with unbounded min value").
 */
ll_inline void *ll_start_of(void *member, __u64 offset)
{
	asm("%0 -= %1" : "+r"(member) : "r"(offset));
	return member;
}

/*
 * Bytes waiting in the leaf with this handle, on the device the packet is about to leave by.
 * Returns 0 and the depth, or -1: no such qdisc.
 */
ll_inline int ll_leaf_depth(struct __sk_buff *ctx, __u32 handle, __u32 *depth)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	struct net_device *dev = skb->dev;
	const __u32 node_offset = bpf_core_field_offset(struct Qdisc, hash);
	struct hlist_head *head;
	struct hlist_node *node;

	head = bpf_rdonly_cast((void *)dev + bpf_core_field_offset(struct net_device, qdisc_hash) +
				       LL_QDISC_BUCKET(handle) * bpf_core_type_size(struct hlist_head),
			       bpf_core_type_id_kernel(struct hlist_head));
	node = head->first;
	for (int i = 0; i < LL_QDISC_CHAIN_MAX && node; i++) {
		struct Qdisc *q = bpf_rdonly_cast(ll_start_of(node, node_offset),
						  bpf_core_type_id_kernel(struct Qdisc));

		if (q->handle == handle) {
			*depth = q->qstats.backlog;
			return 0;
		}
		node = q->hash.next;
	}
	return -1;
}

#endif
