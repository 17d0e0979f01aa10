/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Hook flows: packets that enter and leave by ports of the same group (for example a leaf's uplinks: up, down
 * and up again), which is how a cycle of buffers that wait for one another forms. Those with a configured
 * DSCP get another DSCP, dot1p and TC, so that the cycle never closes within one TC. Pure.
 */
#ifndef LOSSLESS_STAGES_HOOK_FLOW_H
#define LOSSLESS_STAGES_HOOK_FLOW_H

#include "ecn.h"

/* Port group of a port; each port is in one at most. */
#define LL_HOOK_NO_GROUP 0u
#define LL_HOOK_MAX_GROUP 255u
#define LL_HOOK_GROUPS (LL_HOOK_MAX_GROUP + 1u)
#define LL_HOOK_FLOWS 4096u /* listed at the same time */

/* What becomes of hook flows with one DSCP. */
struct ll_hook_rule {
	__u8 on;   /* 0: they are counted and listed, and stay as they are */
	__u8 dscp; /* new DSCP, 0 .. 63; must have no rule itself, or the next switch would move them again */
	__u8 dot1p; /* new PCP, 0 .. 7, written where there is a tag */
	__u8 tc;    /* TC of the egress queue, 0 .. 7 */
};

/* Map `hooks`, row per port group: its rules by the DSCP that the packet arrives at the egress with. */
struct ll_hook {
	struct ll_hook_rule by_dscp[LL_DSCPS];
};

/* Map `hook_stats`, per CPU, row per egress port slot; packets (segments of a GSO packet count one each). */
struct ll_hook_stats {
	__u64 moved;  /* rewritten and put into the other TC */
	__u64 other;  /* hook flow without a rule for its DSCP, or not IP */
	__u64 failed; /* could not be rewritten, stays in its TC */
};

/* Map `hook_flows`: a hook flow as it is listed. IPv4 addresses are in the first four bytes, the rest is 0.
 */
struct ll_hook_key {
	__u8 src[16];
	__u8 dst[16];
	__u32 in_ifindex;
	__u32 out_ifindex;
	__u8 ip;   /* 4 or 6 */
	__u8 dscp; /* before the rewrite */
	__u16 reserved;
};

struct ll_hook_flow {
	__u64 packets;
	__u64 bytes;
	__u64 first_ns; /* CLOCK_MONOTONIC */
	__u64 last_ns;
	__u8 moved; /* 1: by a rule */
	__u8 dscp;  /* after */
	__u8 tc;    /* after */
	__u8 reserved[5];
};

enum ll_hook_kind {
	LL_HOOK_NONE = 0,  /* no hook flow */
	LL_HOOK_OTHER = 1, /* a hook flow that stays as it is */
	LL_HOOK_MOVE = 2,  /* to be rewritten and moved */
};

struct ll_hook_verdict {
	__u8 kind; /* enum ll_hook_kind; the rest counts with LL_HOOK_MOVE alone */
	__u8 dscp;
	__u8 dot1p;
	__u8 tc;
};

/* What the port groups that a packet came in and goes out by mean for it. */
ll_inline struct ll_hook_verdict ll_hook_decide(const struct ll_hook *hook, __u8 group_in, __u8 group_out,
						const struct ll_headers *h)
{
	struct ll_hook_verdict v = {.kind = LL_HOOK_NONE, .dscp = 0, .dot1p = 0, .tc = 0};
	const struct ll_hook_rule *rule;

	if (LL_LIKELY(group_in == LL_HOOK_NO_GROUP) || LL_LIKELY(group_in != group_out))
		return v;
	v.kind = LL_HOOK_OTHER;
	if (!h->ip)
		return v;
	rule = &hook->by_dscp[(h->tos >> 2) & (LL_DSCPS - 1)];
	if (!rule->on)
		return v;
	v.kind = LL_HOOK_MOVE;
	v.dscp = rule->dscp & (LL_DSCPS - 1);
	v.dot1p = rule->dot1p & 7;
	v.tc = rule->tc & (LL_TCS - 1);
	return v;
}

