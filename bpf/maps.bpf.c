// SPDX-License-Identifier: GPL-2.0-only
#include "kernel.h"

#define LL_MAP
#include "maps.h"

const volatile __u32 ll_netns = 0;
const volatile __u32 ll_cookie = 0;
const volatile __u32 ll_roce_sets = LL_ROCE_SETS_DEFAULT;

char LICENSE[] SEC("license") = "GPL";
