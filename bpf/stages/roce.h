/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * RoCEv2: layouts, a bounds-checked parser and writers. InfiniBand Architecture Specification vol. 1:
 * chapter 9 (BTH, RETH, AETH), chapter 12 (communication management), annex A17 (RoCEv2), and the CNP
 * (A17.9.3). Pure; for BPF programs (packet pointers) and user space.
 *
 * Every layout is bytes only, in network byte order, so that it may lie anywhere in a packet.
 */
#ifndef LOSSLESS_STAGES_ROCE_H
#define LOSSLESS_STAGES_ROCE_H

#include "parse.h"

#define LL_ROCE_PORT 4791u
#define LL_PSN_MASK 0xffffffu

/* BTH opcodes: the upper 3 bits name the transport (0 RC, 1 UC, 3 UD, 4 CNP), the lower 5 the operation. */
enum ll_roce_opcode {
	LL_OP_SEND_FIRST = 0x00,
	LL_OP_SEND_MIDDLE = 0x01,
	LL_OP_SEND_LAST = 0x02,
	LL_OP_SEND_LAST_IMM = 0x03,
	LL_OP_SEND_ONLY = 0x04,
	LL_OP_SEND_ONLY_IMM = 0x05,
	LL_OP_WRITE_FIRST = 0x06,
	LL_OP_WRITE_MIDDLE = 0x07,
	LL_OP_WRITE_LAST = 0x08,
	LL_OP_WRITE_LAST_IMM = 0x09,
	LL_OP_WRITE_ONLY = 0x0a,
	LL_OP_WRITE_ONLY_IMM = 0x0b,
	LL_OP_READ_REQUEST = 0x0c,
	LL_OP_READ_FIRST = 0x0d,
	LL_OP_READ_MIDDLE = 0x0e,
	LL_OP_READ_LAST = 0x0f,
	LL_OP_READ_ONLY = 0x10,
	LL_OP_ACK = 0x11,
	LL_OP_ATOMIC_ACK = 0x12,
	LL_OP_COMPARE_SWAP = 0x13,
	LL_OP_FETCH_ADD = 0x14,
	LL_OP_SEND_LAST_INV = 0x16,
	LL_OP_SEND_ONLY_INV = 0x17,
	LL_OP_UD_SEND_ONLY = 0x64,
	LL_OP_UD_SEND_ONLY_IMM = 0x65,
	LL_OP_CNP = 0x81,
};

/* Base transport header. */
struct ll_bth {
	__u8 opcode;
	__u8 flags; /* solicited event 0x80, MigReq 0x40, pad count 0x30, TVer 0x0f (0) */
	__u8 pkey[2];
	__u8 congestion; /* FECN 0x80, BECN 0x40, reserved */
	__u8 dest_qp[3];
	__u8 ack_request; /* 0x80, reserved */
	__u8 psn[3];
};

/* RDMA extended transport header: where a WRITE goes. */
struct ll_reth {
	__u8 va[8];
	__u8 rkey[4];
	__u8 length[4]; /* bytes of the whole message */
};

/* ACK extended transport header. */
struct ll_aeth {
	__u8 syndrome; /* enum ll_syndrome */
	__u8 msn[3];   /* messages completed by the responder */
};

enum ll_syndrome {
	LL_ACK_NO_CREDIT = 0x1f, /* ACK, end-to-end credits not used */
	LL_NAK_SEQUENCE = 0x60,  /* PSN sequence error: the PSN of the ACK is the one expected */
	LL_NAK_INVALID = 0x61,   /* invalid request */
};

/* Datagram extended transport header. */
struct ll_deth {
	__u8 qkey[4];
	__u8 reserved;
	__u8 source_qp[3];
};

/* Header of a management datagram (section 13.4.3). */
struct ll_mad {
	__u8 base_version;
	__u8 mgmt_class; /* 0x07: communication management */
	__u8 class_version;
	__u8 method;
	__u8 status[2];
	__u8 class_specific[2];
	__u8 transaction[8];
	__u8 attribute[2]; /* enum ll_cm_attribute */
	__u8 reserved[2];
	__u8 modifier[4];
};

#define LL_MAD_LEN 256u
#define LL_MAD_CM_CLASS 0x07u

