// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcx ingress: priority trust. Sets skb->priority to the class of the packet's TC, so that the queue, PFC,
 * ECN and statistics agree on it; rewrites the DSCP where the port's dscp->dscp table says so. MAC control
 * frames end here: they are for this port and are never forwarded. So does storage traffic between hosts that
 * may not talk to one another.
 */
#include "kernel.h"
#include "maps.h"
#include "skb.h"
#include "pause.h"
#include "zone.h"
#include "lldp.h"
#include "application.h"
#include "roce.h"
#include "dcqcn_ingress.h"
#include "ecn_overlay_ingress.h"
#include "xdp.h"
#include "stages/classify.h"

/* A MAC control frame. */
__noinline int ll_take_control(struct __sk_buff *skb, __u32 slot)
{
	if (skb->data_end - skb->data < LL_PFC_FRAME_LEN && skb->len >= LL_PFC_FRAME_LEN)
		bpf_skb_pull_data(skb, LL_PFC_FRAME_LEN);
	ll_take_pause((void *)(long)skb->data, (void *)(long)skb->data_end, slot);
	return 0;
}

static __always_inline void remark(struct __sk_buff *skb, const struct ll_port *port,
				   const struct ll_headers *h, struct ll_port_stats *stats)
{
	__u8 dscp = port->dscp_new[h->tos >> 2];

	if (dscp == h->tos >> 2)
		return;
	if (ll_write_tos(skb, h, (__u8)(dscp << 2) | (h->tos & LL_ECN_MASK)))
		stats->bad[LL_BAD_REMARK]++;
	else
		stats->remarked++;
}

SEC("tcx/ingress")
int ll_classify_ingress(struct __sk_buff *skb)
{
	struct ll_port *port = ll_find_port(skb->ifindex);
	struct ll_port_stats *stats;
	struct ll_class_stats *class;
	struct ll_roce_packet roce; /* for kind LL_ROCE_OK */
	struct ll_headers h;
	struct ll_class c;
	__u32 key, where, kind;
	int follows = 0, counted = -1;

	if (!port)
		return LL_TCX_NEXT;
	if (LL_UNLIKELY(skb->protocol == bpf_htons(LL_ETH_MAC_CONTROL))) {
		ll_take_control(skb, port->slot);
		return LL_TCX_DROP;
	}
	if (LL_UNLIKELY(skb->protocol == bpf_htons(LL_ETH_LLDP)))
		ll_keep_lldp(skb);
	ll_parse_skb(skb, &h);
	if (LL_UNLIKELY(port->guard) && h.ip && ll_zone_guard(skb, port->slot, port->guard, h.l3_off, h.ip))
		return LL_TCX_DROP;
	where = LL_ROCE_WHERE(&h);
	kind = LL_ROCE_OTHER;
	if (h.ip && !ll_roce_is_other((void *)(long)skb->data, (void *)(long)skb->data_end, &h)) {
		follows = ll_roce_on();
		if (follows)
			counted = ll_xdp_counted(skb);
		if ((follows && counted) || port->host)
			kind = (__u32)ll_roce_look(skb, where, &roce);
	}
	if (LL_UNLIKELY(port->host) && h.ip && ll_host_ingress(skb, where, kind, &roce, port))
		return LL_TCX_DROP;
	if (LL_UNLIKELY(port->overlay) && h.ip && ll_overlay_ingress(skb, port->slot, h.l3_off, h.ip, h.tos))
		return LL_TCX_DROP;
	c = ll_classify_packet(skb, port, &h);
	skb->priority = LL_PRIORITY(c.tc);
	skb->tc_index = LL_TC_INDEX(c.tc);

	key = LL_ROW(port->slot, c.tc);
	class = bpf_map_lookup_elem(&class_stats, &key);
	if (class) {
		class->packets += ll_segments(skb);
		class->bytes += skb->len;
	}
	if (follows && counted < 0)
		ll_roce_enter(skb, where, &roce, kind, port->slot, c.tc);
	else if (follows && kind == LL_ROCE_OK)
		ll_roce_finish(skb, &roce, port->slot, c.tc, counted);
	if (LL_LIKELY(!c.untrusted && h.bad == LL_BAD_NONE && !port->remark))
		return LL_TCX_NEXT;

	key = port->slot;
	stats = bpf_map_lookup_elem(&port_stats, &key);
	if (!stats)
		return LL_TCX_NEXT;
	stats->untrusted += c.untrusted;
	if (h.bad < LL_BAD_KINDS)
		stats->bad[h.bad]++;
	if (port->remark && port->trust == LL_TRUST_DSCP && h.ip)
		remark(skb, port, &h, stats);
	return LL_TCX_NEXT;
}
