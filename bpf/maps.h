/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All maps of an instance. maps.bpf.c defines them; the other objects declare them extern and
 * the static linker joins them, so that there is one skeleton and one set of pins.
 */
#ifndef LOSSLESS_MAPS_H
#define LOSSLESS_MAPS_H

#include "abi.h"
#include "stages/cnp.h"
#include "stages/dcqcn_host.h"
#include "stages/ecn_overlay.h"
#include "stages/hook_flow.h"
#include "stages/ipcc.h"
#include "stages/roce_pair.h"
#include "stages/roce_table.h"

#ifndef LL_MAP
#define LL_MAP extern
#endif

/* Set once before the programs are loaded: whose packets they are. */
extern const volatile __u32 ll_netns;     /* inode number of the instance's network namespace */
extern const volatile __u32 ll_cookie;    /* LL_CB_COOKIE of this instance, not 0 */
extern const volatile __u32 ll_roce_sets; /* that the flow table has */

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_INDEX_SIZE);
	__type(key, __u32);
	__type(value, struct ll_index);
} port_index SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
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
	__uint(max_entries, LL_ROWS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_mmu);
} mmu SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_POOLS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_pool);
} pools SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_pfc);
} pfc SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_pause);
} pause SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_watchdog);
} watchdog SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_pfc_stats);
} pfc_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_latency);
} pfc_latency SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_latency);
} cnp_latency SEC(".maps");

/* What a clone that is to become a PFC frame or a CNP is told by the program that made it, on the same CPU.
 */
struct ll_carrier {
	__u64 start_ns;
	__u32 row;
	__u32 armed; /* LL_CARRIES_*; cleared by the carrier when it is on its way */
	struct ll_cnp cnp;
	__u16 vlan_tci; /* of the CNP, with LL_CNP_TAGGED in cnp_flags */
	__u16 vlan_proto;
	__u8 cnp_flags;
	__u8 cnp_tc;
};
#define LL_CARRIES_XOFF 1u
#define LL_CARRIES_CNP 2u
#define LL_CNP_TAGGED 0x1u

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_carrier);
} carriers SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} pfc_events SEC(".maps");

/* Key: port group. User space writes. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_HOOK_GROUPS);
	__type(key, __u32);
	__type(value, struct ll_hook);
} hooks SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_hook_stats);
} hook_stats SEC(".maps");

/* The flow that was seen longest ago makes room for a new one. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LL_HOOK_FLOWS);
	__type(key, struct ll_hook_key);
	__type(value, struct ll_hook_flow);
} hook_flows SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_ZONE_HOSTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_zone_key);
	__type(value, struct ll_zone_host);
} zone_hosts SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_ZONE_HOSTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_zone_key);
	__type(value, struct ll_zone_bits);
} zone_bits SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, LL_ALLOW_ROWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_allow_key);
	__type(value, __u32);
} zone_allow SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_zone_stats);
} zone_stats SEC(".maps");

/* Key: port slot. User space writes. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_overlay);
} overlay SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_OVERLAY_ENDS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_zone_key);
	__type(value, __u32);
} overlay_ends SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_overlay_stats);
} overlay_stats SEC(".maps");

/* Key: port slot. User space writes. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_host);
} hosts SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_HOST_QPS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_host_qp_key);
	__type(value, struct ll_host_qp);
} host_qps SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LL_NP_FLOWS);
	__type(key, struct ll_np_key);
	__type(value, struct ll_dcqcn_np);
} np_flows SEC(".maps");

/* No LRU: the kernel has no locks in values of such maps. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_RP_FLOWS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ll_rp_key);
	__type(value, struct ll_rp_flow);
} rp_flows SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_host_stats);
} host_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} host_events SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_roce_config);
} roce_config SEC(".maps");

/* The flow table (stages/roce_table.h), as large as the configuration says (Datapath::open). What can be
 * mapped begins on a page, so that rows begin on a cache line. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROCE_SETS_DEFAULT);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_roce_set);
} roce_sets SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROCE_SETS_DEFAULT *LL_ROCE_WAYS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ll_roce_flow);
} roce_flows SEC(".maps");

/* Apart from the flows, so that no flood of those pushes them out. */
LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LL_ROCE_FLOWS_DEFAULT);
	__type(key, struct ll_roce_key);
	__type(value, struct ll_roce_pair);
} roce_pairs SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LL_ROCE_REQUESTS);
	__type(key, struct ll_roce_key);
	__type(value, struct ll_roce_request);
} roce_requests SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LL_ROCE_NOTES);
	__type(key, struct ll_roce_note_key);
	__type(value, struct ll_roce_note);
} roce_notes SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_roce_stats);
} roce_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_ipcc);
} ipcc SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_ipcc_state);
} ipcc_state SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LL_MAX_PORTS);
	__type(key, __u32);
	__type(value, struct ll_ipcc_limit);
} ipcc_limit SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LL_ROWS);
	__type(key, __u32);
	__type(value, struct ll_ipcc_stats);
} ipcc_stats SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LL_APPS);
	__type(key, __u32);
	__type(value, __u32);
} apps SEC(".maps");

LL_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ll_meta);
} meta SEC(".maps");

/* The row of a managed port, NULL for any other interface. */
static __always_inline struct ll_port *ll_find_port(__u32 ifindex)
{
	for (__u32 probe = 0; ifindex && probe < LL_INDEX_PROBES; probe++) {
		__u32 place = LL_INDEX_PLACE(ifindex, probe);
		struct ll_index *entry = bpf_map_lookup_elem(&port_index, &place);

		if (entry && entry->ifindex == ifindex)
			return bpf_map_lookup_elem(&ports, &entry->slot);
	}
	return NULL;
}

#endif