enum ll_cm_attribute {
	LL_CM_REQ = 0x0010,
	LL_CM_REP = 0x0013,
	LL_CM_RTU = 0x0014,
	LL_CM_DREQ = 0x0015,
	LL_CM_DREP = 0x0016,
};

/* Offsets of CM fields from the start of the MAD; ID fields are common to all messages. */
#define LL_CM_LOCAL_ID 24u
#define LL_CM_REMOTE_ID 28u   /* REP, RTU, DREQ, DREP */
#define LL_CM_REQ_SERVICE 32u /* 8 bytes */
#define LL_CM_REQ_QPN 56u     /* 3 bytes */
#define LL_CM_REQ_PSN 68u     /* 3 bytes */
#define LL_CM_REP_QPN 36u
#define LL_CM_REP_PSN 44u
#define LL_CM_DREQ_QPN 32u

/* What a packet is, or what is wrong with it. */
enum ll_roce_kind {
	LL_ROCE_OK = 0,
	LL_ROCE_OTHER,       /* not RoCEv2: another EtherType, protocol or port */
	LL_ROCE_L2_SHORT,    /* ends inside the Ethernet or a VLAN header */
	LL_ROCE_IP_SHORT,    /* ends inside the IP header */
	LL_ROCE_IP_VERSION,  /* version field disagrees with the EtherType */
	LL_ROCE_IP_OPTIONS,  /* IPv4 header length is not 20 (A17.4.1 demands 5 words) */
	LL_ROCE_IP_FRAGMENT, /* an IPv4 fragment */
	LL_ROCE_IP_LENGTH,   /* IP length beyond the frame or below the headers */
	LL_ROCE_IP_CHECKSUM, /* IPv4 header checksum wrong */
	LL_ROCE_UDP_SHORT,   /* ends inside the UDP header */
	LL_ROCE_UDP_LENGTH,  /* UDP length disagrees with the IP length */
	LL_ROCE_BTH_SHORT,   /* ends inside the BTH, or no room for the ICRC */
	LL_ROCE_BTH_VERSION, /* TVer is not 0 */
	LL_ROCE_OPCODE,      /* opcode not known */
	LL_ROCE_EXT_SHORT,   /* ends inside an extended header */
	LL_ROCE_PAD,         /* pad count above the payload, or payload and pad no multiple of 4 */
	LL_ROCE_ICRC,        /* ICRC wrong; not found by the parser but by who checks the ICRC */
	LL_ROCE_KINDS,
};

#ifndef __bpf__
/* "udp_length" for LL_ROCE_UDP_LENGTH. */
ll_inline const char *ll_roce_kind_name(enum ll_roce_kind kind)
{
	static const char *const names[LL_ROCE_KINDS] = {
		"ok",          "other",     "l2_short",    "ip_short",  "ip_version", "ip_options",
		"ip_fragment", "ip_length", "ip_checksum", "udp_short", "udp_length", "bth_short",
		"bth_version", "opcode",    "ext_short",   "pad",       "icrc"};

	return kind < LL_ROCE_KINDS ? names[kind] : "unknown";
}
#endif

/* A parsed packet. Offsets are bytes from the start of the frame. */
struct ll_roce {
	__u16 ip_at;
	__u16 bth_at;
	__u16 ext_at; /* extended headers, right after the BTH */
	__u16 payload_at;
	__u16 payload_len; /* without pad and ICRC */
	__u16 icrc_at;
	__u16 udp_sport;
	__u8 pcp;        /* of the outermost tag, LL_PCP_NONE without one */
	__u8 ip_version; /* 4, 6 */
	__u8 tos;        /* ToS or traffic class: DSCP in the upper 6 bits, ECN in the lower 2 */
	__u8 opcode;
	__u8 flags;       /* as in the BTH */
	__u8 congestion;  /* as in the BTH */
	__u8 ack_request; /* 0, 1 */
	__u32 dest_qp;
	__u32 psn;
};

ll_inline __u32 ll_get24(const __u8 *at)
{
	return (__u32)at[0] << 16 | (__u32)at[1] << 8 | at[2];
}

