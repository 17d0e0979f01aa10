/* SPDX-License-Identifier: GPL-2.0-only */
/* MAC control frames that come in, whichever ingress hook sees them: counted by kind, told to the daemon
 * where they name a lossless TC. They end at this port. */
#ifndef LOSSLESS_PAUSE_H
#define LOSSLESS_PAUSE_H

#include "kernel.h"
#include "maps.h"
#include "stages/pfc.h"

/* TCs of a frame, one bit each. */
struct ll_asked {
	__u8 in_force; /* PFC is on for them here */
	__u8 to_act;   /* of these, the gate is not as the frame wants it */
};

#define LL_ASKED_IN_FORCE 0x1
#define LL_ASKED_TO_ACT 0x2

/*
 * Notes what a frame asks of one TC (a row of `pause`); LL_ASKED_*. A function of its own, which the verifier
 * looks at once: inlined eight times, its branches took it most of the time that loading the programs takes.
 * Weak: several objects have it, and one copy is linked.
 */
__weak int ll_note_class(__u32 row, __u32 quanta, __u64 now)
{
	struct ll_pfc *p = bpf_map_lookup_elem(&pfc, &row);
	struct ll_pause *s = bpf_map_lookup_elem(&pause, &row);

	if (!p || !s)
		return 0;
	__sync_fetch_and_add(&s->rx_frames, 1);
	ll_pause_ask(s, now, quanta * p->quantum_ps / 1000);
	if (!p->on)
		return 0;
	return LL_ASKED_IN_FORCE | ((quanta != 0) != (LL_READ_ONCE(s->since_ns) != 0) ? LL_ASKED_TO_ACT : 0);
}

/*
 * Notes what the frame asks of each TC that it names. The daemon is told only where a gate has to move: it
 * finds a pause that was prolonged meanwhile when the old one is over, and a flood of frames does not wake
 * it.
 */
static __always_inline struct ll_asked ll_note_pause(__u32 slot, const struct ll_pause_frame *f, __u64 now)
{
	struct ll_asked asked = {};

	for (__u32 tc = 0; tc < LL_TCS; tc++) {
		/* A TC that is not named has no row. */
		__u32 row = f->classes & (1u << tc) ? LL_ROW(slot, tc) : LL_ROWS;
		__u32 asks = (__u32)ll_note_class(row, f->time[tc], now);

		asked.in_force |= (__u8)((asks & LL_ASKED_IN_FORCE) << tc);
		asked.to_act |= (__u8)((asks / LL_ASKED_TO_ACT & 1) << tc);
	}
	return asked;
}

static __always_inline void ll_tell_pause(__u32 slot, __u8 classes, __u64 now, struct ll_pfc_stats *stats)
{
	struct ll_pfc_event *e = bpf_ringbuf_reserve(&pfc_events, sizeof *e, 0);

	if (!e) {
		stats->no_event++;
		return;
	}
	e->ns = now;
	e->slot = slot;
	e->kind = LL_EVENT_RX;
	e->tc = 0;
	e->classes = classes;
	e->sent = 0;
	e->cpu = bpf_get_smp_processor_id();
	e->reserved = 0;
	bpf_ringbuf_submit(e, 0);
}

/* What comes of a frame that was parsed. */
__weak int ll_heed_pause(const struct ll_pause_frame *f, __u32 slot)
{
	struct ll_pfc_stats *stats = bpf_map_lookup_elem(&pfc_stats, &slot);
	__u64 now = bpf_ktime_get_ns();
	struct ll_asked asked;

	if (!f || !stats)
		return 0;
	if (f->kind < LL_PFC_KINDS)
		stats->rx[f->kind]++;
	if (f->kind > LL_PFC_PAUSE)
		return 0;
	asked = ll_note_pause(slot, f, now);
	if (f->kind == LL_PFC_OK && asked.in_force != f->classes)
		stats->lossy++;
	if (asked.to_act)
		ll_tell_pause(slot, asked.to_act, now, stats);
	return 0;
}

/* [data, end): the frame, of which LL_PFC_FRAME_LEN bytes matter. */
static __always_inline void ll_take_pause(const void *data, const void *end, __u32 slot)
{
	struct ll_pause_frame f;

	ll_pfc_parse(data, end, &f);
	ll_heed_pause(&f, slot);
}

#endif
