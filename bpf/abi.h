/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the BPF programs and user space share: map keys, map values, handles. Defined once, here.
 * A change of any layout below is a new LL_ABI_VERSION; a daemon that finds pinned maps of another
 * version replaces them instead of misreading them.
 *
 * Byte order is the host's unless a field says otherwise. Sizes are bytes, times are nanoseconds.
 */
#ifndef LOSSLESS_ABI_H
#define LOSSLESS_ABI_H

#ifdef __bpf__
#include "kernel.h"
#else
#include <linux/types.h>
#endif

#define LL_ABI_VERSION 4u

#define LL_TCS 8u         /* traffic classes of a port, 802.1Q priorities 0-7 */
#define LL_DSCPS 64u      /* code points of RFC 2474 */
#define LL_MAX_PORTS 256u /* managed ports of one instance */

/*
 * Queue tree of a managed port, as `tc` shows it:
 *   qdisc htb 4c00: root, class 4c00:ff (port rate), classes 4c00:1 to 4c00:8 (TC 0 to 7),
 *   under each a qdisc tbf 4c01: to 4c08:, the gate and its FIFO.
 * HTB takes the class straight from skb->priority == LL_PRIORITY(tc).
 */
#define LL_ROOT_MAJOR 0x4c00u
#define LL_RATE_MINOR 0x00ffu
#define LL_HANDLE(major) ((__u32)(major) << 16)
#define LL_PRIORITY(tc) (LL_HANDLE(LL_ROOT_MAJOR) | ((__u32)(tc) + 1u))
/* HTB's way past all classes, for MAC control frames: sent before everything, by no rate and no gate. */
#define LL_PRIORITY_FIRST LL_HANDLE(LL_ROOT_MAJOR)
/* skb->tc_index carries the TC past routing, which overwrites skb->priority. */
#define LL_TC_INDEX(tc) ((__u16)(LL_ROOT_MAJOR + 1u + (__u32)(tc)))
#define LL_LEAF_HANDLE(tc) LL_HANDLE(LL_ROOT_MAJOR + 1u + (__u32)(tc))

enum ll_trust {
	LL_TRUST_PORT = 0,        /* untrusted: the port's own priority */
	LL_TRUST_DOT1P = 1,       /* PCP of the outermost 802.1Q tag */
	LL_TRUST_DSCP = 2,        /* DSCP of the IP header */
	LL_TRUST_APPLICATION = 3, /* what protocol it is: map `apps` */
};

/*
 * Map `port_index`: interface index -> slot, open addressing. An entry is at ifindex % LL_INDEX_SIZE or in
 * one of the next places; ifindex 0 is a free place. An array, since a look-up in one costs 2 ns and in a
 * hash map 30.
 */
#define LL_INDEX_SIZE 1024u
#define LL_INDEX_PROBES 8u
#define LL_INDEX_PLACE(ifindex, probe) (((__u32)(ifindex) + (__u32)(probe)) % LL_INDEX_SIZE)

struct ll_index {
	__u32 ifindex;
	__u32 slot; /* row of the port in the per-port arrays, 0 .. LL_MAX_PORTS-1 */
};

/* Map `ports`, key: slot. The tables are the configured ones multiplied out. */
struct ll_port {
	__u32 slot;   /* its own row */
	__u8 trust;   /* enum ll_trust */
	__u8 port_tc; /* TC of a packet that carries nothing to trust */
	__u8 remark;  /* 1: dscp_new differs from the identity somewhere */
	__u8 group;   /* port group, LL_HOOK_NO_GROUP: none (stages/hook_flow.h) */
	__u8 guard;   /* LL_GUARD_*: what storage traffic that comes in here must keep to; 0: nothing */
	__u8 overlay; /* 1: ECN is carried across VXLAN here (stages/ecn_overlay.h) */
	__u8 host;    /* LL_HOST_*: what of DCQCN a host does here (stages/dcqcn_host.h) */
	__u8 apps;    /* 1: has an application table of its own */
	__u8 dot1p_tc[LL_TCS];   /* PCP -> TC */
	__u8 dscp_tc[LL_DSCPS];  /* DSCP -> TC, through dscp->dscp, dscp->dot1p and dot1p->TC */
	__u8 dscp_new[LL_DSCPS]; /* DSCP -> DSCP written into the packet (trust dscp only) */
};

