/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the XDP program and tcx ingress of a port tell one another. A packet that XDP has counted for its flow
 * says so in front of itself, so that no driver, kernel or moment of changing over makes it count twice or
 * not at all: where the driver has no room for that, XDP leaves the counting to tcx.
 */
#ifndef LOSSLESS_XDP_H
#define LOSSLESS_XDP_H

#include "kernel.h"
#include "maps.h"

struct ll_xdp_mark {
	__u32 cookie;  /* of the instance */
	__u32 ifindex; /* where it was counted: the mark outlives the way through the machine */
	__u32 todo;    /* LL_ROCE_ASK_EGRESS and the others, for tcx */
	__u32 reserved;
};

/* What XDP left to do for this packet; -1: it has not counted it. */
static __always_inline int ll_xdp_counted(struct __sk_buff *skb)
{
	const struct ll_xdp_mark *mark = (void *)(long)skb->data_meta;

	if (LL_LIKELY((const void *)(mark + 1) > (const void *)(long)skb->data))
		return -1;
	if (mark->cookie != ll_cookie || mark->ifindex != skb->ifindex)
		return -1;
	return (int)(mark->todo & 0xff);
}

#endif
