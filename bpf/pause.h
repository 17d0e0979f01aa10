/* SPDX-License-Identifier: GPL-2.0-only */
/* MAC control frames that come in: counted by kind, told to the daemon where they name a lossless TC,
 * dropped. */
#ifndef LOSSLESS_PAUSE_H
#define LOSSLESS_PAUSE_H

#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "stages/pfc.h"

/* Of the TCs that a frame names: those that are lossless here. Counts the frame for each of them. */
static __always_inline __u8 ll_lossless_classes(__u32 slot, __u8 named)
{
	__u8 classes = 0;

	for (__u32 tc = 0; tc < LL_TCS; tc++) {
		__u32 row = LL_ROW(slot, tc);
		struct ll_pfc *p;
		struct ll_pause *s;

		if (!(named & (1u << tc)))
			continue;
		p = bpf_map_lookup_elem(&pfc, &row);
		s = bpf_map_lookup_elem(&pause, &row);
		if (!p || !s || !p->on)
			continue;
		__sync_fetch_and_add(&s->rx_frames, 1);
		classes |= (__u8)(1u << tc);
	}
	return classes;
}

static __always_inline void ll_tell_pause(__u32 slot, __u8 classes, const struct ll_pause_frame *f,
					  struct ll_pfc_stats *stats)
{
	struct ll_pfc_event *e = bpf_ringbuf_reserve(&pfc_events, sizeof *e, 0);

	if (!e) {
		stats->no_event++;
		return;
	}
	e->ns = bpf_ktime_get_ns();
	e->slot = slot;
	e->kind = LL_EVENT_RX;
	e->tc = 0;
	e->classes = classes;
	e->sent = 0;
	for (__u32 tc = 0; tc < LL_TCS; tc++)
		e->time[tc] = f->time[tc];
	e->cpu = bpf_get_smp_processor_id();
	e->reserved = 0;
	bpf_ringbuf_submit(e, 0);
}

static __always_inline int ll_take_pause(struct __sk_buff *skb, const struct ll_port *port)
{
	__u32 slot = port->slot;
	struct ll_pfc_stats *stats = bpf_map_lookup_elem(&pfc_stats, &slot);
	struct ll_pause_frame f;
	__u8 classes;

	if (!stats)
		return LL_TCX_DROP;
	if (skb->data_end - skb->data < LL_PFC_FRAME_LEN && skb->len >= LL_PFC_FRAME_LEN)
		bpf_skb_pull_data(skb, LL_PFC_FRAME_LEN);
	ll_pfc_parse((void *)(long)skb->data, (void *)(long)skb->data_end, &f);
	if (f.kind < LL_PFC_KINDS)
		stats->rx[f.kind]++;
	if (f.kind > LL_PFC_PAUSE)
		return LL_TCX_DROP;
	classes = ll_lossless_classes(slot, f.classes);
	if (f.kind == LL_PFC_OK && classes != f.classes)
		stats->lossy++;
	if (classes)
		ll_tell_pause(slot, classes, &f, stats);
	return LL_TCX_DROP;
}

#endif
