/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Where in memory a RoCEv2 flow is. The flow table is an array of sets of LL_ROCE_WAYS rows each; a flow may
 * be in any row of the one set that its key's hash names, and is in its home, which the hash names too, if
 * that was free. So most packets wait for memory once. For the others the head of the set, one cache line,
 * has 16 bits of the hash of each row's key. Pure; for BPF and user space.
 */
#ifndef LOSSLESS_STAGES_ROCE_TABLE_H
#define LOSSLESS_STAGES_ROCE_TABLE_H

#include <linux/bpf.h>

#include "roce_flow.h"

#define LL_ROCE_WAYS 24u /* rows of a set */
#define LL_ROCE_TAG_WORDS 6u

/*
 * Map `roce_sets`: who has which row of a set. Rows of set s are s * LL_ROCE_WAYS and those after it in the
 * map `roce_flows`.
 */
struct ll_roce_set {
	struct bpf_spin_lock lock; /* over all changes of `turn`, `hand` and `tags` */
	__u32 turn;                /* changes with the tags */
	__u32 seen; /* a bit for each row: a packet came since the hand went over it; without the lock */
	__u32 hand; /* the row from which one is looked for that has to make room */
	__u64 tags[LL_ROCE_TAG_WORDS]; /* four rows each, least significant bits first; 0: the row is free */
};

#ifdef __cplusplus
static_assert(sizeof(ll_roce_set) == 64);
#endif

/* Twice as many rows as flows are expected: of a million flows some hundred find their set full then. */
#define LL_ROCE_SETS_FOR(flows) ((2 * (flows) + LL_ROCE_WAYS - 1) / LL_ROCE_WAYS)
#define LL_ROCE_SETS_DEFAULT LL_ROCE_SETS_FOR(LL_ROCE_FLOWS_DEFAULT)

ll_inline __u64 ll_roce_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* `seed` is secret, so that nobody chooses flows that share a set. */
ll_inline __u64 ll_roce_hash(const struct ll_roce_key *key, __u64 seed)
{
	__u64 hash = seed;

	for (int i = 0; i < 4; i++)
		hash = ll_roce_mix(hash, (__u64)key->src[i] << 32 | key->dst[i]);
	return ll_roce_mix(hash, key->qp);
}

/* 0 .. sets - 1 */
ll_inline __u32 ll_roce_set_of(__u64 hash, __u32 sets)
{
	return (__u32)((hash >> 32) * sets >> 32);
}

/* 1 .. 0xffff */
ll_inline __u64 ll_roce_tag_of(__u64 hash)
{
	return (hash & 0xffff) ? (hash & 0xffff) : 1;
}

/* The row of the set that the flow gets if it is free: 0 .. LL_ROCE_WAYS - 1 */
ll_inline __u32 ll_roce_home_of(__u64 hash)
{
	return (__u32)(hash >> 16 & 0xffff) * LL_ROCE_WAYS >> 16;
}

#define LL_ROCE_LANES 0x0001000100010001ull

/* The top bit of each quarter of `word` that equals `tag`; of one above such a quarter it may be set, too. */
ll_inline __u64 ll_roce_lanes(__u64 word, __u64 tag)
{
	__u64 difference = word ^ tag * LL_ROCE_LANES;

	return (difference - LL_ROCE_LANES) & ~difference & LL_ROCE_LANES << 15;
}

ll_inline __u64 ll_roce_tag(const struct ll_roce_set *set, __u32 way)
{
	return way < LL_ROCE_WAYS ? set->tags[way / 4] >> way % 4 * 16 & 0xffff : 1;
}

ll_inline void ll_roce_set_tag(struct ll_roce_set *set, __u32 way, __u64 tag)
{
	__u32 shift = way % 4 * 16;
	__u64 *word;

	if (way >= LL_ROCE_WAYS)
		return;
	word = &set->tags[way / 4];
	*word = (*word & ~(0xffffull << shift)) | tag << shift;
}

ll_inline int ll_roce_key_same(const struct ll_roce_key *a, const struct ll_roce_key *b)
{
	__u32 difference = a->qp ^ b->qp;

	for (int i = 0; i < 4; i++)
		difference |= (a->src[i] ^ b->src[i]) | (a->dst[i] ^ b->dst[i]);
	return !difference;
}

/*
 * The row that a new flow gets: its home or another one that is free, else the first from the hand on to
 * which no packet came since the hand was there last. *passed: rows with packets that the hand went over.
 */
ll_inline __u32 ll_roce_choose(const struct ll_roce_set *set, __u32 home, __u32 *passed)
{
	__u32 way = set->hand % LL_ROCE_WAYS;
	__u32 seen = set->seen;

	*passed = 0;
	if (!ll_roce_tag(set, home))
		return home;
	for (__u32 i = 0; i < LL_ROCE_WAYS; i++)
		if (!ll_roce_tag(set, i))
			return i;
	for (__u32 i = 0; i < LL_ROCE_WAYS && (seen >> way & 1); i++) {
		*passed |= 1u << way;
		way = way + 1 < LL_ROCE_WAYS ? way + 1 : 0;
	}
	return way;
}

/* Which flows are forgotten: those that hold for every member; 0 says nothing. */
struct ll_roce_which {
	__u64 silent_since; /* the last packet came before */
	__u64 born_before;  /* the first did */
	__u32 src[4];
	__u32 dst[4];
	__u32 ifindex; /* that it comes in or leaves by */
	__u32 qp;      /* that it goes to, or its sender's; with `by_qp` */
	__u8 by_src;
	__u8 by_dst;
	__u8 by_qp;
	__u8 reserved[5];
};

/* What the program `ll_roce_forget` is called with. */
struct ll_roce_forget {
	struct ll_roce_which which;
	__u32 first;     /* set */
	__u32 count;     /* of sets */
	__u64 forgotten; /* flows; it adds to this */
};

ll_inline int ll_roce_address_same(const __u32 a[4], const __u32 b[4])
{
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

ll_inline int ll_roce_matches(const struct ll_roce_which *which, const struct ll_roce_flow *f)
{
	if (which->silent_since && f->last_ns >= which->silent_since)
		return 0;
	if (which->born_before && f->first_ns >= which->born_before)
		return 0;
	if (which->by_src && !ll_roce_address_same(which->src, f->key.src))
		return 0;
	if (which->by_dst && !ll_roce_address_same(which->dst, f->key.dst))
		return 0;
	if (which->by_qp && f->key.qp != which->qp && (f->how == LL_PAIR_NONE || f->peer_qpn != which->qp))
		return 0;
	return !which->ifindex || f->in_ifindex == which->ifindex || f->out_ifindex == which->ifindex;
}

#endif
