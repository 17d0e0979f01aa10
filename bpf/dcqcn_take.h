/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DCQCN on a host, whichever ingress hook saw the packet: what becomes of CNPs, and of what is malformed. See
 * docs/dcqcn.md. Weak functions: several objects have them, and one copy is linked.
 */
#ifndef LOSSLESS_DCQCN_TAKE_H
#define LOSSLESS_DCQCN_TAKE_H

#include "dcqcn.h"
#include "stages/icrc.h"

/* A CNP from its IP header on; one over IPv4 is LL_CNP4_LEN bytes of it. */
struct ll_cnp_bytes {
	__u8 ip[LL_CNP6_LEN];
};

static __always_inline void ll_host_tell(__u32 slot, __u32 qpn)
{
	struct ll_host_event event = {.slot = slot, .qpn = qpn};

	/* Full: the daemon is awake, and looks at all QPs. */
	bpf_ringbuf_output(&host_events, &event, sizeof event, 0);
}

static __always_inline struct ll_host_qp *ll_host_find_qp(__u32 slot, __u32 qpn)
{
	struct ll_host_qp_key key = {.slot = slot, .qpn = qpn};
	struct ll_host_qp *qp = bpf_map_lookup_elem(&host_qps, &key);

	if (!qp)
		ll_host_tell(slot, qpn);
	return qp;
}

/* The flow of a QP, with a new entry where there is none. */
static __always_inline struct ll_rp_flow *ll_rp_find(const struct ll_rp_key *key, const struct ll_host *host,
						     __u32 qpn, __u64 now)
{
	struct ll_rp_flow *f = bpf_map_lookup_elem(&rp_flows, key);
	struct ll_rp_flow fresh = {.qpn = qpn, .next_ns = now, .last_ns = now};

	if (f)
		return f;
	ll_dcqcn_rp_init(&fresh.rp, host->line_bps, now);
	bpf_map_update_elem(&rp_flows, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rp_flows, key);
}

/* The cut itself, of the QP `qpn` whose CNP came from the source in the IP header. 1: it was found. */
static __always_inline int ll_rp_react(const __u8 *ip, __u32 version, __u32 slot, __u32 qpn)
{
	struct ll_host *host = bpf_map_lookup_elem(&hosts, &slot);
	struct ll_rp_key key = {.slot = slot};
	struct ll_host_qp *qp = ll_host_find_qp(slot, qpn);
	struct ll_rp_flow *f;
	__u64 now;

	if (!host || !qp)
		return 0;
	now = bpf_ktime_get_ns();
	ll_address_of(&key.peer, ip, version, LL_ADDRESS_SOURCE);
	key.peer_qpn = qp->peer_qpn;
	f = ll_rp_find(&key, host, qpn, now);
	if (!f)
		return 0;
	bpf_spin_lock(&f->lock);
	ll_dcqcn_rp_cnp(&host->params, &f->rp, now);
	f->qpn = qpn;
	f->last_ns = now;
	f->cnps++;
	bpf_spin_unlock(&f->lock);
	return 1;
}

/* Whether the CNP's ICRC is right. Apart, since it needs much of the stack. */
__weak int ll_host_is_whole(const struct ll_cnp_bytes *cnp, __u32 version)
{
	if (!cnp)
		return 0;
	if (version == 4)
		return ll_icrc_small4(cnp->ip, 16) == ll_icrc_get(cnp->ip + LL_CNP4_LEN - LL_ICRC_LEN);
	return ll_icrc_small6(cnp->ip, 16) == ll_icrc_get(cnp->ip + LL_CNP6_LEN - LL_ICRC_LEN);
}

/* Counts what is dropped, by enum ll_roce_kind; LL_ROCE_KINDS: RoCEv2 behind other headers. */
__weak int ll_host_bad(__u32 slot, __u32 kind)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);

	if (stats && kind < LL_ROCE_KINDS)
		stats->bad[kind]++;
	else if (stats)
		stats->headers++;
	return 0;
}

/* A whole CNP, of a port with these LL_HOST_*. */
__weak int ll_host_cnp(const struct ll_cnp_bytes *cnp, __u32 slot, __u32 flags, __u32 version)
{
	struct ll_host_stats *stats = bpf_map_lookup_elem(&host_stats, &slot);
	__u32 qpn_at = (version == 4 ? LL_IPV4_HLEN : LL_IPV6_HLEN) + 8 + 5;

	if (!stats || !cnp)
		return 0;
	if (flags & LL_HOST_RP && ll_rp_react(cnp->ip, version, slot, ll_get24(cnp->ip + qpn_at)))
		stats->rp_cnp_handled++;
	else
		stats->rp_cnp_ignored++;
	return 0;
}

/* A CNP, which ends here whatever it says. Both that it calls need much of the stack, so neither is
 * in the other. */
__weak int ll_host_end_cnp(const struct ll_cnp_bytes *cnp, __u32 slot, __u32 flags, __u32 version)
{
	if (!cnp)
		return 0;
	if (!ll_host_is_whole(cnp, version))
		return ll_host_bad(slot, LL_ROCE_ICRC);
	return ll_host_cnp(cnp, slot, flags, version);
}

/* Whether what follows the IP header may have RoCEv2 behind it: `next` is the octet at 6 of an IPv6 header.
 */
static __always_inline int ll_host_may_hide(__u32 version, __u8 next)
{
	return version == 4 || ll_is_extension(next) || next == LL_PROTO_FRAGMENT;
}

/* Looks behind the IP header for RoCEv2 and counts it: 1, it is there. [data, end) is what may be read. */
static __always_inline int ll_host_uncovers(const void *data, const void *end, __u32 slot, __u32 l3_off,
					    __u32 version)
{
	const struct ll_headers h = {.l3_off = (__u16)l3_off, .ip = (__u8)version};
	struct ll_flow flow = {};

	ll_zone_parse(data, end, &h, &flow);
	if (!flow.storage || flow.protocol != LL_PROTO_UDP)
		return 0;
	ll_host_bad(slot, LL_ROCE_KINDS);
	return 1;
}

#endif