#define LL_GUARD_ZONES 0x01u      /* hard zoning: both ends in one zone */
#define LL_GUARD_INITIATORS 0x02u /* not from one initiator to another */
#define LL_GUARD_LIST 0x04u       /* the source is in the white list of this port */

/* Row of a (port, TC) in the arrays `wred`, `ewma`, `ecn_stats`, `class_stats`, `mmu`, `pfc`, `pause`
 * and `watchdog`. */
#define LL_ROW(slot, tc) ((__u32)(slot) * LL_TCS + (__u32)(tc))
#define LL_ROWS (LL_MAX_PORTS * LL_TCS)

#define LL_WRED_ON 0x01u       /* thresholds are in force */
#define LL_WRED_LOSSLESS 0x02u /* lossless TC: Not-ECT is never dropped by WRED */
#define LL_WRED_EWMA 0x04u     /* decide on the average, not on the instantaneous depth */

/* Map `wred`: marking thresholds of one (port, TC). User space writes, the egress program reads. */
struct ll_wred {
	__u32 kmin;      /* bytes; at or below: nothing */
	__u32 kmax;      /* bytes; above: every packet */
	__u32 pmax;      /* probability at kmax, 2^32-1 = 1.0 */
	__u8 flags;      /* LL_WRED_* */
	__u8 ewma_shift; /* weight 2^-n, 1 .. 15 */
	__u16 reserved;
	__u32 idle_ns; /* time of one full-size packet at port rate; ages the average while idle; 0 = no
			  ageing */
};

/* Map `ewma`: the average of one (port, TC). The egress program owns it. */
struct ll_ewma {
	__u64 avg;     /* average depth in bytes, scaled by 2^16 */
	__u64 last_ns; /* time of the last packet, CLOCK_MONOTONIC */
};

/*
 * Map `ecn_stats`, per CPU, row per (port, TC); packets (segments of a GSO packet count one each).
 * selected == marked + dropped + already_ce + spared + failed
 */
struct ll_ecn_stats {
	__u64 seen[4];    /* by ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE */
	__u64 not_ip;     /* neither IPv4 nor IPv6: treated as Not-ECT */
	__u64 selected;   /* chosen by WRED */
	__u64 marked;     /* ECT(0) or ECT(1) turned into CE */
	__u64 dropped;    /* Not-ECT dropped (lossy TC) */
	__u64 already_ce; /* was CE before */
	__u64 spared;     /* Not-ECT passed because the TC is lossless */
	__u64 failed;     /* the mark could not be written; the packet passed unmarked */
	__u64 no_depth;   /* the leaf's depth could not be read: no decision was made */
};

/* Map `class_stats`, per CPU, row per (ingress port, TC). */
struct ll_class_stats {
	__u64 packets;
	__u64 bytes;
};

/* Bad input by kind, per port; the packet passes with the port's TC. */
enum ll_bad {
	LL_BAD_L2_SHORT = 0,   /* ends inside the Ethernet or VLAN header */
	LL_BAD_IP_SHORT = 1,   /* ends inside the IP header */
	LL_BAD_IP_VERSION = 2, /* version field disagrees with the EtherType */
	LL_BAD_IP_HLEN = 3,    /* IPv4 header length below 20 */
	LL_BAD_REMARK = 4,     /* DSCP could not be rewritten */
	LL_BAD_KINDS = 5,
};

/* Map `port_stats`, per CPU, row per port slot. */
struct ll_port_stats {
	__u64 bad[LL_BAD_KINDS];
	__u64 untrusted; /* nothing to trust in the packet: took the port's TC */
	__u64 remarked;  /* DSCP rewritten */
};

/*
 * The buffer model. What a packet takes is counted for the port it came in by (ingress view) from the moment
 * it is handed to a port's queue until it leaves that queue or is dropped there; the egress view is the depth
 * of the leaf itself.
 *
 * Map `mmu`, row per (port, TC). User space maps it into memory, so both sides change members by atomic
 * operations only. Every byte is either in `bytes` or in `headroom`, and the same amount is in the pools. The
 * first cache line has what every packet needs.
 */
