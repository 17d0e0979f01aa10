/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What every stage header needs to compile for BPF and for user space alike. */
#ifndef LOSSLESS_STAGES_BASE_H
#define LOSSLESS_STAGES_BASE_H

#include <linux/types.h>

#ifdef __bpf__
#define ll_inline static __attribute__((always_inline)) inline
#else
#define ll_inline static inline
#endif

#define LL_LIKELY(x) __builtin_expect(!!(x), 1)
#define LL_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
