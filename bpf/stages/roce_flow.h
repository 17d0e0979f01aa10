/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * RoCEv2 flows: what the datapath remembers of each, and how a packet changes it. Pure; for BPF and user
 * space.
 *
 * A flow is one direction: source, destination and the QP it goes to. Data of a connection and the ACKs for
 * data of the other direction are one flow, since both go to the same QP.
 */
#ifndef LOSSLESS_STAGES_ROCE_FLOW_H
#define LOSSLESS_STAGES_ROCE_FLOW_H

#ifdef __cplusplus
#include <cstddef>
#endif

#include "roce.h"

#define LL_ROCE_FLOWS_DEFAULT 65536u /* rows where the configuration says nothing */
#define LL_ROCE_FLOWS_MIN 1024u
#define LL_ROCE_FLOWS_MAX 1000000u

/* Key of a flow, and of the map `roce_pairs`. Addresses in wire order, IPv4 as ::ffff:a.b.c.d. */
struct ll_roce_key {
	__u32 src[4];
	__u32 dst[4];
	__u32 qp; /* that the packets go to */
};

/* How the QP of the sender is known. Everything but CM is worked out from what passes by. */
enum ll_pair_how {
	LL_PAIR_NONE = 0,
	LL_PAIR_CM = 1,   /* both ends said so when they connected */
	LL_PAIR_ACK = 2,  /* its packets are acknowledged by packets to that QP */
	LL_PAIR_READ = 3, /* its read requests are answered by packets to that QP, or the other way round */
};

/*
 * A row of the map `roce_flows`; stages/roce_table.h says which. Several CPUs may write at once: counters of
 * packets and bytes are exact, the others may miss a step then.
 *
 * Most of what a packet costs here is waiting for memory, so there is an order in it: what every packet needs
 * comes first, in the first two of three whole cache lines.
 */
struct ll_roce_flow {
	struct ll_roce_key key;
	__u32 live; /* 0: a row without a flow */
	__u64 packets;
	__u64 bytes;    /* of frames without FCS */
	__u64 last_ns;  /* CLOCK_MONOTONIC, in steps of the kernel's tick, and so are the others */
	__u32 next_psn; /* of requests */
	__u32 last_psn; /* of the last packet */
	__u16 sport;
	__u8 state;   /* LL_ROCE_* */
	__u8 how;     /* enum ll_pair_how */
	__u8 tos;     /* of the last packet as it came in */
	__u8 opcode;  /* of the last packet */
	__u8 in_slot; /* of the port that it comes in by */
	__u8 left;    /* 1: egress has said where it leaves */
	/* What few packets need. */
	__u64 first_ns;
	__u64 rate_ns; /* the time in which the rate is taken began */
	__u64 rate_bytes;
	__u64 rate_bps;  /* in the last such time that is over; means nothing once the flow is silent */
	__u64 cnp_ns;    /* when IPCC sent the last CNP, by the exact clock */
	__u32 ce;        /* packets that came in with CE */
	__u32 marked;    /* packets that this switch marked */
	__u32 cnps;      /* CNPs that IPCC sent to its sender */
	__u32 cnps_seen; /* CNPs of its receiver that passed by; counted once it is paired */
	__u32 gaps;      /* PSNs that did not follow on the one before */
	__u32 retransmitted;
	__u32 next_read_psn; /* of read responses */
	__u32 peer_qpn;      /* QP of the sender */
	__u32 in_ifindex;
	__u32 out_ifindex; /* 0: not yet known */
	__u32 candidate;   /* QP that evidence is gathered for */
	__u8 evidence;
	__u8 misses;      /* responses in a row that don't fit the pair */
	__u8 checked;     /* 1: the UDP source port fits both QPNs, too */
	__u8 tc;          /* that it left in; the ingress one until then */
	__u16 vlan_tci;   /* of the outermost tag at ingress, if there was one */
	__u16 vlan_proto; /* network byte order */
	__u8 eth_src[6];  /* as it came in */
	__u8 eth_dst[6];
	__u8 tagged; /* 1: there was a tag */
	__u8 notes;  /* requests noted since the last tick, 255 at most (stages/roce_pair.h) */
	__u8 reserved[6];
};

#ifdef __cplusplus
static_assert(offsetof(ll_roce_flow, first_ns) == 80);
static_assert(sizeof(ll_roce_flow) == 192);
#endif

#define LL_ROCE_HAS_PSN 0x01u      /* next_psn is known */
#define LL_ROCE_HAS_READ_PSN 0x02u /* next_read_psn is */
#define LL_ROCE_ANY_PSN                                                                                      \
	0x04u /* the last request was a READ, which takes as many PSNs as its answer has packets */

#define LL_ROCE_TICK_SHIFT 27u /* 2^27 ns, 134 ms: how often what is told of a flow is renewed */
#define LL_ROCE_TICK_NS (1ull << LL_ROCE_TICK_SHIFT)
/* A PSN further away than this from the expected one: the QP began anew. */
#define LL_PSN_WINDOW 0x10000u

/* Map `roce_config`, one row. */
struct ll_roce_config {
	__u8 on;      /* 1: flows are followed */
	__u8 cnp_tos; /* of CNPs that are made here */
	__u8 cnp_tc;
	__u8 reserved[5];
	__u64 seed; /* of the flow table's hash; stays as long as the table */
};

/* Map `roce_stats`, per CPU, row per ingress port slot. */
struct ll_roce_stats {
	__u64 bad[LL_ROCE_KINDS]; /* packets to UDP port 4791 by what is wrong with them; they are forwarded
				   */
	__u64 packets;
	__u64 flows;     /* new rows */
	__u64 no_room;   /* packets of flows that could get no row */
	__u64 evicted;   /* flows whose row a new one took */
	__u64 cm;        /* CM messages read */
	__u64 paired_cm; /* connections paired, by how */
	__u64 paired_ack;
	__u64 paired_read;
	__u64 contradicted; /* pairs given up since what passed by did not fit */
	__u64 refused;      /* evidence against what CM said, ignored */
	__u64 released;     /* connections that ended by a DREQ */
};