struct ll_mmu {
	__u64 bytes;         /* held now, came in by this port: guaranteed and shared */
	__u64 headroom;      /* held now beside that: came in above xoff. Given back first */
	__u64 peak;          /* highest sum of both since the last clear */
	__u64 headroom_peak; /* highest `headroom` since the last clear */
	__u64 egress_peak;   /* highest depth of this port's own leaf since the last clear */
	__u64 xoff;          /* 1: the peer was told to stop */
	__u64 xoff_ns;       /* when it was told so last, CLOCK_MONOTONIC */
	__u64 over_limit;    /* packets that found no room in shared pool or headroom */
	__u64 dropped;       /* those of them that were dropped: in lossy TCs */
	__u64 tx_xoff;       /* PFC frames sent that stop this TC, refreshes included */
	__u64 tx_xon;        /* PFC frames sent that let it go on */
	__u64 reserved[5];
};

/* Map `pools`: what all rows of `mmu` together hold. Shared and changed as `mmu` is. */
enum ll_pool_id {
	LL_POOL_GUARANTEED = 0, /* of each row, up to its guarantee */
	LL_POOL_SHARED = 1,     /* what is above that */
	LL_POOL_HEADROOM = 2,
	LL_POOLS = 3,
};
struct ll_pool {
	__u64 size; /* 0: not limited (and then no alpha draws on it) */
	__u64 used;
	__u64 peak;       /* highest `used` since the last clear */
	__u64 over_limit; /* packets that found no room in it */
	__u64 reserved[4];
};

/* Dynamic thresholds: `alpha` n stands for 2^(n - LL_ALPHA_ONE) times what is free of the shared pool. */
#define LL_ALPHA_ONE 8u
#define LL_ALPHA_MIN 1u  /* 1/128 */
#define LL_ALPHA_MAX 11u /* 8 */
#define LL_ALPHA_MASK 15u

/*
 * Map `pfc`: thresholds of one (port, TC) in the buffer model. Those of PFC, but for `quantum_ps`, are zero
 * while it is off there. User space writes.
 */
struct ll_pfc {
	__u64 xoff;        /* bytes of the ingress view: above, the peer is stopped; with alpha 0 */
	__u64 xon_offset;  /* at this much below xoff it may go on */
	__u64 headroom;    /* more than this should never arrive above xoff */
	__u64 guaranteed;  /* of the ingress view, beside the shared pool */
	__u64 refresh_ns;  /* a packet above xoff repeats the frame when the last one is this old */
	__u64 quantum_ps;  /* what one quantum of pause lasts at the port's rate, picoseconds */
	__u16 quanta;      /* pause time in the frames */
	__u8 on;           /* 1: in force, both ways */
	__u8 lossless;     /* 1: never dropped for want of room in a pool */
	__u8 alpha;        /* 0: xoff is static */
	__u8 egress_alpha; /* limits the depth of a lossy leaf; 0: only its own limit does */
	__u8 mac[6];       /* of the port: source of its frames */
	__u8 reserved[4];
};

/*
 * Map `pause`, row per (port, TC): what the peer asks for, which the ingress program writes whether PFC is in
 * force or not, and what the daemon's thread has made of it. One cache line, in user space's memory too.
 */
struct ll_pause {
	/* The gate: the daemon's thread writes. */
	__u64 since_ns;    /* closed since; 0: open */
	__u64 paused_ns;   /* sum of the times it was closed, but for the present one */
	__u64 transitions; /* open -> closed */
	/* The peer: the ingress program writes. */
	__u64 until_ns;       /* the peer wants a pause until then; 0: it has let go */
	__u64 asked_since_ns; /* the pause that runs until `until_ns` began; 0: none yet, or let go */
	__u64 asked_ns;       /* sum of the pauses asked for that are over */
	__u64 last_ns;        /* when the last frame with a time came */
	__u64 rx_frames;      /* frames that named this TC */
};

