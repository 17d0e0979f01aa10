/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RoCEv2 flows on tcx ingress: found in the packet, handed to roce_count.h, and what only tcx can add to
 * them. tcx egress adds the rest. Nothing here decides about a packet.
 */
#ifndef LOSSLESS_ROCE_H
#define LOSSLESS_ROCE_H

#include "roce_count.h"
#include "roce_read.h"
#include "stages/classify.h"

#define LL_ROCE_CM_BYTES 72u /* of a CM message that its reader needs */

/* enum ll_roce_kind of the packet whose IP header `where` names; for LL_ROCE_OK *p is all that ingress needs
 * of it. The one time that it is parsed. */
__noinline int ll_roce_look(struct __sk_buff *skb, __u32 where, struct ll_roce_packet *p)
{
	int kind;

	if (!p)
		return LL_ROCE_OTHER;
	kind = (int)ll_roce_read(skb, where, &p->r, &p->key);
	if (kind != LL_ROCE_OK)
		return kind;
	p->bytes = skb->len;
	p->segments = ll_segments(skb);
	p->syndrome = 0;
	if (ll_roce_is_response(p->r.opcode))
		bpf_skb_load_bytes(skb, p->r.ext_at, &p->syndrome, sizeof p->syndrome);
	return kind;
}

/* What a CNP on our way back to the sender needs; `tc` until egress says better. */
__noinline int ll_roce_note_link(struct __sk_buff *skb, const struct ll_roce_key *key, __u32 slot, __u32 tc)
{
	struct ll_roce_flow *f = key ? ll_roce_flow_of(key) : NULL;
	const __u8 *eth = (void *)(long)skb->data;

	if (!f || eth + LL_ETH_HLEN > (const __u8 *)(long)skb->data_end)
		return 0;
	__builtin_memcpy(f->eth_dst, eth, 6);
	__builtin_memcpy(f->eth_src, eth + 6, 6);
	f->tagged = skb->vlan_present != 0;
	if (f->tagged) {
		f->vlan_tci = (__u16)skb->vlan_tci;
		f->vlan_proto = (__u16)skb->vlan_proto;
	}
	f->in_ifindex = skb->ifindex;
	f->in_slot = (__u8)slot;
	if (!f->left)
		f->tc = (__u8)tc;
	return 0;
}

static __always_inline void ll_roce_pair_row(const struct ll_roce_key *key, __u32 peer, __u32 src_id,
					     __u32 dst_id)
{
	struct ll_roce_pair pair = {.peer_qpn = peer, .src_id = src_id, .dst_id = dst_id};
	struct ll_roce_flow *f = ll_roce_flow_of(key);

	bpf_map_update_elem(&roce_pairs, key, &pair, BPF_ANY);
	if (f)
		ll_roce_pair_set(f, peer, LL_PAIR_CM, 1);
}

static __always_inline void ll_roce_unpair_row(const struct ll_roce_key *key)
{
	struct ll_roce_flow *f = ll_roce_flow_of(key);

	bpf_map_delete_elem(&roce_pairs, key);
	if (f)
		ll_roce_pair_drop(f);
}

/* Key: that of the message. */
static __always_inline void ll_roce_take_req(const struct ll_roce_key *key, const struct ll_cm *cm, __u64 now)
{
	struct ll_roce_request fresh = {.ns = now, .qpn = cm->qpn};
	struct ll_roce_key at = *key;

	at.qp = cm->local_id;
	if (ll_roce_may_wait(bpf_map_lookup_elem(&roce_requests, &at), cm->qpn, now))
		bpf_map_update_elem(&roce_requests, &at, &fresh, BPF_ANY);
}

static __always_inline void ll_roce_take_rep(const struct ll_roce_key *key, const struct ll_cm *cm,
					     struct ll_roce_stats *stats)
{
	const struct ll_roce_request *req;
	const struct ll_roce_pair *known;
	struct ll_roce_key at;
	__u32 qpn;

	ll_roce_key_reverse(key, cm->remote_id, &at);
	req = bpf_map_lookup_elem(&roce_requests, &at);
	if (!req)
		return;
	qpn = req->qpn;
	bpf_map_delete_elem(&roce_requests, &at);
	at.qp = cm->qpn; /* from the REQ's sender to the REP's */
	known = bpf_map_lookup_elem(&roce_pairs, &at);
	if (!known || known->peer_qpn != qpn)
		stats->paired_cm++;
	ll_roce_pair_row(&at, qpn, cm->remote_id, cm->local_id);
	at = *key;
	at.qp = qpn;
	ll_roce_pair_row(&at, cm->qpn, cm->local_id, cm->remote_id);
}

static __always_inline void ll_roce_take_dreq(const struct ll_roce_key *key, const struct ll_cm *cm,
					      struct ll_roce_stats *stats)
{
	const struct ll_roce_pair *pair;
	struct ll_roce_key at = *key;
	__u32 peer;

	at.qp = cm->qpn;
	pair = bpf_map_lookup_elem(&roce_pairs, &at);
	if (!ll_roce_is_release(pair, cm))
		return;
	peer = pair->peer_qpn;
	ll_roce_unpair_row(&at);
	ll_roce_key_reverse(key, peer, &at);
	ll_roce_unpair_row(&at);
	stats->released++;
}

/* A message to QP 1, as ll_roce_count() found it. */
__noinline int ll_roce_cm(struct __sk_buff *skb, const struct ll_roce_packet *p, __u32 slot)
{
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);
	__u8 mad[LL_ROCE_CM_BYTES];
	struct ll_cm cm;
	__u64 now;

	if (!stats || !p)
		return 0;
	if (bpf_skb_load_bytes(skb, p->r.ext_at + sizeof(struct ll_deth), mad, sizeof mad) ||
	    !ll_cm_parse(mad, mad + sizeof mad, &cm))
		return 0;
	stats->cm++;
	now = bpf_ktime_get_coarse_ns();
	if (cm.attribute == LL_CM_REQ)
		ll_roce_take_req(&p->key, &cm, now);
	else if (cm.attribute == LL_CM_REP)
		ll_roce_take_rep(&p->key, &cm, stats);
	else if (cm.attribute == LL_CM_DREQ)
		ll_roce_take_dreq(&p->key, &cm, stats);
	return 0;
}

/* What tcx does beside counting, and for packets that XDP has counted. */
static __always_inline void ll_roce_finish(struct __sk_buff *skb, const struct ll_roce_packet *p, __u32 slot,
					   __u32 tc, int todo)
{
	if (todo & LL_ROCE_ASK_EGRESS)
		skb->tc_index |= LL_TC_INDEX_FLOW;
	if (LL_UNLIKELY(todo & LL_ROCE_NOTE_LINK))
		ll_roce_note_link(skb, &p->key, slot, tc);
	if (LL_UNLIKELY(todo & LL_ROCE_IS_CM))
		ll_roce_cm(skb, p, slot);
}

/* Everything that ingress does with a packet that ll_roce_look() found to be of this kind. */
static __always_inline void ll_roce_enter(struct __sk_buff *skb, __u32 where, const struct ll_roce_packet *p,
					  __u32 kind, __u32 slot, __u32 tc)
{
	if (kind == LL_ROCE_OTHER)
		return;
	if (LL_LIKELY(kind == LL_ROCE_OK))
		ll_roce_finish(skb, p, slot, tc, ll_roce_count(p, slot));
	else if (ll_roce_meant((void *)(long)skb->data, (void *)(long)skb->data_end, where))
		ll_roce_bad(slot, kind);
}

#endif