ll_inline __u32 ll_get32(const __u8 *at)
{
	return (__u32)ll_get16(at) << 16 | ll_get16(at + 2);
}

ll_inline void ll_put16(__u8 *at, __u32 value)
{
	at[0] = (__u8)(value >> 8);
	at[1] = (__u8)value;
}

ll_inline void ll_put24(__u8 *at, __u32 value)
{
	at[0] = (__u8)(value >> 16);
	ll_put16(at + 1, value);
}

ll_inline void ll_put32(__u8 *at, __u32 value)
{
	ll_put16(at, value >> 16);
	ll_put16(at + 2, value);
}

/* Bytes of extended headers after the BTH; -1 for an opcode that is not known. */
ll_inline int ll_roce_ext_len(__u8 opcode)
{
	/* UC has the SENDs and WRITEs of RC, with the same headers. */
	if ((opcode & 0xe0u) == 0x20u && (opcode & 0x1fu) <= LL_OP_WRITE_ONLY_IMM)
		opcode &= 0x1fu;
	switch (opcode) {
	case LL_OP_SEND_FIRST:
	case LL_OP_SEND_MIDDLE:
	case LL_OP_SEND_LAST:
	case LL_OP_SEND_ONLY:
	case LL_OP_WRITE_MIDDLE:
	case LL_OP_WRITE_LAST:
	case LL_OP_READ_MIDDLE:
		return 0;
	case LL_OP_SEND_LAST_IMM:
	case LL_OP_SEND_ONLY_IMM:
	case LL_OP_WRITE_LAST_IMM:
	case LL_OP_SEND_LAST_INV:
	case LL_OP_SEND_ONLY_INV:
	case LL_OP_READ_FIRST:
	case LL_OP_READ_LAST:
	case LL_OP_READ_ONLY:
	case LL_OP_ACK:
		return 4;
	case LL_OP_UD_SEND_ONLY:
		return 8;
	case LL_OP_ATOMIC_ACK:
	case LL_OP_UD_SEND_ONLY_IMM:
		return 12;
	case LL_OP_WRITE_FIRST:
	case LL_OP_WRITE_ONLY:
	case LL_OP_READ_REQUEST:
	case LL_OP_CNP: /* 16 reserved bytes */
		return 16;
	case LL_OP_WRITE_ONLY_IMM:
		return 20;
	case LL_OP_COMPARE_SWAP:
	case LL_OP_FETCH_ADD:
		return 28;
	default:
		return -1;
	}
}

/* Ones' complement sum over an IPv4 header of 20 bytes: 0xffff if its checksum is right. */
ll_inline __u32 ll_ip4_sum(const __u8 *ip)
{
	__u32 sum = 0;

	for (__u32 i = 0; i < 20; i += 2)
		sum += ll_get16(ip + i);
	sum = (sum & 0xffffu) + (sum >> 16);
	return (sum & 0xffffu) + (sum >> 16);
}

/* The parser's steps, in the order of the headers. Each checks what it reads and returns a kind. */
ll_inline enum ll_roce_kind ll_roce_ip4_(const __u8 *p, __u32 left, __u32 *l4_len)
{
	const __u32 total = ll_get16(p + 2);

	if (p[9] != LL_PROTO_UDP)
		return LL_ROCE_OTHER;
	if ((p[0] & 0x0f) != 5)
		return LL_ROCE_IP_OPTIONS;
	if (ll_get16(p + 6) & 0x3fffu) /* more fragments, fragment offset */
		return LL_ROCE_IP_FRAGMENT;
	if (total < LL_IPV4_HLEN || total > left)
		return LL_ROCE_IP_LENGTH;
	if (ll_ip4_sum(p) != 0xffffu)
		return LL_ROCE_IP_CHECKSUM;
	*l4_len = total - LL_IPV4_HLEN;
	return LL_ROCE_OK;
}

ll_inline enum ll_roce_kind ll_roce_ip6_(const __u8 *p, __u32 left, __u32 *l4_len)
{
	const __u32 payload = ll_get16(p + 4);

	if (p[6] != LL_PROTO_UDP)
		return LL_ROCE_OTHER;
	if (payload + LL_IPV6_HLEN > left)
		return LL_ROCE_IP_LENGTH;
	*l4_len = payload;
	return LL_ROCE_OK;
}

