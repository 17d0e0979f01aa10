/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * IPCC: how many CNPs a queue sends to the senders that fill it, by its depth, the trend of that and its
 * occupancy, and which packets' senders get them. Pure; for BPF and user space.
 *
 *              occupancy low (up to `high`)   high
 *   rising     few                            many
 *   falling    none                           few
 *
 * At or below `low` there is nothing to do. CNPs are spaced by bytes that join the queue, so each flow gets
 * them in proportion to what it sends, without a list of flows; the spacing varies at random by half of it,
 * so that senders who take turns are not told in turn.
 */
#ifndef LOSSLESS_STAGES_IPCC_H
#define LOSSLESS_STAGES_IPCC_H

#include "../abi.h"
#include "base.h"

/* Map `ipcc`, row per (egress port, TC). User space writes. */
struct ll_ipcc {
	__u32 low;       /* bytes of depth */
	__u32 high;      /* > low */
	__u32 few;       /* bytes that join the queue for each CNP; > 0 */
	__u32 many;      /* the same, <= few; > 0 */
	__u64 trend_ns;  /* time over which depths are compared */
	__u64 flow_ns;   /* a flow gets no second CNP within this time */
	__u32 port_cnps; /* at most so many CNPs in LL_IPCC_LIMIT_NS for all TCs of the port; > 0 */
	__u8 on;
	__u8 reserved[3];
};

#define LL_IPCC_LIMIT_NS 1000000ull

enum ll_ipcc_case {
	LL_IPCC_IDLE = 0, /* at or below `low` */
	LL_IPCC_RISING_LOW = 1,
	LL_IPCC_RISING_HIGH = 2,
	LL_IPCC_FALLING_LOW = 3,
	LL_IPCC_FALLING_HIGH = 4,
	LL_IPCC_CASES = 5,
};

/* Map `ipcc_state`, row per (egress port, TC). CPUs that enqueue at once can lose one another's step. */
struct ll_ipcc_state {
	__u64 mark_ns; /* when the depth was noted that the next one is compared with */
	__u32 mark_depth;
	__u32 bytes;  /* joined since the last CNP */
	__u32 spread; /* of the spacing: 1/256 of it, 128 .. 383; 0: 256 */
	__u8 rising;
	__u8 last; /* enum ll_ipcc_case */
	__u8 reserved[2];
};

/* Map `ipcc_limit`, row per egress port slot. */
struct ll_ipcc_limit {
	__u64 since_ns;
	__u64 sent;
};

/* Map `ipcc_stats`, per CPU, row per (egress port, TC). */
struct ll_ipcc_stats {
	__u64 packets[LL_IPCC_CASES]; /* that joined the queue, by case; idle ones are not counted */
	__u64 chosen;                 /* packets whose sender was to get a CNP; the sum of what follows */
	__u64 sent[LL_IPCC_CASES];
	__u64 not_roce;   /* no data of a RoCEv2 connection; the next packet takes its place */
	__u64 unpaired;   /* the sender's QP is not known */
	__u64 flow_limit; /* the flow got one a moment ago */
	__u64 port_limit;
	__u64 failed; /* the frame could not be made, or the packet did not come in by a managed port */
};

ll_inline void ll_ipcc_note_(struct ll_ipcc_state *s, __u32 depth, __u64 now)
{
	s->mark_ns = now;
	s->mark_depth = depth;
}

/*
 * The trend. Compared when `trend_ns` is over; a queue that grows by more than `few` is rising at once. One
 * that stays as it is counts as falling while it is short: what fills it is not more than what leaves. A long
 * one that stays counts as rising: at its limit, or while senders are paused, it cannot grow, however much
 * more they would send.
 */
ll_inline void ll_ipcc_trend_(const struct ll_ipcc *c, struct ll_ipcc_state *s, __u32 depth, __u64 now)
{
	__u64 took = now - s->mark_ns;

	int was_idle = took >= 8 * c->trend_ns;

	if (was_idle || (depth > s->mark_depth && depth - s->mark_depth > c->few)) {
		s->rising = 1;
		ll_ipcc_note_(s, depth, now);
	} else if (took >= c->trend_ns) {
		s->rising = depth > c->high ? depth >= s->mark_depth : depth > s->mark_depth;
		ll_ipcc_note_(s, depth, now);
	}
}

/* Which case a packet finds that joins the queue at this depth. */
ll_inline enum ll_ipcc_case ll_ipcc_case_of(const struct ll_ipcc *c, struct ll_ipcc_state *s, __u32 depth,
					    __u64 now)
{
	if (depth <= c->low)
		return LL_IPCC_IDLE;
	ll_ipcc_trend_(c, s, depth, now);
	if (s->rising)
		return depth > c->high ? LL_IPCC_RISING_HIGH : LL_IPCC_RISING_LOW;
	return depth > c->high ? LL_IPCC_FALLING_HIGH : LL_IPCC_FALLING_LOW;
}

/* 1 if the sender of this packet, `bytes` long, is to get a CNP. Then call ll_ipcc_sent() or do nothing. */
ll_inline int ll_ipcc_chooses(const struct ll_ipcc *c, struct ll_ipcc_state *s, enum ll_ipcc_case found,
			      __u32 bytes)
{
	__u64 spacing;

	s->last = (__u8)found;
	if (found == LL_IPCC_IDLE || found == LL_IPCC_FALLING_LOW)
		return 0;
	spacing = found == LL_IPCC_RISING_HIGH ? c->many : c->few;
	s->bytes += bytes;
	return (__u64)s->bytes * 256 >= spacing * (s->spread ? s->spread : 256);
}

/* The choice was used: the next one is `spacing` further on. */
ll_inline void ll_ipcc_used(struct ll_ipcc_state *s, __u32 random)
{
	s->bytes = 0;
	s->spread = 128 + (random & 0xff);
}

/* 1 if the port may send one more; counts it. */
ll_inline int ll_ipcc_port_may(const struct ll_ipcc *c, struct ll_ipcc_limit *l, __u64 now)
{
	if (now - l->since_ns >= LL_IPCC_LIMIT_NS) {
		l->since_ns = now;
		l->sent = 0;
	}
	if (l->sent >= c->port_cnps)
		return 0;
	l->sent++;
	return 1;
}

#endif