/* Map `watchdog`, row per (port, TC): what the deadlock watchdog has in force. In user space's memory too. */
struct ll_watchdog {
	__u64 discard_until_ns; /* packets for this TC's queue are dropped until then; 0: they are not. The
				   daemon moves it on, so that nothing is dropped for long with nobody
				   watching */
	__u64 discarded;        /* packets dropped by it, those that waited in the queue included */
	__u64 emptied;          /* of them, those that waited: the kernel has them among the queue's drops */
	__u64 off; /* PFC is off: enum ll_pfc_off. Kept for the next daemon; the `pfc` row decides */
};
enum ll_pfc_off {
	LL_PFC_NOT_OFF = 0,
	LL_PFC_OFF_RECOVERING = 1,    /* for the recovery time */
	LL_PFC_OFF_TRIGGER_LIMIT = 2, /* until an operator recovers it */
	LL_PFC_OFF_MANUAL = 3,        /* the same */
};

/* What a MAC control frame is. */
enum ll_pfc_kind {
	LL_PFC_OK = 0,          /* PFC */
	LL_PFC_PAUSE = 1,       /* PAUSE of 802.3: all priorities */
	LL_PFC_BAD_SHORT = 2,   /* below 60 bytes */
	LL_PFC_BAD_ADDRESS = 3, /* not to 01-80-C2-00-00-01 */
	LL_PFC_BAD_OPCODE = 4,  /* another MAC control opcode */
	LL_PFC_BAD_VECTOR = 5,  /* reserved bits of the enable vector are set */
	LL_PFC_KINDS = 6,
	LL_PFC_NONE = 7, /* no MAC control frame */
};

/* Map `pfc_stats`, per CPU, row per port slot. */
struct ll_pfc_stats {
	__u64 rx[LL_PFC_KINDS]; /* MAC control frames by kind; all are taken out here, none is forwarded */
	__u64 lossy;            /* named a TC that is not lossless here (ignored for that TC) */
	__u64 no_carrier;       /* the frame could not be made in the kernel: the daemon sends it */
	__u64 no_event;         /* the daemon could not be told: its ring buffer is full */
};

/* Record in the ring buffer `pfc_events`. */
enum ll_pfc_event_kind {
	LL_EVENT_RX = 0,   /* a PFC or PAUSE frame came in, and a gate is not as it wants it */
	LL_EVENT_XOFF = 1, /* level above xoff; `sent` says whether the frame is out already */
	LL_EVENT_XON = 2,  /* level at or below xon: the peer has to be told */
};
struct ll_pfc_event {
	__u64 ns; /* CLOCK_MONOTONIC */
	__u32 slot;
	__u8 kind;    /* enum ll_pfc_event_kind */
	__u8 tc;      /* XOFF, XON */
	__u8 classes; /* RX: TCs whose gates are to be looked at */
	__u8 sent;    /* XOFF */
	__u32 cpu;    /* where it happened */
	__u32 reserved;
};

/*
 * Map `pfc_latency`, per CPU, one row: from the packet that crosses xoff to the frame's start on the wire.
 * Bins as ll_latency_bin() has them (stages/latency.h): one microsecond each at first, then 32 in each
 * doubling.
 */
#define LL_LATENCY_BINS 352u
struct ll_latency {
	__u64 bin[LL_LATENCY_BINS]; /* the last one has all that took longer */
};

/*
 * How a packet in a queue remembers what it was counted as, in the scheduler's part of skb->cb. The programs
 * write it on every packet that enters a managed port's queue.
 */
#define LL_CB_COOKIE 0 /* the instance's cookie, 0: not counted */
#define LL_CB_ROW 1    /* LL_ROW of its ingress port and TC */
#define LL_CB_BYTES 2  /* what it was counted as */

/*
 * iNOF. The zones of an address: map `zone_hosts`, key: the address, IPv4 as ::ffff:a.b.c.d. An address
 * without a row is no host of any zone. Up to LL_ZONE_LIST zones stand in the row; a host with more has
 * LL_ZONE_MANY there and all of them in a bitmap, map `zone_bits`, same key.
 */
#define LL_ZONES 16384u      /* zone numbers: 0 .. LL_ZONES-1 */
#define LL_ZONE_HOSTS 32768u /* rows */
#define LL_ZONE_LIST 8u
#define LL_ZONE_NONE 0xffffffffu
#define LL_ZONE_WORDS (LL_ZONES / 64u)
#define LL_ZONE_MANY 0x01u      /* the zones are in `zone_bits` */
#define LL_ZONE_INITIATOR 0x02u /* the host is an NVMe initiator */