ll_inline enum ll_roce_kind ll_roce_l2_(const void *data, const void *data_end, struct ll_roce *r)
{
	struct ll_headers h;

	ll_parse(data, data_end, &h);
	r->ip_at = h.l3_off;
	r->pcp = h.pcp;
	r->ip_version = h.ip;
	r->tos = h.tos;
	switch (h.bad) {
	case LL_BAD_NONE:
		return h.ip ? LL_ROCE_OK : LL_ROCE_OTHER;
	case LL_BAD_L2_SHORT:
		return LL_ROCE_L2_SHORT;
	case LL_BAD_IP_SHORT:
		return LL_ROCE_IP_SHORT;
	case LL_BAD_IP_VERSION:
		return LL_ROCE_IP_VERSION;
	default:
		return LL_ROCE_IP_OPTIONS; /* header length below 20 */
	}
}

ll_inline enum ll_roce_kind ll_roce_bth_(const __u8 *p, const __u8 *end, __u32 udp_len, struct ll_roce *r)
{
	int ext;
	__u32 body, pad;

	if (p + sizeof(struct ll_bth) > end || udp_len < 8 + sizeof(struct ll_bth) + 4)
		return LL_ROCE_BTH_SHORT;
	r->opcode = p[0];
	r->flags = p[1];
	r->congestion = p[4];
	r->dest_qp = ll_get24(p + 5);
	r->ack_request = p[8] >> 7;
	r->psn = ll_get24(p + 9);
	if (r->flags & 0x0f)
		return LL_ROCE_BTH_VERSION;
	ext = ll_roce_ext_len(r->opcode);
	if (ext < 0)
		return LL_ROCE_OPCODE;
	body = udp_len - 8 - (__u32)sizeof(struct ll_bth) - 4;
	if (body < (__u32)ext)
		return LL_ROCE_EXT_SHORT;
	body -= (__u32)ext;
	pad = r->flags >> 4 & 3;
	if (pad > body || body % 4)
		return LL_ROCE_PAD;
	r->ext_at = (__u16)(r->bth_at + sizeof(struct ll_bth));
	r->payload_at = (__u16)(r->ext_at + ext);
	r->payload_len = (__u16)(body - pad);
	r->icrc_at = (__u16)(r->payload_at + body);
	return LL_ROCE_OK;
}

/*
 * Parses from the IP header on. [ip, end) is what may be read; left is the length of the frame from the IP
 * header on, of which the tail need not be readable. r->ip_at and r->ip_version (4 or 6, as the EtherType
 * says) are set by the caller.
 */
ll_inline enum ll_roce_kind ll_roce_parse_ip(const __u8 *ip, const __u8 *end, __u32 left, struct ll_roce *r)
{
	const __u32 ip_len = r->ip_version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN;
	const __u8 *p = ip;
	enum ll_roce_kind kind;
	__u32 l4_len = 0;

	if (p + ip_len > end || left < ip_len)
		return LL_ROCE_IP_SHORT;
	kind = r->ip_version == 4 ? ll_roce_ip4_(p, left, &l4_len) : ll_roce_ip6_(p, left, &l4_len);
	if (kind != LL_ROCE_OK)
		return kind;
	p += ip_len;
	if (p + 8 > end || l4_len < 8)
		return LL_ROCE_UDP_SHORT;
	if (ll_get16(p + 2) != LL_ROCE_PORT)
		return LL_ROCE_OTHER;
	r->udp_sport = ll_get16(p);
	if (ll_get16(p + 4) != l4_len)
		return LL_ROCE_UDP_LENGTH;
	r->bth_at = (__u16)(r->ip_at + ip_len + 8);
	return ll_roce_bth_(p + 8, end, l4_len, r);
}

/*
 * 1: the frame, of which [data, end) may be read and ll_parse() found `h`, has nothing to do with RoCEv2: it
 * is not UDP, or goes to another port, in one piece. Looks only at plain headers; for all others 0.
 */
