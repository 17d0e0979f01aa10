/* SPDX-License-Identifier: GPL-2.0-only */
/* RoCEv2 flows on tcx egress: adds to a flow what only egress knows. */
#ifndef LOSSLESS_ROCE_EGRESS_H
#define LOSSLESS_ROCE_EGRESS_H

#include "roce_read.h"
#include "roce_table.h"
#include "stages/classify.h"

#define LL_ROCE_LEAVES 0x1 /* where it leaves, and in which TC */
#define LL_ROCE_MARKED 0x2 /* it was marked CE here */

/* What egress knows of a packet's flow. */
__noinline int ll_roce_egress(struct __sk_buff *skb, __u32 where, __u32 tc, __u32 what)
{
	struct ll_roce_flow *f;
	struct ll_roce_key key;
	struct ll_roce r;

	if (ll_roce_read(skb, where, &r, &key) != LL_ROCE_OK)
		return 0;
	f = ll_roce_flow_of(&key);
	if (!f)
		return 0;
	if (what & LL_ROCE_LEAVES) {
		f->out_ifindex = skb->ifindex;
		f->tc = (__u8)tc;
		f->left = 1;
	}
	if (what & LL_ROCE_MARKED)
		f->marked += ll_segments(skb);
	return 0;
}

/* Where the ingress program asked for it, some ten times a second for each flow. */
static __always_inline void ll_roce_leave(struct __sk_buff *skb, const struct ll_headers *h, __u32 tc)
{
	if (LL_LIKELY(!(skb->tc_index & LL_TC_INDEX_FLOW)))
		return;
	skb->tc_index &= ~LL_TC_INDEX_FLOW;
	if (h->ip)
		ll_roce_egress(skb, LL_ROCE_WHERE(h), tc, LL_ROCE_LEAVES);
}

#endif
