/* SPDX-License-Identifier: GPL-2.0-only */
/* DCQCN on a host, tcx egress: packets of a QP that was cut get their time to leave. */
#ifndef LOSSLESS_DCQCN_EGRESS_H
#define LOSSLESS_DCQCN_EGRESS_H

#include "dcqcn.h"
#include "roce_read.h"

/* The key of the flow that a data packet of ours belongs to. 0: it is one. */
__noinline int ll_rp_key_of(struct __sk_buff *skb, __u32 where, struct ll_rp_key *key)
{
	struct ll_roce_key flow;
	struct ll_roce r;

	if (!key || ll_roce_read(skb, where, &r, &flow) != LL_ROCE_OK || r.opcode == LL_OP_CNP ||
	    r.opcode == LL_OP_ACK)
		return -1;
	__builtin_memcpy(&key->peer, flow.dst, sizeof key->peer);
	key->peer_qpn = r.dest_qp;
	return 0;
}

/* Holds a packet of a QP that was cut to its rate: fq sends it at skb->tstamp. */
__noinline int ll_host_pace(struct __sk_buff *skb, __u32 slot, __u32 where)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	struct ll_host *host = bpf_map_lookup_elem(&hosts, &slot);
	struct ll_rp_key key = {};
	struct ll_rp_flow *f;
	__u32 bytes = skb->len;
	__u64 now, at;

	if (!stats || !host || ll_rp_key_of(skb, where, &key))
		return 0;
	key.slot = slot;
	f = bpf_map_lookup_elem(&rp_flows, &key);
	if (!f)
		return 0;
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&f->lock);
	ll_dcqcn_rp_advance(&host->params, &f->rp, now);
	ll_dcqcn_rp_sent(&host->params, &f->rp, bytes);
	at = ll_rp_departure(f, now, bytes);
	f->last_ns = now;
	f->packets++;
	f->bytes += bytes;
	f->paced += at != 0;
	bpf_spin_unlock(&f->lock);
	if (!at)
		return 0;
	stats->rp_paced++;
	skb->tstamp = at;
	return 0;
}

#endif
