/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Priority trust: which TC a packet belongs to. Pure. */
#ifndef LOSSLESS_STAGES_CLASSIFY_H
#define LOSSLESS_STAGES_CLASSIFY_H

#include "parse.h"

struct ll_class {
	__u8 tc;
	__u8 untrusted; /* the packet carries nothing that this port trusts: port priority */
};

ll_inline struct ll_class ll_classify(const struct ll_port *port, const struct ll_headers *h)
{
	struct ll_class c = {.tc = port->port_tc, .untrusted = 0};

	if (port->trust == LL_TRUST_DSCP && h->ip)
		c.tc = port->dscp_tc[h->tos >> 2];
	else if (port->trust == LL_TRUST_DOT1P && h->pcp != LL_PCP_NONE)
		c.tc = port->dot1p_tc[h->pcp & 7];
	else if (port->trust != LL_TRUST_PORT)
		c.untrusted = 1;
	c.tc &= LL_TCS - 1;
	return c;
}

/* TC that skb->priority names, or LL_TCS when it was not set by us. */
ll_inline __u32 ll_tc_of_priority(__u32 priority)
{
	__u32 tc = priority - LL_PRIORITY(0);

	return tc < LL_TCS ? tc : LL_TCS;
}

/* In skb->tc_index beside the TC: egress is asked to complete the packet's RoCE flow. */
#define LL_TC_INDEX_FLOW 0x80u

/* The same for skb->tc_index. */
ll_inline __u32 ll_tc_of_index(__u32 tc_index)
{
	__u32 tc = (tc_index & ~LL_TC_INDEX_FLOW) - LL_TC_INDEX(0);

	return tc < LL_TCS ? tc : LL_TCS;
}

#endif
