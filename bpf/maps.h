/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All maps of an instance. maps.bpf.c defines them; the other objects declare them extern and
 * the static linker joins them, so that there is one skeleton and one set of pins.
 */
#ifndef LOSSLESS_MAPS_H
#define LOSSLESS_MAPS_H

#include "abi.h"

#ifndef LL_MAP
#define LL_MAP extern
#endif

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_port);
} ports SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_wred);
} wred SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_ewma);
} ewma SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_ecn_stats);
} ecn_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_class_stats);
} class_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_port_stats);
} port_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_meta);
} meta SEC(".maps");

#endif
