/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel structures the programs read, with only the fields they read. CO-RE relocates every
 * access against the running kernel's BTF, so neither the layout nor the completeness matters here.
 */
#ifndef LOSSLESS_KERNEL_H
#define LOSSLESS_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define LL_CORE __attribute__((preserve_access_index))

struct hlist_node {
	struct hlist_node *next;
} LL_CORE;

struct hlist_head {
	struct hlist_node *first;
} LL_CORE;

struct gnet_stats_queue {
	__u32 qlen;
	__u32 backlog;
	__u32 drops;
} LL_CORE;

struct Qdisc {
	struct hlist_node hash;
	__u32 handle;
	struct gnet_stats_queue qstats;
} LL_CORE;

struct ns_common {
	unsigned int inum;
} LL_CORE;

struct net {
	struct ns_common ns;
} LL_CORE;

typedef struct {
	struct net *net;
} LL_CORE possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
	struct hlist_head qdisc_hash[16];
} LL_CORE;

struct qdisc_skb_cb {
	unsigned char data[20];
} LL_CORE;

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	__u32 priority;
	char cb[48];
} LL_CORE;

enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED = 4,
	SKB_DROP_REASON_QDISC_DROP = 1,
	SKB_DROP_REASON_QDISC_OVERLIMIT = 2,
	SKB_DROP_REASON_QDISC_CONGESTED = 3,
};

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
extern void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym;

#define LL_READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define LL_WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

#endif
