/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RoCEv2 flows on tcx ingress: counted, followed and paired (stages/roce_flow.h, stages/roce_pair.h). tcx
 * egress adds what only it knows. Nothing here decides about a packet.
 */
#ifndef LOSSLESS_ROCE_H
#define LOSSLESS_ROCE_H

#include "roce_read.h"
#include "stages/classify.h"
#include "stages/roce_pair.h"

#define LL_ROCE_CM_BYTES 72u /* of a CM message that its reader needs */

/* Whether a packet that could not be parsed was meant for RoCE's port: what is wrong may come before it. */
static __always_inline int ll_roce_meant(struct __sk_buff *skb, __u32 where)
{
	const __u8 *end = (void *)(long)skb->data_end;
	const __u8 *ip = (const __u8 *)(long)skb->data + (where & 0x1f);
	__u32 len = LL_IPV6_HLEN;

	if (ip + LL_IPV4_HLEN > end)
		return 0;
	if ((where >> 8 & 0xff) == 4) {
		if (ll_get16(ip + 6) & 0x1fff)
			return 0;
		len = (ip[0] & 0x0fu) * 4;
	}
	ip += len;
	return ip + 4 <= end && ll_get16(ip + 2) == LL_ROCE_PORT;
}

static const struct ll_roce_flow ll_no_flow;

/* The flow's row, a new one if it has none; NULL: there is no room. */
static __always_inline struct ll_roce_flow *ll_roce_row(struct __sk_buff *skb, const struct ll_roce_key *key,
							struct ll_roce_stats *stats, __u64 now)
{
	struct ll_roce_flow *f = bpf_map_lookup_elem(&roce_flows, key);
	const struct ll_roce_pair *pair;

	if (LL_LIKELY(f != NULL))
		return f;
	/* Another CPU may have been faster. */
	bpf_map_update_elem(&roce_flows, key, &ll_no_flow, BPF_NOEXIST);
	f = bpf_map_lookup_elem(&roce_flows, key);
	if (!f) {
		stats->no_room++;
		return NULL;
	}
	stats->flows++;
	f->first_ns = now;
	pair = bpf_map_lookup_elem(&roce_pairs, key);
	if (pair)
		ll_roce_pair_set(f, pair->peer_qpn, LL_PAIR_CM, 1);
	return f;
}

/* What a CNP on our way back to the sender needs. */
static __always_inline void ll_roce_note_link(struct __sk_buff *skb, struct ll_roce_flow *f)
{
	const __u8 *eth = (void *)(long)skb->data;

	if (eth + LL_ETH_HLEN > (const __u8 *)(long)skb->data_end)
		return;
	__builtin_memcpy(f->eth_dst, eth, 6);
	__builtin_memcpy(f->eth_src, eth + 6, 6);
	f->in_ifindex = skb->ifindex;
	if (skb->vlan_present) {
		f->vlan_tci = (__u16)skb->vlan_tci;
		f->vlan_proto = (__u16)skb->vlan_proto;
		f->state |= LL_ROCE_TAGGED;
	} else {
		f->state &= (__u8)~LL_ROCE_TAGGED;
	}
}

static __always_inline void ll_roce_keep_note(const struct ll_roce_note_key *at, __u32 qp, __u64 now)
{
	struct ll_roce_note note = ll_roce_renote(bpf_map_lookup_elem(&roce_notes, at), qp, now);

	bpf_map_update_elem(&roce_notes, at, &note, BPF_ANY);
}

/* A request that will be answered, of a flow without a pair. */
__noinline int ll_roce_note_request(const struct ll_roce_key *key, __u32 psn, __u32 sport, __u64 now,
				    int both)
{
	struct ll_roce_note_key at;

	if (!key)
		return 0;
	__builtin_memcpy(at.src, key->src, sizeof at.src);
	__builtin_memcpy(at.dst, key->dst, sizeof at.dst);
	at.psn = psn;
	at.sport = sport;
	ll_roce_keep_note(&at, key->qp, now);
	if (!both)
		return 0;
	at.sport = 0;
	ll_roce_keep_note(&at, key->qp, now);
	return 0;
}

/* QP that an answer's request went to, 0: not known; *exact as for ll_roce_gather(). */
static __always_inline __u32 ll_roce_asked(const struct ll_roce_key *key, const struct ll_roce *r, __u64 now,
					   int *exact)
{
	struct ll_roce_note_key at;
	__u32 qp;

	__builtin_memcpy(at.src, key->dst, sizeof at.src);
	__builtin_memcpy(at.dst, key->src, sizeof at.dst);
	at.psn = r->psn;
	at.sport = r->udp_sport;
	*exact = 1;
	qp = ll_roce_noted_qp(bpf_map_lookup_elem(&roce_notes, &at), now);
	if (qp)
		return qp;
	at.sport = 0;
	*exact = 0;
	return ll_roce_noted_qp(bpf_map_lookup_elem(&roce_notes, &at), now);
}

