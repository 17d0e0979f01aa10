/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A whole CNP as an Ethernet frame (InfiniBand Architecture Specification vol. 1, A17.9.3), with its ICRC.
 * What makes one on the packet path fills in a struct ll_cnp and stores the bytes of ll_cnp_build() in a
 * clone of the data packet. Pure; for BPF and user space.
 */
#ifndef LOSSLESS_STAGES_CNP_H
#define LOSSLESS_STAGES_CNP_H

#include "icrc.h"
#include "roce.h"

#define LL_CNP4_FRAME (LL_ETH_HLEN + LL_CNP4_LEN) /* 74 bytes without FCS and tag */
#define LL_CNP6_FRAME (LL_ETH_HLEN + LL_CNP6_LEN) /* 94 */
#define LL_CNP_FRAME_MAX LL_CNP6_FRAME

/* Addresses in wire order; those of IPv4 are in the first four bytes. */
struct ll_cnp {
	__u8 eth_src[6]; /* as the notification point would send it: the data packet's, exchanged */
	__u8 eth_dst[6];
	__u8 src[16];  /* notification point: where the data packet goes to */
	__u8 dst[16];  /* reaction point: where it comes from */
	__u32 dest_qp; /* the sender's QP, which the data packet does not carry */
	__u16 sport;   /* UDP source port; that of the data packet keeps the CNP on the flow's way */
	__u16 id;      /* IPv4 identification */
	__u8 ip;       /* 4, 6 */
	__u8 tos;      /* DSCP in the upper six bits; Not-ECT */
	__u8 reserved[2];
};

/* Bytes of the frame: LL_CNP4_FRAME or LL_CNP6_FRAME. */
ll_inline __u32 ll_cnp_len(const struct ll_cnp *c)
{
	return c->ip == 4 ? LL_CNP4_FRAME : LL_CNP6_FRAME;
}

/* Writes the frame; `frame` has room for LL_CNP_FRAME_MAX bytes, those beyond ll_cnp_len() stay. */
ll_inline void ll_cnp_build(__u8 *frame, const struct ll_cnp *c)
{
	__u8 *ip = frame + LL_ETH_HLEN;

	for (int i = 0; i < 6; i++) {
		frame[i] = c->eth_dst[i];
		frame[6 + i] = c->eth_src[i];
	}
	ll_put16(frame + 12, c->ip == 4 ? 0x0800u : 0x86ddu);
	if (c->ip == 4) {
		ll_put_cnp4(ip, c->src, c->dst, c->tos, c->id, c->sport, c->dest_qp);
		ll_icrc_put(ip + LL_CNP4_LEN - LL_ICRC_LEN, ll_icrc_small4(ip, 16));
	} else {
		ll_put_cnp6(ip, c->src, c->dst, c->tos, c->sport, c->dest_qp);
		ll_icrc_put(ip + LL_CNP6_LEN - LL_ICRC_LEN, ll_icrc_small6(ip, 16));
	}
}

#endif
