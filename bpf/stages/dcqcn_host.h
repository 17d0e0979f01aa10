/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* DCQCN on a host: layouts of its maps. What it does with them is in stages/dcqcn.h and bpf/dcqcn.h. */
#ifndef LOSSLESS_STAGES_DCQCN_HOST_H
#define LOSSLESS_STAGES_DCQCN_HOST_H

#include <linux/bpf.h>

#include "../abi.h"
#include "dcqcn.h"
#include "ecn.h"
#include "roce.h"

/* `host` of struct ll_port. Any of them: CNPs end here. */
#define LL_HOST_ON 0x01u
#define LL_HOST_NP 0x02u    /* notification point */
#define LL_HOST_RP 0x04u    /* reaction point */
#define LL_HOST_GUARD 0x08u /* malformed RoCEv2 and unknown opcodes end here */

enum ll_cnp_per {
	LL_CNP_PER_QP = 0,
	LL_CNP_PER_IP = 1,
	LL_CNP_PER_PORT = 2,
};

/* Map `hosts`, row per port slot. User space writes. */
struct ll_host {
	struct ll_dcqcn_params params;
	__u64 line_bps; /* of the port: rate of a QP that was not cut */
	__u8 cnp_per;   /* enum ll_cnp_per */
	__u8 cnp_tos;
	__u8 cnp_tc; /* that CNPs leave by */
	__u8 reserved[5];
};

/* Map `host_qps`: this host's connected QPs, from the RDMA stack. User space writes. */
#define LL_HOST_QPS 65536u
struct ll_host_qp_key {
	__u32 slot; /* of the port */
	__u32 qpn;  /* local */
};
struct ll_host_qp {
	__u32 peer_qpn;
	__u32 reserved;
};

/* Map `np_flows`: when a CNP was sent last; what LL_CNP_PER_* leaves out of the key is 0. */
#define LL_NP_FLOWS 16384u
struct ll_np_key {
	struct ll_zone_key src; /* of the marked packets */
	struct ll_zone_key dst;
	__u32 slot;
	__u32 qpn; /* local */
};

/* Map `rp_flows`: QPs whose rate was cut once. User space removes those that are idle. */
#define LL_RP_FLOWS 16384u
struct ll_rp_key {
	struct ll_zone_key peer; /* where the QP sends to */
	__u32 slot;
	__u32 peer_qpn; /* all that its packets tell of it */
};
struct ll_rp_flow {
	struct bpf_spin_lock lock; /* over all the others */
	__u32 qpn;                 /* local */
	__u64 next_ns;             /* when the next packet may leave, CLOCK_MONOTONIC */
	__u64 last_ns;             /* of the last packet or CNP */
	__u64 cnps;                /* handled */
	__u64 packets;             /* sent since the entry is there */
	__u64 bytes;
	__u64 paced; /* packets that were given a time to leave */
	struct ll_dcqcn_rp rp;
};

/* Map `host_stats`, per CPU, row per port slot. The first four are the counters that NICs have. */
struct ll_host_stats {
	__u64 np_ecn_marked_roce_packets; /* data packets that came in with CE */
	__u64 np_cnp_sent;
	__u64 rp_cnp_handled;     /* reached a QP's rate */
	__u64 rp_cnp_ignored;     /* did not: no reaction point, QP not known, no room */
	__u64 np_held;            /* no CNP: one was sent within min_time_between_cnps */
	__u64 np_no_peer;         /* no CNP: the sender's QP is not known */
	__u64 np_no_carrier;      /* no CNP: it could not be made */
	__u64 rp_paced;           /* packets that were given a time to leave */
	__u64 headers;            /* dropped: IP options, fragments or extension headers before RoCEv2 */
	__u64 bad[LL_ROCE_KINDS]; /* dropped, by enum ll_roce_kind */
};

/* Record in the ring buffer `host_events`: a QP that `host_qps` lacks. */
struct ll_host_event {
	__u32 slot;
	__u32 qpn;
};

/* What a host makes of a packet that comes in, by what it was found to be. */
enum ll_host_act {
	LL_HOST_PASS = 0,
	LL_HOST_TAKE_CNP, /* a CNP: ends here, for the reaction point */
	LL_HOST_MARKED,   /* data with CE: for the notification point; passes */
	LL_HOST_LOOK_ON,  /* RoCEv2 may hide behind what its parser does not go through */
	LL_HOST_DROP,     /* malformed: ends here */
};

/* `flags`: LL_HOST_*. *r is valid for LL_ROCE_OK. */
ll_inline enum ll_host_act ll_host_act_on(enum ll_roce_kind kind, const struct ll_roce *r, __u32 flags,
					  __u32 version)
{
	if (kind == LL_ROCE_OK) {
		if (r->opcode == LL_OP_CNP)
			return LL_HOST_TAKE_CNP;
		return flags & LL_HOST_NP && (r->tos & LL_ECN_MASK) == LL_ECN_CE && r->opcode != LL_OP_ACK &&
				       r->opcode >> 5 != LL_OP_UD_SEND_ONLY >> 5
			       ? LL_HOST_MARKED
			       : LL_HOST_PASS;
	}
	if (!(flags & LL_HOST_GUARD))
		return LL_HOST_PASS;
	if (kind >= LL_ROCE_UDP_LENGTH)
		return LL_HOST_DROP;
	if (version == 6)
		return kind == LL_ROCE_OTHER ? LL_HOST_LOOK_ON : LL_HOST_PASS;
	return kind == LL_ROCE_IP_OPTIONS || kind == LL_ROCE_IP_FRAGMENT ? LL_HOST_LOOK_ON : LL_HOST_PASS;
}

/*
 * When a packet of `bytes` may leave, CLOCK_MONOTONIC; 0: at once. Time that a QP did not use is lost to it.
 * One that is back at line rate overtakes none of its packets that still wait. `rp` must be up to date.
 */
#define LL_RP_HORIZON_NS 2000000000ull /* no packet is put off by more */
ll_inline __u64 ll_rp_departure(struct ll_rp_flow *f, __u64 now, __u32 bytes)
{
	__u64 at = f->next_ns > now ? f->next_ns : now;
	__u64 rate = f->rp.rate_bps;

	if (at > now + LL_RP_HORIZON_NS)
		at = now + LL_RP_HORIZON_NS;
	f->next_ns = at;
	if (ll_dcqcn_rp_limited(&f->rp) && rate)
		f->next_ns += (__u64)bytes * 8 * 1000000000ull / rate;
	return at > now ? at : 0;
}

#endif
