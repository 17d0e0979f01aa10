/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RoCEv2 flows at ingress, whichever hook saw the packet: counted, followed and paired (stages/roce_flow.h,
 * stages/roce_pair.h). Weak functions: several objects have them, and one copy is linked.
 */
#ifndef LOSSLESS_ROCE_COUNT_H
#define LOSSLESS_ROCE_COUNT_H

#include "kernel.h"
#include "maps.h"
#include "roce_table.h"
#include "stages/roce_pair.h"

/* The packet's flow, taken up if it is new; NULL: there is no room. */
static __always_inline struct ll_roce_flow *ll_roce_row(const struct ll_roce_key *key,
							struct ll_roce_stats *stats, __u64 now)
{
	const struct ll_roce_pair *pair;
	struct ll_roce_flow *f;
	int row = ll_roce_find(key, 1);

	if (LL_LIKELY(row >= 0))
		return ll_roce_flow_at((__u32)row);
	row = ll_roce_take(key, now);
	if (row < 0) {
		stats->no_room++;
		return NULL;
	}
	if (row & LL_ROCE_EVICTED)
		stats->evicted++;
	f = ll_roce_flow_at(LL_ROCE_ROW(row));
	if (!f || !(row & LL_ROCE_NEW))
		return f;
	stats->flows++;
	pair = bpf_map_lookup_elem(&roce_pairs, key);
	if (pair)
		ll_roce_pair_set(f, pair->peer_qpn, LL_PAIR_CM, 1);
	return f;
}

static __always_inline void ll_roce_keep_note(const struct ll_roce_note_key *at, __u32 qp, __u64 now)
{
	struct ll_roce_note note = ll_roce_renote(bpf_map_lookup_elem(&roce_notes, at), qp, now);

	bpf_map_update_elem(&roce_notes, at, &note, BPF_ANY);
}

/* A request that will be answered, of a flow without a pair. */
__weak int ll_roce_note_request(const struct ll_roce_key *key, __u32 psn, __u32 sport, __u64 now, int both)
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
	struct ll_roce_flow *f = ll_roce_flow_of(key);

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
	requests = ll_roce_flow_of(&back);
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
__weak int ll_roce_answer(struct ll_roce_flow *f, const struct ll_roce_key *key, const struct ll_roce *r,
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
		requests = ll_roce_flow_of(&back);
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

/* A CNP on its way to the sender of a flow: counted there. `f` is the flow that the CNP is part of. */
static __always_inline void ll_roce_see_cnp(const struct ll_roce_flow *f, const struct ll_roce_key *key)
{
	struct ll_roce_flow *data;
	struct ll_roce_key back;

	if (f->how == LL_PAIR_NONE)
		return;
	ll_roce_key_reverse(key, f->peer_qpn, &back);
	data = ll_roce_flow_of(&back);
	if (data)
		data->cnps_seen++;
}

static __always_inline void ll_roce_pairing(struct ll_roce_flow *f, const struct ll_roce_packet *p,
					    __u32 slot, __u64 now)
{
	enum ll_roce_noting noting;

	if (p->r.opcode == LL_OP_CNP) {
		ll_roce_see_cnp(f, &p->key);
	} else if (ll_roce_is_response(p->r.opcode)) {
		if (f->how != LL_PAIR_CM)
			ll_roce_answer(f, &p->key, &p->r, now, slot | (__u32)p->syndrome << 16);
	} else if (f->how == LL_PAIR_NONE && ll_roce_is_noted(&p->r)) {
		noting = ll_roce_wants_notes(f);
		if (noting != LL_NOTE_NONE)
			ll_roce_note_request(&p->key, p->r.psn, p->r.udp_sport, now, noting == LL_NOTE_BOTH);
	}
}

/* What is left to do for a packet that was counted. */
#define LL_ROCE_ASK_EGRESS 0x1 /* egress is asked to add what it knows (LL_TC_INDEX_FLOW) */
#define LL_ROCE_IS_CM 0x2      /* a message to QP 1 */
#define LL_ROCE_NOTE_LINK 0x4  /* the flow is told which way its packets come in */

/* Counts a packet for its flow; LL_ROCE_ASK_EGRESS and the others. */
__weak int ll_roce_count(const struct ll_roce_packet *p, __u32 slot)
{
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);
	struct ll_roce_flow *f;
	__u64 now;
	int todo;

	if (!p || !stats)
		return 0;
	stats->packets += p->segments;
	now = bpf_ktime_get_coarse_ns();
	f = ll_roce_row(&p->key, stats, now);
	if (!f)
		return 0;
	__sync_fetch_and_add(&f->packets, p->segments);
	__sync_fetch_and_add(&f->bytes, p->bytes);
	f->sport = p->r.udp_sport;
	f->tos = p->r.tos;
	f->opcode = p->r.opcode;
	if ((p->r.tos & LL_ECN_MASK) == LL_ECN_CE)
		f->ce++;
	ll_roce_follow_psn(f, &p->r);
	todo = ll_roce_tick(f, now) ? LL_ROCE_ASK_EGRESS | LL_ROCE_NOTE_LINK : 0;
	if (f->in_slot != (__u8)slot)
		todo |= LL_ROCE_NOTE_LINK;
	if (!f->left)
		todo |= LL_ROCE_ASK_EGRESS;
	if (p->r.opcode == LL_OP_UD_SEND_ONLY && p->r.dest_qp == 1)
		todo |= LL_ROCE_IS_CM;
	ll_roce_pairing(f, p, slot, now);
	return todo;
}

/* A packet to RoCE's port that is none of RoCEv2, by what is wrong with it. */
__weak int ll_roce_bad(__u32 slot, __u32 kind)
{
	struct ll_roce_stats *stats = bpf_map_lookup_elem(&roce_stats, &slot);

	if (stats && kind < LL_ROCE_KINDS)
		stats->bad[kind]++;
	return 0;
}

#endif
