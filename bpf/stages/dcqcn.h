/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015) as integers:
 * the notification point (NP, the receiver) and the reaction point (RP, the sender) of one flow.
 * Pure: time comes in, nothing is read or sent; every loop is bounded. For BPF and user space.
 *
 * Times are nanoseconds on any one monotonic clock, rates are bits per second below 2^40.
 */
#ifndef LOSSLESS_STAGES_DCQCN_H
#define LOSSLESS_STAGES_DCQCN_H

#include "base.h"

#define LL_DCQCN_ALPHA_ONE (1u << 20) /* alpha = 1.0 */
#define LL_DCQCN_MAX_STEPS 64u        /* rate increases done by one call; the rest by the next call */

struct ll_dcqcn_params {
	__u64 cnp_interval_ns;   /* NP: at most one CNP of a flow in this time */
	__u64 cut_interval_ns;   /* RP: at most one rate cut in this time; 0 = every CNP cuts */
	__u64 alpha_interval_ns; /* RP: alpha decays once for each such time without a CNP; > 0 */
	__u64 rate_interval_ns;  /* RP: the rate-increase timer; > 0 */
	__u64 byte_counter;      /* RP: sent bytes that count as one increase event; 0 = no byte counter */
	__u64 ai_bps;            /* RP: additive increase of the target rate */
	__u64 hai_bps;           /* RP: hyper increase of the target rate */
	__u64 min_bps;           /* RP: the rate is never cut below; > 0 */
	__u32 g_shift;           /* RP: g = 2^-g_shift, 1 .. 16 */
	__u32 fast_recovery;     /* RP: F, increase events before the target rate itself grows */
};

/* The values NICs use on 25 to 100 Gbit/s; slower links want their own (see docs/endpoint.md). */
ll_inline struct ll_dcqcn_params ll_dcqcn_defaults(void)
{
	struct ll_dcqcn_params p = {};

	p.cnp_interval_ns = 50000;
	p.cut_interval_ns = 50000;
	p.alpha_interval_ns = 55000;
	p.rate_interval_ns = 300000;
	p.byte_counter = 10000000;
	p.ai_bps = 40000000;
	p.hai_bps = 200000000;
	p.min_bps = 10000000;
	p.g_shift = 8;
	p.fast_recovery = 5;
	return p;
}

/* Notification point of one flow; all zero at start. */
struct ll_dcqcn_np {
	__u64 last_ns;
	__u32 sent; /* 1 once a CNP was sent */
	__u32 reserved;
};

/* A CE-marked packet of the flow arrived: 1 if a CNP is to be sent now. */
ll_inline int ll_dcqcn_np_ce(const struct ll_dcqcn_params *p, struct ll_dcqcn_np *np, __u64 now)
{
	if (np->sent && now - np->last_ns < p->cnp_interval_ns)
		return 0;
	np->sent = 1;
	np->last_ns = now;
	return 1;
}

/* Reaction point of one flow; set up by ll_dcqcn_rp_init(). */
struct ll_dcqcn_rp {
	__u64 line_bps;    /* never above */
	__u64 rate_bps;    /* current rate, Rc */
	__u64 target_bps;  /* target rate, Rt */
	__u64 alpha_ns;    /* alpha is up to date until here */
	__u64 timer_ns;    /* last rate-increase timer event */
	__u64 cut_ns;      /* last cut */
	__u64 bytes;       /* since the last byte-counter event */
	__u32 alpha;       /* LL_DCQCN_ALPHA_ONE = 1.0 */
	__u32 timer_stage; /* T: timer events since the last cut */
	__u32 byte_stage;  /* BC: byte-counter events since the last cut */
	__u32 cuts;        /* all cuts so far */
};

/* A flow starts at line rate with alpha = 1. */
ll_inline void ll_dcqcn_rp_init(struct ll_dcqcn_rp *rp, __u64 line_bps, __u64 now)
{
	struct ll_dcqcn_rp fresh = {};

	fresh.line_bps = line_bps;
	fresh.rate_bps = line_bps;
	fresh.target_bps = line_bps;
	fresh.alpha_ns = now;
	fresh.timer_ns = now;
	fresh.alpha = LL_DCQCN_ALPHA_ONE;
	*rp = fresh;
}

