/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffer model's way in, on tcx egress: the packet is counted for the port it came in by, and the peer
 * there is stopped when that port has sent more than its share. The way out is dequeue.bpf.c.
 *
 * It is counted where it is handed to a queue and not where it comes in, so that what is consumed, filtered
 * or flooded to several ports is counted as often as it is held. Nothing waits between the two.
 */
#ifndef LOSSLESS_MMU_H
#define LOSSLESS_MMU_H

#include "carrier.h"
#include "kernel.h"
#include "maps.h"
#include "stages/mmu.h"
#include "stages/pfc.h"

/* The ring buffer was full: the daemon is late or gone, and timers and expiry do the rest. */
static __always_inline void ll_count_no_event(__u32 slot)
{
	struct ll_pfc_stats *stats = bpf_map_lookup_elem(&pfc_stats, &slot);

	if (stats)
		stats->no_event++;
}

static __always_inline void ll_tell_level(__u8 kind, __u32 row, __u8 sent, __u64 ns)
{
	struct ll_pfc_event *e = bpf_ringbuf_reserve(&pfc_events, sizeof *e, 0);

	if (!e) {
		ll_count_no_event(row / LL_TCS);
		return;
	}
	__builtin_memset(e, 0, sizeof *e);
	e->ns = ns;
	e->slot = row / LL_TCS;
	e->kind = kind;
	e->tc = row % LL_TCS;
	e->sent = sent;
	e->cpu = bpf_get_smp_processor_id();
	bpf_ringbuf_submit(e, 0);
}

/* Turns the clone into the frame that stops the peer. */
__noinline int ll_make_xoff(struct __sk_buff *skb)
{
	struct ll_carrier *c = ll_armed_carrier();
	__u32 row = c ? c->row : LL_ROWS;
	struct ll_pfc *p = bpf_map_lookup_elem(&pfc, &row);
	struct ll_mmu *m = bpf_map_lookup_elem(&mmu, &row);
	__u8 frame[LL_PFC_FRAME_LEN];

	if (!c || !p || !m)
		return LL_TCX_DROP;
	if (skb->vlan_present && bpf_skb_vlan_pop(skb))
		return LL_TCX_DROP;
	if (bpf_skb_change_tail(skb, LL_PFC_FRAME_LEN, 0))
		return LL_TCX_DROP;
	ll_pfc_build(frame, p->mac, (__u8)(1u << (row % LL_TCS)), p->quanta);
	if (bpf_skb_store_bytes(skb, 0, frame, sizeof frame, BPF_F_INVALIDATE_HASH))
		return LL_TCX_DROP;
	skb->mark = 0;
	skb->priority = LL_PRIORITY_FIRST;
	skb->cb[LL_CB_COOKIE] = ll_cookie;
	skb->cb[LL_CB_ROW] = LL_CB_ROW_CARRIER;
	skb->cb[LL_CB_BYTES] = (__u32)c->start_ns;
	c->armed = 0;
	__sync_fetch_and_add(&m->tx_xoff, 1);
	return LL_TCX_NEXT;
}

static __always_inline void ll_send_xoff(struct __sk_buff *skb, __u32 ifindex, __u32 row, __u64 now)
{
	struct ll_carrier *c = ll_carrier();
	struct ll_pfc_stats *stats;
	__u32 slot = row / LL_TCS;
	__u8 sent;

	if (!c)
		return;
	c->row = row;
	sent = (__u8)ll_launch(skb, c, LL_CARRIES_XOFF, ifindex, now);
	if (!sent) {
		stats = bpf_map_lookup_elem(&pfc_stats, &slot);
		if (stats)
			stats->no_carrier++;
	}
	ll_tell_level(LL_EVENT_XOFF, row, sent, now);
}

static __always_inline struct ll_pool *ll_pool_of(__u32 id)
{
	return bpf_map_lookup_elem(&pools, &id);
}

static __always_inline void ll_raise(__u64 *peak, __u64 level)
{
	if ((__s64)level > (__s64)LL_READ_ONCE(*peak))
		LL_WRITE_ONCE(*peak, level);
}

