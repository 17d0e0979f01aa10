/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flow table: looking a flow up and giving it a row (stages/roce_table.h). A packet of a known flow takes
 * no lock. Who has which row changes under the lock of the set alone. Weak functions: several objects have
 * them, and one copy is linked.
 */
#ifndef LOSSLESS_ROCE_TABLE_H
#define LOSSLESS_ROCE_TABLE_H

#include "kernel.h"
#include "maps.h"
#include "roce_read.h"

static __always_inline __u64 ll_roce_key_hash(const struct ll_roce_key *key)
{
	const struct ll_roce_config *c = ll_roce_settings();

	return ll_roce_hash(key, c ? c->seed : 0);
}

static __always_inline struct ll_roce_set *ll_roce_set(__u32 number)
{
	return bpf_map_lookup_elem(&roce_sets, &number);
}

static __always_inline struct ll_roce_flow *ll_roce_flow_at(__u32 row)
{
	return bpf_map_lookup_elem(&roce_flows, &row);
}

static __always_inline int ll_roce_is_at(__u32 row, const struct ll_roce_key *key)
{
	const struct ll_roce_flow *f = ll_roce_flow_at(row);

	return f && f->live && ll_roce_key_same(&f->key, key);
}

/* The row of the flow within set `number`, LL_ROCE_WAYS: it has none. */
__weak int ll_roce_way(__u32 number, __u64 tag, const struct ll_roce_key *key)
{
	const struct ll_roce_set *set = ll_roce_set(number);

	if (!set || !key)
		return LL_ROCE_WAYS;
	for (__u32 word = 0; word < LL_ROCE_TAG_WORDS; word++) {
		__u64 lanes = ll_roce_lanes(LL_READ_ONCE(set->tags[word]), tag);

		for (__u32 way = word * 4; lanes && way < word * 4 + 4; way++, lanes >>= 16)
			if ((lanes & 0x8000) && ll_roce_is_at(number * LL_ROCE_WAYS + way, key))
				return (int)way;
	}
	return LL_ROCE_WAYS;
}

/* Row of a flow, -1: it has none. `packet`: one of its packets asks. */
__weak int ll_roce_find(const struct ll_roce_key *key, int packet)
{
	struct ll_roce_set *set;
	__u32 number, way;
	__u64 hash;

	if (!key)
		return -1;
	hash = ll_roce_key_hash(key);
	number = ll_roce_set_of(hash, ll_roce_sets);
	set = ll_roce_set(number);
	if (!set)
		return -1;
	way = ll_roce_home_of(hash);
	if (!ll_roce_is_at(number * LL_ROCE_WAYS + way, key)) {
		way = (__u32)ll_roce_way(number, ll_roce_tag_of(hash), key);
		if (way >= LL_ROCE_WAYS)
			return -1;
	}
	if (packet && LL_UNLIKELY(!(set->seen >> way & 1)))
		__sync_fetch_and_or(&set->seen, 1u << way);
	return (int)(number * LL_ROCE_WAYS + way);
}

/* NULL: the flow has no row. */
static __always_inline struct ll_roce_flow *ll_roce_flow_of(const struct ll_roce_key *key)
{
	return ll_roce_flow_at((__u32)ll_roce_find(key, 0));
}

/* What the row held is gone; packets that still count for the flow that had it may add to the new one. */
static __always_inline void ll_roce_begin(struct ll_roce_flow *f, const struct ll_roce_key *key, __u64 now)
{
	__u64 *word = (__u64 *)f;

	LL_WRITE_ONCE(f->live, 0);
	for (__u32 i = 0; i < sizeof *f / sizeof *word; i++)
		word[i] = 0;
	f->key = *key;
	f->first_ns = now;
	LL_WRITE_ONCE(f->live, 1);
}

/* What a new flow is to get, as of the state of the set that `turn` names. */
struct ll_roce_offer {
	__u32 set;
	__u32 turn;
	__u32 way;
	__u32 passed; /* as ll_roce_choose() has it */
};

/* A row for a flow whose home is this. */
__weak int ll_roce_make_offer(struct ll_roce_offer *offer, __u32 home)
{
	struct ll_roce_set *set = offer ? ll_roce_set(offer->set) : NULL;

	if (set)
		offer->way = ll_roce_choose(set, home, &offer->passed);
	return 0;
}

/* With the number of a row. */
#define LL_ROCE_NEW 0x20000000     /* the flow just got it */
#define LL_ROCE_EVICTED 0x40000000 /* and another one had to go */
#define LL_ROCE_ROW(taken) ((__u32)(taken) & ~(LL_ROCE_NEW | LL_ROCE_EVICTED))
#define LL_ROCE_TRIES 4

/* Row of the flow, with LL_ROCE_NEW; -1: the set has changed. */
__weak int ll_roce_accept(const struct ll_roce_offer *offer, const struct ll_roce_key *key, __u64 tag,
			  __u64 now)
{
	struct ll_roce_flow *f;
	struct ll_roce_set *set;
	__u32 way, row;

	if (!offer || !key)
		return -1;
	way = offer->way;
	row = offer->set * LL_ROCE_WAYS + way;
	set = ll_roce_set(offer->set);
	f = ll_roce_flow_at(row);
	if (!set || !f || way >= LL_ROCE_WAYS)
		return -1;
	bpf_spin_lock(&set->lock);
	if (set->turn != offer->turn) {
		bpf_spin_unlock(&set->lock);
		return -1;
	}
	if (ll_roce_tag(set, way)) {
		row |= LL_ROCE_EVICTED;
		set->hand = way + 1;
	}
	ll_roce_set_tag(set, way, 0);
	ll_roce_begin(f, key, now);
	ll_roce_set_tag(set, way, tag);
	set->seen &= ~(offer->passed | 1u << way);
	/* Last, and in order on every CPU: whoever reads the new turn sees the new tags. */
	__sync_val_compare_and_swap(&set->turn, offer->turn, offer->turn + 1);
	bpf_spin_unlock(&set->lock);
	return (int)(row | LL_ROCE_NEW);
}

/*
 * A row for a flow that has none; -1: other CPUs were faster each time. The key is looked for once more,
 * since another CPU may just have taken it up, and then it has no LL_ROCE_NEW; if anything changes in the
 * set after that, all is done again.
 */
__weak int ll_roce_take(const struct ll_roce_key *key, __u64 now)
{
	struct ll_roce_offer offer = {};
	struct ll_roce_set *set;
	__u64 hash, tag;
	__u32 way;
	int row;

	if (!key)
		return -1;
	hash = ll_roce_key_hash(key);
	tag = ll_roce_tag_of(hash);
	offer.set = ll_roce_set_of(hash, ll_roce_sets);
	set = ll_roce_set(offer.set);
	for (int i = 0; set && i < LL_ROCE_TRIES; i++) {
		offer.turn = __sync_fetch_and_add(&set->turn, 0); /* before the tags, on every CPU */
		way = (__u32)ll_roce_way(offer.set, tag, key);
		if (way < LL_ROCE_WAYS)
			return (int)(offer.set * LL_ROCE_WAYS + way);
		ll_roce_make_offer(&offer, ll_roce_home_of(hash));
		row = ll_roce_accept(&offer, key, tag, now);
		if (row >= 0)
			return row;
	}
	return -1;
}

#endif