static __always_inline void ll_roce_drop_guess(const struct ll_roce_key *key)
{
	struct ll_roce_flow *f = bpf_map_lookup_elem(&roce_flows, key);

	if (f && f->how != LL_PAIR_CM)
		ll_roce_pair_drop(f);
}

/* The evidence is enough: the requests of QP `peer` are answered by flow `f`. */
static __always_inline void ll_roce_conclude(struct ll_roce_flow *f, const struct ll_roce_key *key,
					     __u32 peer, __u8 how, struct ll_roce_stats *stats)
{
	struct ll_roce_flow *requests;
	struct ll_roce_key back;

	ll_roce_key_reverse(key, peer, &back);
	requests = bpf_map_lookup_elem(&roce_flows, &back);
	if (!requests)
		return;
	if (requests->how != LL_PAIR_NONE && requests->peer_qpn != key->qp) {
		f->evidence = 0;
		if (requests->how == LL_PAIR_CM) {
			stats->refused++;
			return;
		}
		stats->contradicted++;
		/* Two QPs claim the same requests: neither is believed. */
		back = *key;
		back.qp = requests->peer_qpn;
		ll_roce_drop_guess(&back);
		ll_roce_pair_drop(requests);
		return;
	}
	if (requests->how == LL_PAIR_NONE)
		ll_roce_pair_set(requests, key->qp, how, f->checked);
	ll_roce_pair_set(f, peer, how, f->checked);
	if (how == LL_PAIR_READ)
		stats->paired_read++;
	else
		stats->paired_ack++;
}

/* A packet that answers requests of the other direction, in a flow that CM did not pair. */
__noinline int ll_roce_answer(struct ll_roce_flow *f, const struct ll_roce_key *key, const struct ll_roce *r,
			      __u64 now, __u64 syndrome_slot)
{
	__u32 slot = syndrome_slot & 0xffff;
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);
	struct ll_roce_flow *requests;
	struct ll_roce_key back;
	__u32 peer;
	int exact;

	if (!f || !key || !r || !stats || !ll_roce_is_proof(r, syndrome_slot >> 16 & 0xff))
		return 0;
	if (f->how != LL_PAIR_NONE) {
		ll_roce_key_reverse(key, f->peer_qpn, &back);
		requests = bpf_map_lookup_elem(&roce_flows, &back);
		if (requests && ll_roce_doubts(f, requests, r->psn)) {
			stats->contradicted++;
			if (requests->how != LL_PAIR_CM && requests->peer_qpn == key->qp)
				ll_roce_pair_drop(requests);
			ll_roce_pair_drop(f);
		}
		return 0;
	}
	peer = ll_roce_asked(key, r, now, &exact);
	if (peer && ll_roce_gather(f, key->qp, peer, r->udp_sport, exact))
		ll_roce_conclude(f, key, peer,
				 ll_roce_is_read_response(r->opcode) ? LL_PAIR_READ : LL_PAIR_ACK, stats);
	return 0;
}

static __always_inline void ll_roce_pair_row(const struct ll_roce_key *key, __u32 peer, __u32 src_id,
					     __u32 dst_id)
{
	struct ll_roce_pair pair = {.peer_qpn = peer, .src_id = src_id, .dst_id = dst_id};
	struct ll_roce_flow *f = bpf_map_lookup_elem(&roce_flows, key);

	bpf_map_update_elem(&roce_pairs, key, &pair, BPF_ANY);
	if (f)
		ll_roce_pair_set(f, peer, LL_PAIR_CM, 1);
}

static __always_inline void ll_roce_unpair_row(const struct ll_roce_key *key)
{
	struct ll_roce_flow *f = bpf_map_lookup_elem(&roce_flows, key);

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

/* A message to QP 1, as ll_roce_ingress() found it. */
__noinline int ll_roce_cm(struct __sk_buff *skb, __u32 where, __u32 slot)
{
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);
	__u8 mad[LL_ROCE_CM_BYTES];
	struct ll_roce_key key;
	struct ll_roce r;
	struct ll_cm cm;
	__u64 now;

	if (!stats || ll_roce_read(skb, where, &r, &key) != LL_ROCE_OK)
		return 0;
	if (bpf_skb_load_bytes(skb, r.ext_at + sizeof(struct ll_deth), mad, sizeof mad) ||
	    !ll_cm_parse(mad, mad + sizeof mad, &cm))
		return 0;
	stats->cm++;
	now = bpf_ktime_get_coarse_ns();
	if (cm.attribute == LL_CM_REQ)
		ll_roce_take_req(&key, &cm, now);
	else if (cm.attribute == LL_CM_REP)
		ll_roce_take_rep(&key, &cm, stats);
	else if (cm.attribute == LL_CM_DREQ)
		ll_roce_take_dreq(&key, &cm, stats);
	return 0;
}

