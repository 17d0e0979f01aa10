/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The arithmetic of the buffer model: which part of a level is guaranteed and which draws on the shared pool,
 * and where shared use ends. Pure; bytes.
 */
#ifndef LOSSLESS_STAGES_MMU_H
#define LOSSLESS_STAGES_MMU_H

#include "../abi.h"
#include "base.h"

/* What a level (of one row, without headroom) takes of its guarantee, and of the shared pool. */
ll_inline __u64 ll_guaranteed_part(__u64 level, __u64 guaranteed)
{
	return level < guaranteed ? level : guaranteed;
}

ll_inline __u64 ll_shared_part(__u64 level, __u64 guaranteed)
{
	return level - ll_guaranteed_part(level, guaranteed);
}

/* alpha x (what is free of a pool of `size` bytes, < 2^53); `alpha` as in the maps: 2^(alpha - LL_ALPHA_ONE).
 */
ll_inline __u64 ll_alpha_share(__u8 alpha, __u64 size, __u64 used)
{
	__u64 free = size > used ? size - used : 0;

	return (free << (alpha & LL_ALPHA_MASK)) >> LL_ALPHA_ONE;
}

/* Where the shared use of a row ends now: above, its peer is stopped. */
ll_inline __u64 ll_xoff_level(const struct ll_pfc *p, __u64 size, __u64 used)
{
	return p->alpha ? p->guaranteed + ll_alpha_share(p->alpha, size, used) : p->xoff;
}

/* At or below, it may go on. An empty row may always, however little is free. */
ll_inline __u64 ll_xon_level(const struct ll_pfc *p, __u64 size, __u64 used)
{
	__u64 xoff = ll_xoff_level(p, size, used);

	return xoff > p->xon_offset ? xoff - p->xon_offset : 0;
}

#endif
