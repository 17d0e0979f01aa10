// SPDX-License-Identifier: GPL-2.0-only
#include "kernel.h"

#define LL_MAP
#include "maps.h"

char LICENSE[] SEC("license") = "GPL";
