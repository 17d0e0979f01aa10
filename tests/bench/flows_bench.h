/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What flows_bench and its BPF program share. */
#ifndef LOSSLESS_TESTS_BENCH_FLOWS_BENCH_H
#define LOSSLESS_TESTS_BENCH_FLOWS_BENCH_H

#include <linux/types.h>

#define LL_FLOWS_BATCH 64 /* packets a run */

struct ll_flows_bench {
  __u64 random;   /* state of the sequence */
  __u32 flows;    /* how many there are */
  __u32 at;       /* where it is, in order */
  __u32 in_order; /* 1: one after the other, 0: at random */
  __u32 reserved;
};

#endif