/* 1: the pool holds more than it has. */
static __always_inline int ll_pool_add(struct ll_pool *pool, __u64 bytes)
{
	__u64 used;

	if (!pool || !bytes)
		return 0;
	used = __sync_fetch_and_add(&pool->used, bytes) + bytes;
	ll_raise(&pool->peak, used);
	if (LL_LIKELY(!pool->size || (__s64)used <= (__s64)pool->size))
		return 0;
	__sync_fetch_and_add(&pool->over_limit, 1);
	return 1;
}

static __always_inline void ll_pool_take(__u32 id, __u64 bytes)
{
	struct ll_pool *pool = bytes ? ll_pool_of(id) : NULL;

	if (pool)
		__sync_fetch_and_add(&pool->used, -bytes);
}

/* Size and use of the shared pool, which dynamic thresholds follow; read only where there is one. */
static __always_inline __u64 ll_xoff_now(const struct ll_pfc *p)
{
	struct ll_pool *shared;

	if (LL_LIKELY(!p->alpha))
		return p->xoff;
	shared = ll_pool_of(LL_POOL_SHARED);
	return shared ? ll_xoff_level(p, shared->size, LL_READ_ONCE(shared->used)) : p->xoff;
}

static __always_inline __u64 ll_xon_now(const struct ll_pfc *p)
{
	struct ll_pool *shared = ll_pool_of(LL_POOL_SHARED);

	return shared ? ll_xon_level(p, shared->size, LL_READ_ONCE(shared->used)) : 0;
}

/*
 * Level above xoff: the first packet stops the peer; later ones repeat that when the last time is so long ago
 * that the pause runs out, which only happens when no daemon refreshes it.
 */
static __always_inline void ll_above_xoff(struct __sk_buff *skb, struct ll_mmu *m, const struct ll_pfc *p,
					  __u32 ifindex, __u32 row)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 last = m->xoff_ns;

	if (LL_READ_ONCE(m->xoff)) {
		if (now - last < p->refresh_ns || __sync_val_compare_and_swap(&m->xoff_ns, last, now) != last)
			return;
	} else {
		if (__sync_val_compare_and_swap(&m->xoff, 0, 1) != 0)
			return;
		LL_WRITE_ONCE(m->xoff_ns, now);
	}
	ll_send_xoff(skb, ifindex, row, now);
}

/* What came in above xoff. A lossless packet stays even where there is no room for it, and is counted. */
static __always_inline void ll_enter_headroom(struct ll_mmu *m, const struct ll_pfc *p, __u32 bytes)
{
	__u64 held = __sync_fetch_and_add(&m->headroom, bytes) + bytes;

	ll_raise(&m->headroom_peak, held);
	if (ll_pool_add(ll_pool_of(LL_POOL_HEADROOM), bytes) | (held > p->headroom))
		__sync_fetch_and_add(&m->over_limit, 1);
}

/* Only a limited pool can be full. */
static __always_inline int ll_has_room(const struct ll_mmu *m, const struct ll_pfc *p,
				       const struct ll_pool *shared, __u32 bytes)
{
	if (LL_LIKELY(!shared->size) || LL_READ_ONCE(m->bytes) + bytes <= p->guaranteed)
		return 1;
	return (__s64)(LL_READ_ONCE(shared->used) + bytes) <= (__s64)shared->size;
}

static __always_inline void ll_refuse(struct ll_mmu *m)
{
	struct ll_pool *shared = ll_pool_of(LL_POOL_SHARED);

	__sync_fetch_and_add(&m->over_limit, 1);
	__sync_fetch_and_add(&m->dropped, 1);
	if (shared)
		__sync_fetch_and_add(&shared->over_limit, 1);
}

