/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which QP a flow comes from. Packets name only the QP they go to, and a CNP needs the other one. Pure; for
 * BPF and user space.
 *
 * - CM: REQ and REP name a QP each; the communication ID of the REQ's sender joins them, and a DREQ with both
 * IDs ends the pair. Nothing else touches such a pair.
 * - Otherwise: requests that will be answered are noted by hosts and PSN, and the answer, with the same PSN
 * the other way, tells which QP the request went to. Many QPs between two hosts may be at the same PSN, so
 * the UDP source port, which most senders make from both QPNs, is part of a first note; a second one without
 * it is for the others. A note that two QPs claim at once proves nothing.
 */
#ifndef LOSSLESS_STAGES_ROCE_PAIR_H
#define LOSSLESS_STAGES_ROCE_PAIR_H

#include "roce_flow.h"

/* Map `roce_pairs`, LRU, key: the flow's. Connections that CM set up; one row for each direction. */
struct ll_roce_pair {
	__u32 peer_qpn; /* QP of the sender */
	__u32 src_id;   /* communication ID of the sender */
	__u32 dst_id;   /* of the receiver */
	__u32 reserved;
};

/* Map `roce_requests`, LRU. REQs that wait for their REP; key: the REQ's addresses, and as `qp` its local ID.
 */
#define LL_ROCE_REQUESTS 16384u
#define LL_ROCE_REQUEST_NS 60000000000ull /* a REQ with the same ID and another QP is not taken before */
struct ll_roce_request {
	__u64 ns;
	__u32 qpn;
	__u32 reserved;
};

/* Map `roce_notes`, LRU. Requests that an answer is expected for; key: addresses of the request, its PSN and,
 * in the first of two notes, its UDP source port. */
#define LL_ROCE_NOTES 65536u
#define LL_ROCE_NOTE_NS 1000000000ull /* older ones prove nothing */
struct ll_roce_note_key {
	__u32 src[4];
	__u32 dst[4];
	__u32 psn;
	__u32 sport; /* 0: any */
};
struct ll_roce_note {
	__u64 ns;
	__u32 qp; /* that the request went to; LL_NOTE_CROWDED: several did */
	__u32 reserved;
};
#define LL_NOTE_CROWDED 0xffffffffu

/* Answers in a row that make a pair: with a source port that fits both QPNs, and without. */
#define LL_PAIR_PROOFS_CHECKED 2u
#define LL_PAIR_PROOFS_GUESSED 8u
/* Answers in a row that don't fit, which end a pair. */
#define LL_PAIR_MISSES 4u

/* Requests that are sure to be answered with their own PSN. */
ll_inline int ll_roce_is_noted(const struct ll_roce *r)
{
	if (r->opcode == LL_OP_READ_REQUEST || r->opcode == LL_OP_COMPARE_SWAP ||
	    r->opcode == LL_OP_FETCH_ADD)
		return 1;
	/* RC alone: UC has no ACKs. */
	return r->opcode < 0x20 && !ll_roce_is_response(r->opcode) && r->ack_request;
}

/* Answers with the PSN of their request; of ACKs, `syndrome` has to be a positive one. */
ll_inline int ll_roce_is_proof(const struct ll_roce *r, __u8 syndrome)
{
	switch (r->opcode) {
	case LL_OP_ACK:
	case LL_OP_ATOMIC_ACK:
		return (syndrome & 0x60) == 0;
	case LL_OP_READ_FIRST:
	case LL_OP_READ_ONLY:
		return 1;
	default:
		return 0;
	}
}

/*
 * Which notes to make of this request: some in each tick of the flow, since noting costs more than all else
 * and some flows are never paired. Most are paired by the first ones, whose source port fits; only then the
 * others are tried.
 */