ll_inline int ll_roce_is_other(const void *data, const void *end, const struct ll_headers *h)
{
	const __u8 *ip = (const __u8 *)data + LL_ETH_HLEN;
	const __u8 *udp = ip + (h->ip == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN);

	if (!h->ip || h->l3_off != LL_ETH_HLEN || ip + LL_IPV6_HLEN + 4 > (const __u8 *)end)
		return 0;
	if (ip[h->ip == 4 ? 9 : 6] != LL_PROTO_UDP)
		return 1;
	if (h->ip == 4 && (ip[0] != 0x45 || ll_get16(ip + 6) & 0x3fffu))
		return 0;
	return ll_get16(udp + 2) != LL_ROCE_PORT;
}

/*
 * Parses an Ethernet frame with up to two 802.1Q/802.1ad tags. [data, data_end) is what may be read and
 * holds at least the headers up to the BTH; frame_len is the length of the whole frame without FCS, of
 * which the tail need not be readable. Checks lengths and the IPv4 checksum, not the ICRC. *r is valid
 * for LL_ROCE_OK; tos and ip_version are valid, too, when what is wrong comes after the IP header.
 */
ll_inline enum ll_roce_kind ll_roce_parse(const void *data, const void *data_end, __u32 frame_len,
					  struct ll_roce *r)
{
	const __u8 *end = (const __u8 *)data_end;
	struct ll_roce zero = {};
	enum ll_roce_kind kind;

	*r = zero;
	kind = ll_roce_l2_(data, data_end, r);
	if (kind != LL_ROCE_OK)
		return kind;
	if (frame_len < r->ip_at)
		return LL_ROCE_IP_SHORT;
	return ll_roce_parse_ip((const __u8 *)data + r->ip_at, end, frame_len - r->ip_at, r);
}

/* UDP source port of a QP pair with flow label 0, as rxe, mlx5 and irdma choose it. */
ll_inline __u16 ll_roce_sport(__u32 local_qpn, __u32 remote_qpn)
{
	__u64 v = (__u64)local_qpn * remote_qpn;
	__u32 label;

	v ^= v >> 20;
	v ^= v >> 40;
	label = (__u32)v & 0xfffffu;
	return (__u16)(((label & 0x3fffu) ^ (label >> 14)) | 0xc000u);
}

/* Writes an IPv4 header of 20 bytes: don't fragment, TTL 64, UDP; addresses are 4 bytes in wire order. */
ll_inline void ll_put_ip4(__u8 *at, const __u8 *src, const __u8 *dst, __u8 tos, __u16 id, __u32 total)
{
	at[0] = 0x45;
	at[1] = tos;
	ll_put16(at + 2, total);
	ll_put16(at + 4, id);
	ll_put16(at + 6, 0x4000u);
	at[8] = 64;
	at[9] = 17;
	ll_put16(at + 10, 0);
	for (int i = 0; i < 4; i++) {
		at[12 + i] = src[i];
		at[16 + i] = dst[i];
	}
	ll_put16(at + 10, ~ll_ip4_sum(at) & 0xffffu);
}

/* Writes an IPv6 header of 40 bytes: hop limit 64, UDP; addresses are 16 bytes in wire order. */
ll_inline void ll_put_ip6(__u8 *at, const __u8 *src, const __u8 *dst, __u8 tclass, __u32 label, __u32 payload)
{
	ll_put32(at, 6u << 28 | (__u32)tclass << 20 | (label & 0xfffffu));
	ll_put16(at + 4, payload);
	at[6] = 17;
	at[7] = 64;
	for (int i = 0; i < 16; i++) {
		at[8 + i] = src[i];
		at[24 + i] = dst[i];
	}
}

/* Writes a UDP header of 8 bytes with checksum 0 (the ICRC protects the packet; A17.4.1). */
ll_inline void ll_put_udp(__u8 *at, __u16 sport, __u32 len)
{
	ll_put16(at, sport);
	ll_put16(at + 2, LL_ROCE_PORT);
	ll_put16(at + 4, len);
	ll_put16(at + 6, 0);
}