struct ll_zone_key {
	union {
		__u8 byte[16];
		__u64 word[2];
	};
};
struct ll_zone_host {
	__u32 flags;
	__u32 zones[LL_ZONE_LIST]; /* those in use first, then LL_ZONE_NONE */
};
struct ll_zone_bits {
	__u64 word[LL_ZONE_WORDS]; /* zone z: bit z % 64 of word z / 64 */
};

/* Map `zone_allow`: the white list, longest prefix first. The prefix covers the whole slot and a part of the
 * address. */
#define LL_ALLOW_BITS (32u + 128u)
#define LL_ALLOW_ROWS 65536u
struct ll_allow_key {
	__u32 prefix; /* bits of what follows */
	__u32 slot;   /* of the port */
	struct ll_zone_key address;
};

/* Storage traffic dropped at ingress by reason. Map `zone_stats`, per CPU, row per port slot; packets. */
enum ll_zone_drop {
	LL_ZONE_DROP_ISOLATED = 0,   /* no zone in common */
	LL_ZONE_DROP_STRANGER = 1,   /* one end is a host of a zone, the other is unknown */
	LL_ZONE_DROP_INITIATORS = 2, /* both are initiators */
	LL_ZONE_DROP_DENIED = 3,     /* the source is not in the port's white list */
	LL_ZONE_DROPS = 4,
	LL_ZONE_PASS = 5,
};
struct ll_zone_stats {
	__u64 drop[LL_ZONE_DROPS];
};

/*
 * The application priority table (IEEE 802.1Q, D.2.11), for ports with LL_TRUST_APPLICATION. Map `apps`, key:
 * the table's number and LL_APP_KEY, value: the priority, of which the port's dot1p_tc makes a TC.
 */
enum ll_app_field {
	LL_APP_ETHERTYPE = 0,
	LL_APP_TCP = 1, /* destination port */
	LL_APP_UDP = 2,
	LL_APP_PORT = 3, /* of TCP or UDP */
};
#define LL_APPS 4096u                                  /* of all tables */
#define LL_APP_COMMON 0u                               /* the table of ports that have none of their own */
#define LL_APP_TABLE(slot) (((__u32)(slot) + 1) << 18) /* a port's own */
#define LL_APP_KEY(field, protocol) ((__u32)(field) << 16 | (__u32)(protocol))

/* Map `meta`, one row: whose maps these are. Read and written by user space alone. */
struct ll_meta {
	__u32 abi; /* LL_ABI_VERSION */
	__u32 reserved;
	__u64 netns;    /* inode number of the network namespace the instance lives in */
	char build[64]; /* version and build of the programs, NUL-terminated */
};

#define LL_SIZE_IS(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed its size")
#ifdef __cplusplus
#define _Static_assert static_assert
#endif
LL_SIZE_IS(ll_index, 8);
LL_SIZE_IS(ll_port, 148);
LL_SIZE_IS(ll_wred, 20);
LL_SIZE_IS(ll_ewma, 16);
LL_SIZE_IS(ll_ecn_stats, 96);
LL_SIZE_IS(ll_class_stats, 16);
LL_SIZE_IS(ll_port_stats, 56);
LL_SIZE_IS(ll_mmu, 128);
LL_SIZE_IS(ll_pool, 64);
LL_SIZE_IS(ll_pfc, 64);
LL_SIZE_IS(ll_pause, 64);
LL_SIZE_IS(ll_watchdog, 32);
LL_SIZE_IS(ll_pfc_stats, 72);
LL_SIZE_IS(ll_pfc_event, 24);
LL_SIZE_IS(ll_latency, 2816);
LL_SIZE_IS(ll_zone_key, 16);
LL_SIZE_IS(ll_zone_host, 36);
LL_SIZE_IS(ll_zone_bits, 2048);
LL_SIZE_IS(ll_allow_key, 24);
LL_SIZE_IS(ll_zone_stats, 32);
LL_SIZE_IS(ll_meta, 80);
#ifdef __cplusplus
#undef _Static_assert
#endif

#endif
