// SPDX-License-Identifier: GPL-2.0-only
/* Called by user space: takes flows out of the table, some sets at a time. */
#include "roce_table.h"

/* 1: the row had such a flow, and is free now. */
__noinline int ll_roce_forget_row(__u32 number, __u32 way, const struct ll_roce_which *which)
{
	struct ll_roce_flow *f = ll_roce_flow_at(number * LL_ROCE_WAYS + way);
	struct ll_roce_set *set = ll_roce_set(number);
	int forgotten = 0;

	if (!set || !f || !which || way >= LL_ROCE_WAYS || !ll_roce_matches(which, f))
		return 0;
	bpf_spin_lock(&set->lock);
	/* Another flow may have the row by now. */
	if (ll_roce_tag(set, way) && ll_roce_matches(which, f)) {
		set->turn++;
		ll_roce_set_tag(set, way, 0);
		f->live = 0;
		forgotten = 1;
	}
	bpf_spin_unlock(&set->lock);
	return forgotten;
}

struct ll_forgetting {
	struct ll_roce_which which;
	__u32 first; /* set */
	__u64 forgotten;
};

static int ll_roce_forget_set(__u32 index, struct ll_forgetting *all)
{
	__u32 number = all->first + index;
	struct ll_roce_set *set = ll_roce_set(number);

	if (!set)
		return 1;
	for (__u32 way = 0; way < LL_ROCE_WAYS; way++)
		if (ll_roce_tag(set, way))
			all->forgotten += (__u32)ll_roce_forget_row(number, way, &all->which);
	return 0;
}

SEC("syscall")
int ll_roce_forget(struct ll_roce_forget *call)
{
	struct ll_forgetting all = {.which = call->which, .first = call->first};

	bpf_loop(call->count, ll_roce_forget_set, &all, 0);
	call->forgotten += all.forgotten;
	return 0;
}