/* A RoCEv2 packet as both ingress hooks hand it to its flow. */
struct ll_roce_packet {
	struct ll_roce_key key;
	struct ll_roce r;
	__u32 bytes;    /* of the frame without FCS and without the outermost tag */
	__u32 segments; /* that were on the wire */
	__u8 syndrome;  /* of an answer: the first byte behind the BTH */
	__u8 reserved[3];
};

/* ::ffff: before an IPv4 address, as the third of four words in wire order. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LL_V4_MAPPED 0xffff0000u
#else
#define LL_V4_MAPPED 0x0000ffffu
#endif

/* From an IP header of `version` (4, 6) with all its 20 or 40 bytes. */
ll_inline void ll_roce_key_of(const __u8 *ip, int version, __u32 qp, struct ll_roce_key *key)
{
	if (version == 4) {
		key->src[0] = key->src[1] = key->dst[0] = key->dst[1] = 0;
		key->src[2] = key->dst[2] = LL_V4_MAPPED;
		__builtin_memcpy(&key->src[3], ip + 12, 4);
		__builtin_memcpy(&key->dst[3], ip + 16, 4);
	} else {
		__builtin_memcpy(key->src, ip + 8, 16);
		__builtin_memcpy(key->dst, ip + 24, 16);
	}
	key->qp = qp;
}

/* The flow of the other direction, to QP `qp`. */
ll_inline void ll_roce_key_reverse(const struct ll_roce_key *key, __u32 qp, struct ll_roce_key *back)
{
	for (int i = 0; i < 4; i++) {
		back->src[i] = key->dst[i];
		back->dst[i] = key->src[i];
	}
	back->qp = qp;
}

ll_inline int ll_roce_is_ip4(const __u32 address[4])
{
	return !address[0] && !address[1] && address[2] == LL_V4_MAPPED;
}

/* Transports with a PSN for each QP pair: RC and UC. */
ll_inline int ll_roce_is_connected(__u8 opcode)
{
	return opcode < 0x40;
}

ll_inline int ll_roce_is_read_response(__u8 opcode)
{
	return opcode >= LL_OP_READ_FIRST && opcode <= LL_OP_READ_ONLY;
}

ll_inline int ll_roce_is_response(__u8 opcode)
{
	return opcode >= LL_OP_READ_FIRST && opcode <= LL_OP_ATOMIC_ACK;
}

/* Packets whose sender a CNP can slow down: requests with payload and read responses of RC and UC. */
ll_inline int ll_roce_is_data(const struct ll_roce *r)
{
	return ll_roce_is_connected(r->opcode) && r->payload_len > 0;
}

/* How far `psn` is beyond `expected`: -2^23 .. 2^23 - 1. */
ll_inline __s32 ll_psn_ahead(__u32 psn, __u32 expected)
{
	return (__s32)((psn - expected) << 8) >> 8;
}

/* One step of the sequence. `any`: a step ahead is no gap. */
ll_inline void ll_roce_psn_(struct ll_roce_flow *f, __u32 *next, __u8 known, __u32 psn, int any)
{
	__s32 ahead = ll_psn_ahead(psn, *next);

	if (!(f->state & known) || ahead < -(__s32)LL_PSN_WINDOW || ahead > (__s32)LL_PSN_WINDOW) {
		f->state |= known;
	} else if (ahead < 0) {
		f->retransmitted++;
		return;
	} else if (ahead > 0 && !any) {
		f->gaps++;
	}
	*next = (psn + 1) & LL_PSN_MASK;
}

ll_inline void ll_roce_follow_psn(struct ll_roce_flow *f, const struct ll_roce *r)
{
	if (!ll_roce_is_connected(r->opcode))
		return;
	f->last_psn = r->psn;
	if (ll_roce_is_read_response(r->opcode)) {
		/* Between two answers there are the PSNs of other requests. */
		ll_roce_psn_(f, &f->next_read_psn, LL_ROCE_HAS_READ_PSN, r->psn,
			     r->opcode == LL_OP_READ_FIRST || r->opcode == LL_OP_READ_ONLY);
		return;
	}
	if (ll_roce_is_response(r->opcode))
		return;
	ll_roce_psn_(f, &f->next_psn, LL_ROCE_HAS_PSN, r->psn, (f->state & LL_ROCE_ANY_PSN) != 0);
	f->state &= (__u8)~LL_ROCE_ANY_PSN;
	if (r->opcode == LL_OP_READ_REQUEST)
		f->state |= LL_ROCE_ANY_PSN;
}

/* Time goes on: 1 when another tick of the clock has begun, some eight times a second. */
ll_inline int ll_roce_tick(struct ll_roce_flow *f, __u64 now_ns)
{
	__u64 last = f->last_ns, took;

	f->last_ns = now_ns;
	if (LL_LIKELY(last >> LL_ROCE_TICK_SHIFT == now_ns >> LL_ROCE_TICK_SHIFT))
		return 0;
	f->notes = 0;
	took = now_ns - f->rate_ns;
	/* A flow that has just begun: the next tick tells its rate. */
	if (took < LL_ROCE_TICK_NS / 2)
		return 1;
	/* After a silence it begins anew. */
	f->rate_bps = took < 10 * LL_ROCE_TICK_NS ? (f->bytes - f->rate_bytes) * 8000 / (took / 1000000) : 0;
	f->rate_ns = now_ns;
	f->rate_bytes = f->bytes;
	return 1;
}

#endif
