/* SPDX-License-Identifier: GPL-2.0-only */
/* Clones of packets that become frames of ours, PFC frames (mmu.h) and CNPs (ipcc.h, dcqcn_ingress.h), on
 * their way out. */
#ifndef LOSSLESS_CARRIER_H
#define LOSSLESS_CARRIER_H

#include "kernel.h"
#include "maps.h"

/* skb->mark of a clone that becomes such a frame; means something only while `carriers` is armed. */
#define LL_CARRIER_MARK 0x4c4c5046u

/* LL_CB_ROW of a PFC frame; LL_CB_BYTES then has the low half of the time the threshold was crossed. */
#define LL_CB_ROW_CARRIER 0xffffffffu
/* The same of a CNP. */
#define LL_CB_ROW_CNP 0xfffffffeu

static __always_inline struct ll_carrier *ll_carrier(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&carriers, &zero);
}

static __always_inline struct ll_carrier *ll_armed_carrier(void)
{
	struct ll_carrier *c = ll_carrier();

	return c && c->armed ? c : 0;
}

/* Sends a clone of this packet out of a port, to become what `c` says. 1: it is on its way. */
static __always_inline int ll_launch(struct __sk_buff *skb, struct ll_carrier *c, __u32 carries,
				     __u32 ifindex, __u64 now)
{
	__u32 mark = skb->mark;
	int sent;

	c->start_ns = now;
	c->armed = carries;
	skb->mark = LL_CARRIER_MARK;
	bpf_clone_redirect(skb, ifindex, 0);
	skb->mark = mark;
	sent = !c->armed;
	c->armed = 0;
	return sent;
}

#endif