/* The ToS octet with the new DSCP; ECN stays. */
ll_inline __u8 ll_hook_tos(const struct ll_hook_verdict *v, __u8 tos)
{
	return (__u8)((v->dscp << 2) | (tos & LL_ECN_MASK));
}

/*
 * The tag control information with the new PCP; DEI and VLAN ID stay. For a tag that the kernel keeps outside
 * of the frame (skb->vlan_tci), which has to be popped and pushed.
 */
ll_inline __u16 ll_hook_tci(const struct ll_hook_verdict *v, __u16 tci)
{
	return (__u16)((v->dot1p << 13) | (tci & 0x1fff));
}

/*
 * Rewrites a frame in place: the DSCP, with the IPv4 header checksum, and the PCP of the outermost tag if
 * `tag_in_frame` (0: the outermost tag is not part of the frame, what is there is an inner one's). `h` is
 * what ll_parse() found in this frame. Returns 0, or -1 with nothing written: not IP, or the frame is shorter
 * than `h` says.
 */
ll_inline int ll_hook_rewrite(void *data, void *data_end, const struct ll_headers *h,
			      const struct ll_hook_verdict *v, int tag_in_frame)
{
	__u8 *frame = (__u8 *)data;
	__u8 *end = (__u8 *)data_end;
	__u32 l3_off = h->l3_off;
	__u8 *ip;

	if (!h->ip || l3_off < LL_ETH_HLEN || l3_off > LL_ETH_HLEN + 2 * LL_VLAN_HLEN)
		return -1;
	ip = frame + l3_off;
	if (ip + LL_IPV4_HLEN > end)
		return -1;
	if (h->ip == 4)
		ll_set_tos_v4(ip, ll_hook_tos(v, h->tos));
	else
		ll_set_tos_v6(ip, ll_hook_tos(v, h->tos));
	if (tag_in_frame && l3_off > LL_ETH_HLEN)
		frame[LL_ETH_HLEN] = (__u8)((v->dot1p << 5) | (frame[LL_ETH_HLEN] & 0x1f));
	return 0;
}

/* The key of a packet's flow, before it is rewritten. Returns 0, or -1: not IP, or too short. */
ll_inline int ll_hook_key_of(const void *data, const void *data_end, const struct ll_headers *h,
			     __u32 in_ifindex, __u32 out_ifindex, struct ll_hook_key *key)
{
	const __u8 *end = (const __u8 *)data_end;
	__u32 l3_off = h->l3_off;
	const __u8 *ip;

	__builtin_memset(key, 0, sizeof(*key));
	if (!h->ip || l3_off < LL_ETH_HLEN || l3_off > LL_ETH_HLEN + 2 * LL_VLAN_HLEN)
		return -1;
	ip = (const __u8 *)data + l3_off;
	if (h->ip == 4) {
		if (ip + LL_IPV4_HLEN > end)
			return -1;
		__builtin_memcpy(key->src, ip + 12, 4);
		__builtin_memcpy(key->dst, ip + 16, 4);
	} else {
		if (ip + LL_IPV6_HLEN > end)
			return -1;
		__builtin_memcpy(key->src, ip + 8, 16);
		__builtin_memcpy(key->dst, ip + 24, 16);
	}
	key->in_ifindex = in_ifindex;
	key->out_ifindex = out_ifindex;
	key->ip = h->ip;
	key->dscp = h->tos >> 2;
	return 0;
}

/* The first DSCP with a rule that is out of range or leads to a DSCP with a rule; LL_DSCPS: all are well. */
ll_inline __u32 ll_hook_bad_rule(const struct ll_hook *hook)
{
	for (__u32 dscp = 0; dscp < LL_DSCPS; dscp++) {
		const struct ll_hook_rule *rule = &hook->by_dscp[dscp];

		if (!rule->on)
			continue;
		if (rule->dscp >= LL_DSCPS || rule->dot1p > 7 || rule->tc >= LL_TCS)
			return dscp;
		if (hook->by_dscp[rule->dscp].on)
			return dscp;
	}
	return LL_DSCPS;
}

#endif
