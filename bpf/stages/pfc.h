/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * MAC control frames that pause: priority flow control (IEEE 802.1Q-2018 clause 36, opcode 0x0101) and the
 * older PAUSE of IEEE 802.3 annex 31B (opcode 0x0001). Pure; never reads at or past the end.
 */
#ifndef LOSSLESS_STAGES_PFC_H
#define LOSSLESS_STAGES_PFC_H

#include "../abi.h"
#include "base.h"
#include "parse.h"

#define LL_ETH_MAC_CONTROL 0x8808u
#define LL_MAC_OPCODE_PAUSE 0x0001u
#define LL_MAC_OPCODE_PFC 0x0101u

/* Length of the frames we build, padded, without FCS; shorter ones than the smallest Ethernet frame are bad.
 */
#define LL_PFC_FRAME_LEN 60u
/* One quantum is the time of 512 bits at the speed of the link. */
#define LL_PFC_QUANTUM_BITS 512u
#define LL_PFC_MAX_QUANTA 0xffffu

struct ll_pause_frame {
	__u8 kind;          /* enum ll_pfc_kind */
	__u8 classes;       /* priorities that are named; all of them for PAUSE */
	__u16 time[LL_TCS]; /* quanta; 0: go on. Only of the priorities that are named */
};

/*
 * 01-80-C2-00-00-01. Byte by byte without early exit: compilers that turn a chain of comparisons into wide
 * loads at odd places leave the verifier nothing to object to.
 */
ll_inline int ll_pfc_is_group(const __u8 *mac)
{
	return ((mac[0] ^ 0x01) | (mac[1] ^ 0x80) | (mac[2] ^ 0xc2) | mac[3] | mac[4] | (mac[5] ^ 0x01)) == 0;
}

/*
 * Reads a frame from its destination address on. `end` is the end of the frame (or of what was pulled of it).
 * f->kind says what it is; LL_PFC_NONE for anything but a MAC control frame, a frame that is too short to
 * tell included.
 */
ll_inline void ll_pfc_parse(const void *data, const void *data_end, struct ll_pause_frame *f)
{
	const __u8 *p = (const __u8 *)data;
	const __u8 *end = (const __u8 *)data_end;
	__u16 opcode;

	f->kind = LL_PFC_NONE;
	f->classes = 0;
	for (int tc = 0; tc < (int)LL_TCS; tc++)
		f->time[tc] = 0;
	if (p + 14 > end || ll_get16(p + 12) != LL_ETH_MAC_CONTROL)
		return;
	f->kind = LL_PFC_BAD_SHORT;
	if (p + LL_PFC_FRAME_LEN > end)
		return;
	f->kind = LL_PFC_BAD_ADDRESS;
	if (!ll_pfc_is_group(p))
		return;
	opcode = ll_get16(p + 14);
	if (opcode == LL_MAC_OPCODE_PAUSE) {
		f->kind = LL_PFC_PAUSE;
		f->classes = 0xff;
		for (int tc = 0; tc < (int)LL_TCS; tc++)
			f->time[tc] = ll_get16(p + 16);
		return;
	}
	f->kind = LL_PFC_BAD_OPCODE;
	if (opcode != LL_MAC_OPCODE_PFC)
		return;
	f->kind = LL_PFC_BAD_VECTOR;
	if (p[16] != 0)
		return;
	f->kind = LL_PFC_OK;
	f->classes = p[17];
	for (int tc = 0; tc < (int)LL_TCS; tc++)
		if (f->classes & (1u << tc))
			f->time[tc] = ll_get16(p + 18 + 2 * tc);
}

/* Writes a PFC frame of LL_PFC_FRAME_LEN bytes that gives every priority in `classes` the same time. */
ll_inline void ll_pfc_build(__u8 *out, const __u8 *source, __u8 classes, __u16 quanta)
{
	for (int i = 0; i < (int)LL_PFC_FRAME_LEN; i++)
		out[i] = 0;
	out[0] = 0x01;
	out[1] = 0x80;
	out[2] = 0xc2;
	out[5] = 0x01;
	for (int i = 0; i < 6; i++)
		out[6 + i] = source[i];
	out[12] = LL_ETH_MAC_CONTROL >> 8;
	out[13] = LL_ETH_MAC_CONTROL & 0xff;
	out[14] = LL_MAC_OPCODE_PFC >> 8;
	out[15] = LL_MAC_OPCODE_PFC & 0xff;
	out[17] = classes;
	for (int tc = 0; tc < (int)LL_TCS; tc++) {
		if (!(classes & (1u << tc)))
			continue;
		out[18 + 2 * tc] = (__u8)(quanta >> 8);
		out[19 + 2 * tc] = (__u8)quanta;
	}
}

/*
 * The peer asks for a pause of `time_ns` from now on, or lets go (0). Several CPUs may write at once: a lost
 * write costs one frame's worth of the sum.
 */
ll_inline void ll_pause_ask(struct ll_pause *p, __u64 now, __u64 time_ns)
{
	if (p->asked_since_ns && (p->until_ns <= now || time_ns == 0)) {
		p->asked_ns += (p->until_ns < now ? p->until_ns : now) - p->asked_since_ns;
		p->asked_since_ns = 0;
	}
	if (time_ns) {
		if (!p->asked_since_ns)
			p->asked_since_ns = now;
		p->last_ns = now;
	}
	p->until_ns = time_ns ? now + time_ns : 0;
}

/* For how long the peer has asked for pauses until now, the running one included. */
ll_inline __u64 ll_pause_asked(const struct ll_pause *p, __u64 now)
{
	__u64 end = p->until_ns < now ? p->until_ns : now;

	return p->asked_ns + (p->asked_since_ns && end > p->asked_since_ns ? end - p->asked_since_ns : 0);
}

/* What one quantum lasts on a link of `bps` bits per second (> 0), in picoseconds. */
ll_inline __u64 ll_pfc_quantum_ps(__u64 bps)
{
	return LL_PFC_QUANTUM_BITS * 1000000000000ull / bps;
}

/* Nanoseconds that `quanta` last on a link of `bps` bits per second (> 0). */
ll_inline __u64 ll_pfc_time_ns(__u16 quanta, __u64 bps)
{
	return (__u64)quanta * LL_PFC_QUANTUM_BITS * 1000000000ull / bps;
}

/* The quanta that last at least `ns` (at most 10 s) at `bps`; as many as there are when that is not enough.
 */
ll_inline __u16 ll_pfc_quanta(__u64 ns, __u64 bps)
{
	__u64 quanta = (bps / 1000000ull * ns / 1000ull + LL_PFC_QUANTUM_BITS - 1) / LL_PFC_QUANTUM_BITS;

	return (__u16)(quanta > LL_PFC_MAX_QUANTA ? LL_PFC_MAX_QUANTA : quanta ? quanta : 1);
}

#endif