/* Writes a BTH of 12 bytes with the default P_Key; pad 0 .. 3 bytes. */
ll_inline void ll_put_bth(__u8 *at, __u8 opcode, __u32 pad, __u32 dest_qp, int ack_request, __u32 psn)
{
	at[0] = opcode;
	at[1] = (__u8)(pad << 4);
	ll_put16(at + 2, 0xffffu);
	at[4] = 0;
	ll_put24(at + 5, dest_qp);
	at[8] = ack_request ? 0x80 : 0;
	ll_put24(at + 9, psn);
}

#define LL_CNP_UDP_LEN 40u                 /* UDP 8, BTH 12, 16 reserved, ICRC 4 */
#define LL_CNP4_LEN (20u + LL_CNP_UDP_LEN) /* a whole CNP without Ethernet header */
#define LL_CNP6_LEN (40u + LL_CNP_UDP_LEN)

/* UDP and everything after it of a CNP for dest_qp, without the ICRC. */
ll_inline void ll_cnp_body_(__u8 *udp, __u16 sport, __u32 dest_qp)
{
	ll_put_udp(udp, sport, LL_CNP_UDP_LEN);
	ll_put_bth(udp + 8, LL_OP_CNP, 0, dest_qp, 0, 0);
	udp[8 + 4] = 0x40; /* BECN */
	for (int i = 0; i < 16; i++)
		udp[20 + i] = 0;
}

/*
 * Writes a CNP over IPv4 from the IP header up to where the ICRC goes: LL_CNP4_LEN - 4 bytes. src is the
 * notification point (the receiver of the marked packet), dest_qp the sender's QP; tos e.g. DSCP 48.
 * The caller appends ll_icrc_small4(at, 16).
 */
ll_inline void ll_put_cnp4(__u8 *at, const __u8 *src, const __u8 *dst, __u8 tos, __u16 id, __u16 sport,
			   __u32 dest_qp)
{
	ll_put_ip4(at, src, dst, tos, id, LL_CNP4_LEN);
	ll_cnp_body_(at + 20, sport, dest_qp);
}

/* The same over IPv6: LL_CNP6_LEN - 4 bytes; the caller appends ll_icrc_small6(at, 16). */
ll_inline void ll_put_cnp6(__u8 *at, const __u8 *src, const __u8 *dst, __u8 tclass, __u16 sport,
			   __u32 dest_qp)
{
	ll_put_ip6(at, src, dst, tclass, 0, LL_CNP_UDP_LEN);
	ll_cnp_body_(at + 40, sport, dest_qp);
}

/* What a communication management message says; fields that its attribute lacks are 0. */
struct ll_cm {
	__u16 attribute; /* enum ll_cm_attribute, or another the caller may ignore */
	__u16 reserved;
	__u32 local_id;
	__u32 remote_id;
	__u32 qpn;     /* REQ, REP: the sender's QP; DREQ: the receiver's QP */
	__u32 psn;     /* REQ, REP: first PSN the sender of the message will use */
	__u32 service; /* REQ: low 32 bits of the service ID */
};

/* Reads a CM message; mad points at the MAD. 0 if it is none or shorter than the fields it needs. */
ll_inline int ll_cm_parse(const void *mad, const void *data_end, struct ll_cm *cm)
{
	const __u8 *p = (const __u8 *)mad, *end = (const __u8 *)data_end;
	struct ll_cm zero = {};

	*cm = zero;
	if (p + 72 > end || p[1] != LL_MAD_CM_CLASS)
		return 0;
	cm->attribute = ll_get16(p + 16);
	cm->local_id = ll_get32(p + LL_CM_LOCAL_ID);
	if (cm->attribute == LL_CM_REQ) {
		cm->service = ll_get32(p + LL_CM_REQ_SERVICE + 4);
		cm->qpn = ll_get24(p + LL_CM_REQ_QPN);
		cm->psn = ll_get24(p + LL_CM_REQ_PSN);
		return 1;
	}
	cm->remote_id = ll_get32(p + LL_CM_REMOTE_ID);
	if (cm->attribute == LL_CM_REP) {
		cm->qpn = ll_get24(p + LL_CM_REP_QPN);
		cm->psn = ll_get24(p + LL_CM_REP_PSN);
	} else if (cm->attribute == LL_CM_DREQ) {
		cm->qpn = ll_get24(p + LL_CM_DREQ_QPN);
	}
	return 1;
}

#endif