/* A CNP on its way to the sender of a flow: counted there. `f` is the flow that the CNP is part of. */
static __always_inline void ll_roce_see_cnp(const struct ll_roce_flow *f, const struct ll_roce_key *key)
{
	struct ll_roce_flow *data;
	struct ll_roce_key back;

	if (f->how == LL_PAIR_NONE)
		return;
	ll_roce_key_reverse(key, f->peer_qpn, &back);
	data = bpf_map_lookup_elem(&roce_flows, &back);
	if (data)
		data->cnps_seen++;
}

static __always_inline void ll_roce_pairing(struct __sk_buff *skb, struct ll_roce_flow *f,
					    const struct ll_roce_key *key, const struct ll_roce *r,
					    __u32 slot, __u64 now)
{
	enum ll_roce_noting noting;
	__u8 syndrome = 0;

	if (r->opcode == LL_OP_CNP) {
		ll_roce_see_cnp(f, key);
	} else if (ll_roce_is_response(r->opcode)) {
		if (f->how == LL_PAIR_CM || bpf_skb_load_bytes(skb, r->ext_at, &syndrome, 1))
			return;
		ll_roce_answer(f, key, r, now, slot | (__u32)syndrome << 16);
	} else if (ll_roce_is_noted(r)) {
		noting = ll_roce_wants_notes(f);
		if (noting != LL_NOTE_NONE)
			ll_roce_note_request(key, r->psn, r->udp_sport, now, noting == LL_NOTE_BOTH);
	}
}

#define LL_ROCE_ASK_EGRESS 0x1 /* egress is asked to add what it knows (LL_TC_INDEX_FLOW) */
#define LL_ROCE_IS_CM 0x2      /* for ll_roce_cm() */

/* Counts a packet for its flow; LL_ROCE_ASK_EGRESS, LL_ROCE_IS_CM. */
__noinline int ll_roce_ingress(struct __sk_buff *skb, __u32 where, __u32 slot, __u32 tc)
{
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);
	struct ll_roce_flow *f;
	struct ll_roce_key key;
	struct ll_roce r;
	enum ll_roce_kind kind;
	__u64 now;
	int tick;

	if (!stats)
		return 0;
	kind = ll_roce_read(skb, where, &r, &key);
	if (kind == LL_ROCE_OTHER)
		return 0;
	if (LL_UNLIKELY(kind != LL_ROCE_OK)) {
		if (kind < LL_ROCE_KINDS && ll_roce_meant(skb, where))
			stats->bad[kind]++;
		return 0;
	}
	stats->packets += ll_segments(skb);
	now = bpf_ktime_get_coarse_ns();
	f = ll_roce_row(skb, &key, stats, now);
	if (!f)
		return 0;
	__sync_fetch_and_add(&f->packets, ll_segments(skb));
	__sync_fetch_and_add(&f->bytes, skb->len);
	f->sport = r.udp_sport;
	f->tos = r.tos;
	f->opcode = r.opcode;
	if ((r.tos & LL_ECN_MASK) == LL_ECN_CE)
		f->ce++;
	ll_roce_follow_psn(f, &r);
	tick = ll_roce_tick(f, now);
	if (tick || f->in_ifindex != skb->ifindex) {
		ll_roce_note_link(skb, f);
		if (!f->out_ifindex)
			f->tc = (__u8)tc;
	}
	ll_roce_pairing(skb, f, &key, &r, slot, now);
	return (tick || !f->out_ifindex ? LL_ROCE_ASK_EGRESS : 0) |
	       (r.opcode == LL_OP_UD_SEND_ONLY && r.dest_qp == 1 ? LL_ROCE_IS_CM : 0);
}

/* Everything that ingress does with a RoCEv2 packet. */
static __always_inline void ll_roce_enter(struct __sk_buff *skb, const struct ll_headers *h, __u32 slot,
					  __u32 tc)
{
	__u32 where = LL_ROCE_WHERE(h);
	int todo;

	if (!h->ip || !ll_roce_on())
		return;
	todo = ll_roce_ingress(skb, where, slot, tc);
	if (todo & LL_ROCE_ASK_EGRESS)
		skb->tc_index |= LL_TC_INDEX_FLOW;
	if (LL_UNLIKELY(todo & LL_ROCE_IS_CM))
		ll_roce_cm(skb, where, slot);
}

#endif
