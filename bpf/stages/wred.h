/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * WRED: marking probability from queue depth, what selection means for a packet, and the averaged depth.
 * Pure; the caller supplies depth, time and randomness.
 */
#ifndef LOSSLESS_STAGES_WRED_H
#define LOSSLESS_STAGES_WRED_H

#include "ecn.h"

#define LL_PROBABILITY_ONE (1ull << 32)

/*
 * 0 at or below kmin, rising linearly to pmax at kmax, LL_PROBABILITY_ONE above kmax.
 * A packet is selected when a uniform 32-bit random number is below the result.
 */
ll_inline __u64 ll_wred_probability(const struct ll_wred *w, __u32 depth)
{
	if (depth <= w->kmin)
		return 0;
	if (depth > w->kmax)
		return LL_PROBABILITY_ONE;
	return (__u64)w->pmax * (depth - w->kmin) / (w->kmax - w->kmin);
}

enum ll_wred_action {
	LL_WRED_MARK,
	LL_WRED_DROP,
	LL_WRED_ALREADY_CE,
	LL_WRED_SPARE,
};

/* What happens to a selected packet. Not IP counts as Not-ECT. */
ll_inline enum ll_wred_action ll_wred_act(const struct ll_wred *w, __u8 ecn)
{
	if (ecn == LL_ECN_CE)
		return LL_WRED_ALREADY_CE;
	if (ecn != LL_ECN_NOT_ECT)
		return LL_WRED_MARK;
	return w->flags & LL_WRED_LOSSLESS ? LL_WRED_SPARE : LL_WRED_DROP;
}

#define LL_EWMA_SCALE 16u

/*
 * Halvings of an average with weight 2^-shift over `idle` in which packets of `idle_ns` each could have
 * left: (1 - 2^-n)^m = 2^(-1.44 m / 2^n), in sixteenths.
 */
ll_inline __u64 ll_ewma_halvings(__u64 idle, __u32 idle_ns, __u32 shift)
{
	__u64 packets = idle / idle_ns;

	if (packets > (1u << 30))
		return 64;
	return (packets * 23 >> 4) >> shift;
}

/*
 * Folds the depth found by one packet at time `now` (ns) into the average and returns it in bytes.
 * A queue found empty was idle since the last packet at most; the average ages by that time, as in RED.
 * CPUs that update at once may lose one another's step, which an average bears.
 */
ll_inline __u32 ll_ewma_update(struct ll_ewma *e, const struct ll_wred *w, __u32 depth, __u64 now)
{
	__u64 avg = e->avg;
	__u64 sample = (__u64)depth << LL_EWMA_SCALE;

	if (depth == 0 && w->idle_ns && now > e->last_ns) {
		__u64 halvings = ll_ewma_halvings(now - e->last_ns, w->idle_ns, w->ewma_shift & 15);

		avg = halvings < 64 ? avg >> halvings : 0;
	}
	if (sample >= avg)
		avg += (sample - avg) >> (w->ewma_shift & 15);
	else
		avg -= (avg - sample) >> (w->ewma_shift & 15);
	e->avg = avg;
	e->last_ns = now;
	return (__u32)(avg >> LL_EWMA_SCALE);
}

#endif