/* What is below its threshold, or knows none. */
static __always_inline void ll_enter_shared(struct ll_mmu *m, const struct ll_pfc *p, struct ll_pool *shared,
					    __u32 bytes)
{
	__u64 before = __sync_fetch_and_add(&m->bytes, bytes);
	__u64 part = ll_shared_part(before + bytes, p->guaranteed) - ll_shared_part(before, p->guaranteed);

	if (part != bytes)
		ll_pool_add(ll_pool_of(LL_POOL_GUARANTEED), bytes - part);
	if (ll_pool_add(shared, part))
		__sync_fetch_and_add(&m->over_limit, 1);
}

/* A packet above xoff. Apart: most packets are not. */
__noinline int ll_enter_above(struct __sk_buff *skb, __u32 ifindex, __u32 row, __u32 bytes)
{
	struct ll_mmu *m = bpf_map_lookup_elem(&mmu, &row);
	struct ll_pfc *p = bpf_map_lookup_elem(&pfc, &row);

	if (!m || !p)
		return 0;
	ll_enter_headroom(m, p, bytes);
	ll_above_xoff(skb, m, p, ifindex, row);
	return 0;
}

/* LL_TCX_DROP: there is no room for a packet of a lossy TC. */
static __always_inline int ll_mmu_enter(struct __sk_buff *skb, __u32 tc)
{
	__u32 ifindex = skb->ingress_ifindex;
	__u32 bytes = skb->wire_len;
	struct ll_index *ingress = ll_find_index(ifindex);
	struct ll_pool *shared;
	struct ll_mmu *m;
	struct ll_pfc *p;
	__u64 level;
	__u32 row;

	if (!ingress)
		return LL_TCX_NEXT;
	row = LL_ROW(ingress->slot, tc);
	m = bpf_map_lookup_elem(&mmu, &row);
	p = bpf_map_lookup_elem(&pfc, &row);
	shared = ll_pool_of(LL_POOL_SHARED);
	if (!m || !p || !shared)
		return LL_TCX_NEXT;
	level = LL_READ_ONCE(m->bytes) + LL_READ_ONCE(m->headroom) + bytes;
	if (LL_UNLIKELY(p->on && (__s64)level > (__s64)ll_xoff_now(p))) {
		ll_enter_above(skb, ifindex, row, bytes);
	} else if (LL_UNLIKELY(!p->lossless && !ll_has_room(m, p, shared, bytes))) {
		ll_refuse(m);
		return LL_TCX_DROP;
	} else {
		ll_enter_shared(m, p, shared, bytes);
	}
	ll_raise(&m->peak, level);
	skb->cb[LL_CB_COOKIE] = ll_cookie;
	skb->cb[LL_CB_ROW] = row;
	skb->cb[LL_CB_BYTES] = bytes;
	return LL_TCX_NEXT;
}

/*
 * Whether the deadlock watchdog has the packets of a TC (`m` and `row`) dropped; counts them. Its row, or
 * NULL. A drop with nobody to watch it ends by itself.
 */
static __always_inline struct ll_watchdog *ll_discards(const struct ll_mmu *m, __u32 row, __u32 packets)
{
	struct ll_watchdog *w;

	if (LL_LIKELY(!LL_READ_ONCE(m->discard_until_ns)))
		return NULL;
	if (bpf_ktime_get_ns() > LL_READ_ONCE(m->discard_until_ns))
		return NULL;
	w = bpf_map_lookup_elem(&watchdog, &row);
	if (w)
		__sync_fetch_and_add(&w->discarded, packets);
	return w;
}

/*
 * The egress view: depth that the packet makes, and whether it may. A lossy queue may be held to a share of
 * what is free of the shared pool; its own limit is the leaf's.
 */
static __always_inline int ll_mmu_egress(struct ll_mmu *m, const struct ll_wred *w, __u64 depth)
{
	struct ll_pool *shared;

	if (LL_UNLIKELY(w->egress_alpha)) {
		shared = ll_pool_of(LL_POOL_SHARED);
		if (shared &&
		    depth > ll_alpha_share(w->egress_alpha, shared->size, LL_READ_ONCE(shared->used))) {
			ll_refuse(m);
			return LL_TCX_DROP;
		}
	}
	ll_raise(&m->egress_peak, depth);
	return LL_TCX_NEXT;
}

#endif