/* alpha * (1 - 2^-g_shift)^periods, by squaring: 16 steps whatever the time that has passed. */
ll_inline __u32 ll_dcqcn_decay(__u32 alpha, __u32 g_shift, __u64 periods)
{
	__u64 factor = (1ull << 30) - ((1ull << 30) >> g_shift);
	__u64 value = alpha;

	if (periods >> 16)
		return 0;
	for (__u32 bit = 0; bit < 16; bit++) {
		if (periods >> bit & 1)
			value = value * factor >> 30;
		factor = factor * factor >> 30;
	}
	return (__u32)value;
}

ll_inline void ll_dcqcn_alpha_(const struct ll_dcqcn_params *p, struct ll_dcqcn_rp *rp, __u64 now)
{
	__u64 periods = (now - rp->alpha_ns) / p->alpha_interval_ns;

	if (periods == 0)
		return;
	rp->alpha = ll_dcqcn_decay(rp->alpha, p->g_shift, periods);
	rp->alpha_ns += periods * p->alpha_interval_ns;
}

/* One increase event: fast recovery, additive increase or hyper increase, by the two stages. */
ll_inline void ll_dcqcn_increase_(const struct ll_dcqcn_params *p, struct ll_dcqcn_rp *rp)
{
	__u32 t = rp->timer_stage, b = rp->byte_stage;

	if (t > p->fast_recovery && b > p->fast_recovery)
		rp->target_bps += p->hai_bps;
	else if (t >= p->fast_recovery || b >= p->fast_recovery)
		rp->target_bps += p->ai_bps;
	if (rp->target_bps > rp->line_bps)
		rp->target_bps = rp->line_bps;
	/* Halving rounds down: the last bit per second must not be missing for ever. */
	rp->rate_bps = (rp->rate_bps + rp->target_bps + 1) / 2;
}

/* 1 while the flow sends below line rate, so that its timers matter. */
ll_inline int ll_dcqcn_rp_limited(const struct ll_dcqcn_rp *rp)
{
	return rp->rate_bps < rp->line_bps;
}

/* Lets time pass: does the timer's increase events that are due, at most LL_DCQCN_MAX_STEPS. */
ll_inline void ll_dcqcn_rp_advance(const struct ll_dcqcn_params *p, struct ll_dcqcn_rp *rp, __u64 now)
{
	for (__u32 i = 0; i < LL_DCQCN_MAX_STEPS; i++) {
		if (!ll_dcqcn_rp_limited(rp)) {
			rp->timer_ns = now;
			return;
		}
		if (now - rp->timer_ns < p->rate_interval_ns)
			return;
		rp->timer_ns += p->rate_interval_ns;
		rp->timer_stage++;
		ll_dcqcn_increase_(p, rp);
	}
}

/* When ll_dcqcn_rp_advance() has something to do next; only while the flow is limited. */
ll_inline __u64 ll_dcqcn_rp_deadline(const struct ll_dcqcn_params *p, const struct ll_dcqcn_rp *rp)
{
	return rp->timer_ns + p->rate_interval_ns;
}

/* `bytes` of the flow were sent. */
ll_inline void ll_dcqcn_rp_sent(const struct ll_dcqcn_params *p, struct ll_dcqcn_rp *rp, __u32 bytes)
{
	if (!ll_dcqcn_rp_limited(rp) || p->byte_counter == 0)
		return;
	rp->bytes += bytes;
	if (rp->bytes < p->byte_counter)
		return;
	rp->bytes = 0;
	rp->byte_stage++;
	ll_dcqcn_increase_(p, rp);
}

/* A CNP of the flow arrived: cuts the rate by alpha / 2 and starts recovery over. 1 if it was cut. */
ll_inline int ll_dcqcn_rp_cnp(const struct ll_dcqcn_params *p, struct ll_dcqcn_rp *rp, __u64 now)
{
	ll_dcqcn_rp_advance(p, rp, now);
	ll_dcqcn_alpha_(p, rp, now);
	if (rp->cuts && now - rp->cut_ns < p->cut_interval_ns)
		return 0;
	rp->target_bps = rp->rate_bps;
	rp->rate_bps -= (rp->rate_bps * rp->alpha / LL_DCQCN_ALPHA_ONE) / 2;
	if (rp->rate_bps < p->min_bps)
		rp->rate_bps = p->min_bps < rp->line_bps ? p->min_bps : rp->line_bps;
	rp->alpha += (LL_DCQCN_ALPHA_ONE - rp->alpha) >> p->g_shift;
	rp->alpha_ns = now;
	rp->timer_ns = now;
	rp->cut_ns = now;
	rp->bytes = 0;
	rp->timer_stage = 0;
	rp->byte_stage = 0;
	rp->cuts++;
	return 1;
}

#endif
