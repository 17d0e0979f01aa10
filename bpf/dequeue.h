/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The buffer model's way out: a packet leaves a port's queue for the device, or is dropped by the queue.
 *
 * Tracepoints fire for every device of the machine. A packet counts when it is on a managed port of this
 * instance's network namespace and carries this instance's cookie, which tcx egress of such a port always
 * writes; several instances don't see each other's packets.
 *
 * Part of port_egress.bpf.c: libbpf's linker does not join two objects that declare the same kernel function.
 */
#ifndef LOSSLESS_DEQUEUE_H
#define LOSSLESS_DEQUEUE_H

#include "kernel.h"
#include <bpf/bpf_tracing.h>
#include "maps.h"
#include "skb.h"
#include "mmu.h"
#include "stages/classify.h"
#include "stages/latency.h"

/*
 * LL_CB_COOKIE, LL_CB_ROW and LL_CB_BYTES of a packet. Its bytes are an array of characters for the type
 * system, so they are read as a structure that begins with three 32-bit numbers.
 */
static __always_inline const struct gnet_stats_queue *remembered(const struct sk_buff *skb)
{
	return bpf_rdonly_cast((void *)skb + bpf_core_field_offset(struct sk_buff, cb) +
				       bpf_core_field_offset(struct qdisc_skb_cb, data),
			       bpf_core_type_id_kernel(struct gnet_stats_queue));
}

static __always_inline int is_ours(const struct sk_buff *skb, const struct net_device *dev)
{
	if (remembered(skb)->qlen != ll_cookie || dev->nd_net.net->ns.inum != ll_netns)
		return 0;
	return ll_find_index((__u32)dev->ifindex) != NULL;
}

/*
 * Takes up to `bytes` off a counter that others change too, and returns what it took; `level` is what it was
 * before. For a moment it may be below 0 for others, who take such a one for empty.
 */
static __always_inline __u64 take_up_to(__u64 *counter, __u64 bytes, __u64 *level)
{
	__s64 before = (__s64)__sync_fetch_and_add(counter, -bytes);
	__u64 took;

	*level = before > 0 ? (__u64)before : 0;
	if (LL_LIKELY(before >= (__s64)bytes))
		return bytes;
	took = *level;
	__sync_fetch_and_add(counter, bytes - took);
	return took;
}

/* What came in above xoff is given back first, then what is shared, then what is guaranteed. */
static __always_inline void give_back(struct ll_mmu *m, const struct ll_pfc *p, __u64 bytes)
{
	__s64 headroom = (__s64)LL_READ_ONCE(m->headroom);
	__u64 took, before, shared;

	if (LL_UNLIKELY(headroom > 0)) {
		took = take_up_to(&m->headroom, (__u64)headroom < bytes ? (__u64)headroom : bytes, &before);
		ll_pool_take(LL_POOL_HEADROOM, took);
		bytes -= took;
	}
	if (LL_LIKELY(bytes)) {
		took = take_up_to(&m->bytes, bytes, &before);
		shared = ll_shared_part(before, p->guaranteed) - ll_shared_part(before - took, p->guaranteed);
		ll_pool_take(LL_POOL_SHARED, shared);
		ll_pool_take(LL_POOL_GUARANTEED, took - shared);
	}
}

/* Takes a packet out of the ingress view, and lets the peer go on once the level is low enough. */
static __always_inline void leave(const struct sk_buff *skb)
{
	__u32 row = remembered(skb)->backlog;
	__u64 bytes = remembered(skb)->drops;
	struct ll_mmu *m = bpf_map_lookup_elem(&mmu, &row);
	struct ll_pfc *p = bpf_map_lookup_elem(&pfc, &row);
	__u64 left;

	if (!m || !p)
		return;
	/* One segment of a packet that was cut up on its way out. */
	if (skb->len < bytes)
		bytes = skb->len;
	give_back(m, p, bytes);
	if (LL_LIKELY(!LL_READ_ONCE(m->xoff)))
		return;
	left = LL_READ_ONCE(m->bytes) + LL_READ_ONCE(m->headroom);
	if ((__s64)left > (__s64)ll_xon_now(p))
		return;
	if (__sync_val_compare_and_swap(&m->xoff, 1, 0) == 1)
		ll_tell_level(LL_EVENT_XON, row, 0, bpf_ktime_get_ns());
}

/* How long the way of a PFC frame or a CNP was: from the packet that called for it to the device. */
static __always_inline void measure(const struct sk_buff *skb)
{
	__u32 zero = 0;
	struct ll_latency *l = remembered(skb)->backlog == LL_CB_ROW_CNP
				       ? bpf_map_lookup_elem(&cnp_latency, &zero)
				       : bpf_map_lookup_elem(&pfc_latency, &zero);
	__u32 bin = ll_latency_bin((__u32)(bpf_ktime_get_ns() - remembered(skb)->drops) / 1000);

	if (l && bin < LL_LATENCY_BINS)
		l->bin[bin]++;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(ll_left_queue, const struct sk_buff *skb, const struct net_device *dev)
{
	if (!is_ours(skb, dev))
		return 0;
	if (LL_UNLIKELY(remembered(skb)->backlog >= LL_CB_ROW_CNP))
		measure(skb);
	else
		leave(skb);
	return 0;
}

#define LL_DROPPED_BY(reason, name)                                                                          \
	(bpf_core_enum_value_exists(enum skb_drop_reason, name) &&                                           \
	 (reason) == bpf_core_enum_value(enum skb_drop_reason, name))

/*
 * A queue that the watchdog had emptied: the kernel gives no reason for that. Whose queue, the priority says:
 * a hook flow is in another TC's than the one it was counted for.
 */
static __always_inline int was_discarded(const struct sk_buff *skb)
{
	struct ll_index *port;
	struct ll_watchdog *w;
	struct ll_mmu *m;
	__u32 tc, row;

	if (!is_ours(skb, skb->dev) || remembered(skb)->backlog >= LL_CB_ROW_CNP)
		return 0;
	port = ll_find_index((__u32)skb->dev->ifindex);
	tc = ll_tc_of_priority(skb->priority);
	if (!port || tc >= LL_TCS)
		return 0;
	row = LL_ROW(port->slot, tc);
	m = bpf_map_lookup_elem(&mmu, &row);
	w = m ? ll_discards(m, row, 1) : NULL;
	if (!w)
		return 0;
	__sync_fetch_and_add(&w->emptied, 1);
	return 1;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(ll_dropped_by_queue, struct sk_buff *skb, void *location, enum skb_drop_reason reason)
{
	if (LL_DROPPED_BY(reason, SKB_DROP_REASON_NOT_SPECIFIED)) {
		if (was_discarded(skb))
			leave(skb);
		return 0;
	}
	if (!LL_DROPPED_BY(reason, SKB_DROP_REASON_QDISC_DROP) &&
	    !LL_DROPPED_BY(reason, SKB_DROP_REASON_QDISC_OVERLIMIT) &&
	    !LL_DROPPED_BY(reason, SKB_DROP_REASON_QDISC_CONGESTED))
		return 0;
	if (is_ours(skb, skb->dev) && remembered(skb)->backlog < LL_CB_ROW_CNP)
		leave(skb);
	return 0;
}

#endif
