/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Bins of a latency histogram in microseconds, log-linear: exact below 64, then 32 bins in each doubling, so
 * no bin is wider than 1/32 of what is in it. LL_LATENCY_BINS of them reach to 32 ms. Pure.
 */
#ifndef LOSSLESS_STAGES_LATENCY_H
#define LOSSLESS_STAGES_LATENCY_H

#include "../abi.h"
#include "base.h"

#define LL_LATENCY_EXACT 64u
#define LL_LATENCY_STEPS 32u

/* 0 .. LL_LATENCY_BINS-1 */
ll_inline __u32 ll_latency_bin(__u64 us)
{
	__u32 bin = 0;

	for (__u32 doubling = 0; doubling < 10 && us >= LL_LATENCY_EXACT; doubling++) {
		us >>= 1;
		bin += LL_LATENCY_STEPS;
	}
	if (us >= LL_LATENCY_EXACT)
		return LL_LATENCY_BINS - 1;
	bin += (__u32)us;
	return bin < LL_LATENCY_BINS ? bin : LL_LATENCY_BINS - 1;
}

/* The least number of microseconds in a bin. */
ll_inline __u64 ll_latency_us(__u32 bin)
{
	__u32 doubling = bin < LL_LATENCY_EXACT ? 0 : bin / LL_LATENCY_STEPS - 1;

	return (__u64)(bin - doubling * LL_LATENCY_STEPS) << doubling;
}

#endif