#define LL_NOTES_EXACT 4u
#define LL_NOTES_ANY 20u
enum ll_roce_noting {
	LL_NOTE_NONE = 0,
	LL_NOTE_EXACT = 1,
	LL_NOTE_BOTH = 2,
};
ll_inline enum ll_roce_noting ll_roce_wants_notes(struct ll_roce_flow *f)
{
	if (f->how != LL_PAIR_NONE || f->notes >= LL_NOTES_ANY)
		return LL_NOTE_NONE;
	return ++f->notes <= LL_NOTES_EXACT ? LL_NOTE_EXACT : LL_NOTE_BOTH;
}

/* A request of QP `qp` at the place of an old note; returns what the note says now. */
ll_inline struct ll_roce_note ll_roce_renote(const struct ll_roce_note *old, __u32 qp, __u64 now)
{
	struct ll_roce_note note = {.ns = now, .qp = qp, .reserved = 0};

	if (old && old->qp != qp && now - old->ns < LL_ROCE_NOTE_NS)
		note.qp = LL_NOTE_CROWDED;
	return note;
}

/* QP that a note names, 0: none. */
ll_inline __u32 ll_roce_noted_qp(const struct ll_roce_note *note, __u64 now)
{
	if (!note || note->qp == LL_NOTE_CROWDED || now - note->ns >= LL_ROCE_NOTE_NS)
		return 0;
	return note->qp;
}

/*
 * An answer in flow `f` (to QP `qp`) says that its requests go to QP `peer`; `exact`: by the note with the
 * source port. 1 when the evidence is enough. f->checked then says whether the port fits.
 */
ll_inline int ll_roce_gather(struct ll_roce_flow *f, __u32 qp, __u32 peer, __u16 sport, int exact)
{
	__u8 fits = exact && ll_roce_sport(qp, peer) == sport;

	if (f->candidate != peer || f->checked != fits) {
		f->candidate = peer;
		f->checked = fits;
		f->evidence = 0;
	}
	if (f->evidence < 255)
		f->evidence++;
	return f->evidence >= (fits ? LL_PAIR_PROOFS_CHECKED : LL_PAIR_PROOFS_GUESSED);
}

/* Pairs a flow, unless CM has; `checked`, see struct ll_roce_flow. */
ll_inline void ll_roce_pair_set(struct ll_roce_flow *f, __u32 peer, __u8 how, __u8 checked)
{
	f->peer_qpn = peer;
	f->how = how;
	f->checked = checked;
	f->evidence = 0;
	f->candidate = 0;
	f->misses = 0;
}

ll_inline void ll_roce_pair_drop(struct ll_roce_flow *f)
{
	ll_roce_pair_set(f, 0, LL_PAIR_NONE, 0);
}

/*
 * An answer with `psn` in flow `f`, paired without CM, to requests that are flow `requests`. 1: too many
 * answers in a row are to nothing that was asked lately, the pair is wrong.
 */
ll_inline int ll_roce_doubts(struct ll_roce_flow *f, const struct ll_roce_flow *requests, __u32 psn)
{
	__s32 ahead = ll_psn_ahead(psn, requests->next_psn);

	/* The answers to a READ go beyond its own PSN. */
	if (!(requests->state & LL_ROCE_HAS_PSN) ||
	    (ahead >= -(__s32)LL_PSN_WINDOW && ahead < (requests->state & LL_ROCE_ANY_PSN ? 0x8000 : 1))) {
		f->misses = 0;
		return 0;
	}
	return ++f->misses >= LL_PAIR_MISSES;
}

/* Whether a REQ may take the place of a waiting one with the same ID. */
ll_inline int ll_roce_may_wait(const struct ll_roce_request *old, __u32 qpn, __u64 now)
{
	return !old || old->qpn == qpn || now - old->ns >= LL_ROCE_REQUEST_NS;
}

/* Whether a DREQ ends the pair of the flow that it goes along with. */
ll_inline int ll_roce_is_release(const struct ll_roce_pair *pair, const struct ll_cm *cm)
{
	return pair && pair->src_id == cm->local_id && pair->dst_id == cm->remote_id;
}

#endif
