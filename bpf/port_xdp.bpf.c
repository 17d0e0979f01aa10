// SPDX-License-Identifier: GPL-2.0-only
/*
 * Native XDP, on NICs: what of ingress needs no sk_buff and gains by having none. MAC control frames end
 * here; so do a host's CNPs and what is malformed, before the RDMA stack sees them; RoCEv2 packets are
 * counted for their flows. Everything else, and the traffic class of all of it, is left to tcx ingress. The
 * parts are those of tcx.
 */
#include "kernel.h"
#include "maps.h"
#include "pause.h"
#include "roce_count.h"
#include "roce_read.h"
#include "dcqcn_take.h"
#include "xdp.h"

#define LL_SEE_TCX 1000u /* no enum ll_roce_kind: what this needs is not in reach here */

/* As ll_roce_look(). */
__noinline int ll_xdp_look(struct xdp_md *xdp, __u32 where, struct ll_roce_packet *p)
{
	const __u8 *data = (void *)(long)xdp->data, *end = (void *)(long)xdp->data_end;
	__u64 len = bpf_xdp_get_buff_len(xdp);
	const __u8 *syndrome;
	__u32 kind;

	if (!p)
		return LL_SEE_TCX;
	kind = (__u32)ll_roce_read_bytes(data, end, (__u32)len, where, &p->r, &p->key);
	if (kind != LL_ROCE_OK)
		return kind != LL_ROCE_OTHER && len > (__u64)(end - data) ? LL_SEE_TCX : (int)kind;
	p->bytes = (__u32)len - ((where & 0x1f) > LL_ETH_HLEN ? LL_VLAN_HLEN : 0);
	p->segments = 1;
	p->syndrome = 0;
	syndrome = data + (p->r.ext_at & 0x7f);
	if (ll_roce_is_response(p->r.opcode) && syndrome + 1 <= end)
		p->syndrome = *syndrome;
	return LL_ROCE_OK;
}

/* As ll_host_take_cnp(). */
__noinline int ll_xdp_take_cnp(struct xdp_md *xdp, __u32 slot, __u32 flags, __u32 where, __u32 bytes)
{
	__u32 version = (where >> 8 & 0xff) == 4 ? 4 : 6;
	struct ll_cnp_bytes cnp = {};

	if (bytes != (version == 4 ? LL_CNP4_LEN : LL_CNP6_LEN))
		return ll_host_bad(slot, LL_ROCE_EXT_SHORT);
	if (version == 4 ? bpf_xdp_load_bytes(xdp, where & 0x1f, cnp.ip, LL_CNP4_LEN)
			 : bpf_xdp_load_bytes(xdp, where & 0x1f, cnp.ip, LL_CNP6_LEN))
		return 0;
	return ll_host_end_cnp(&cnp, slot, flags, version);
}

/* As ll_host_hides(); what is behind the first part of a long frame is left to that. */
__noinline int ll_xdp_hides(struct xdp_md *xdp, __u32 slot, __u32 l3_off, __u32 version)
{
	__u8 next;

	if (bpf_xdp_load_bytes(xdp, l3_off + 6, &next, sizeof next) || !ll_host_may_hide(version, next))
		return 0;
	return ll_host_uncovers((void *)(long)xdp->data, (void *)(long)xdp->data_end, slot, l3_off, version);
}

/* As ll_host_ingress(), but for the notification point, which needs an sk_buff to make a CNP of: 1, it ends
 * here. */
static __always_inline int ll_xdp_host(struct xdp_md *xdp, __u32 where, __u32 kind,
				       const struct ll_roce_packet *p, const struct ll_port *port)
{
	__u32 version = where >> 8 & 0xff, l3_off = where & 0x1f, slot = port->slot;

	switch (ll_host_act_on((enum ll_roce_kind)kind, &p->r, port->host, version)) {
	case LL_HOST_TAKE_CNP:
		ll_xdp_take_cnp(xdp, slot, port->host, where, p->r.icrc_at + LL_ICRC_LEN - l3_off);
		return 1;
	case LL_HOST_LOOK_ON:
		return ll_xdp_hides(xdp, slot, l3_off, version);
	case LL_HOST_DROP:
		ll_host_bad(slot, kind);
		return 1;
	case LL_HOST_MARKED:
	case LL_HOST_PASS:
		break;
	}
	return 0;
}

/* Counts the packet for its flow where it can be told tcx. */
static __always_inline void ll_xdp_count(struct xdp_md *xdp, const struct ll_roce_packet *p, __u32 slot)
{
	struct ll_xdp_mark *mark;
	int todo;

	if (bpf_xdp_adjust_meta(xdp, -(int)sizeof *mark))
		return;
	todo = ll_roce_count(p, slot);
	mark = (void *)(long)xdp->data_meta;
	if ((void *)(mark + 1) > (void *)(long)xdp->data)
		return;
	mark->cookie = ll_cookie;
	mark->ifindex = xdp->ingress_ifindex;
	mark->todo = (__u32)todo;
	mark->reserved = 0;
}

SEC("xdp.frags")
int ll_port_xdp(struct xdp_md *xdp)
{
	const __u8 *data = (void *)(long)xdp->data, *end = (void *)(long)xdp->data_end;
	struct ll_port *port = ll_find_port(xdp->ingress_ifindex);
	struct ll_roce_packet roce; /* for kind LL_ROCE_OK */
	struct ll_headers h;
	__u32 where, kind;
	int follows;

	if (!port || data + LL_ETH_HLEN > end)
		return XDP_PASS;
	if (LL_UNLIKELY(ll_get16(data + 12) == LL_ETH_MAC_CONTROL)) {
		ll_take_pause(data, end, port->slot);
		return XDP_DROP;
	}
	ll_parse(data, end, &h);
	follows = ll_roce_on();
	/* What the zones keep out is counted for no flow, and they are tcx's. */
	if (!h.ip || port->guard || !(follows || port->host))
		return XDP_PASS;
	where = LL_ROCE_WHERE(&h);
	kind = (__u32)ll_xdp_look(xdp, where, &roce);
	if (kind == LL_SEE_TCX)
		return XDP_PASS;
	if (port->host && ll_xdp_host(xdp, where, kind, &roce, port))
		return XDP_DROP;
	if (follows && kind == LL_ROCE_OK)
		ll_xdp_count(xdp, &roce, port->slot);
	return XDP_PASS;
}
