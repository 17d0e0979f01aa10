// SPDX-License-Identifier: GPL-2.0-only
/*
 * Only for flows_bench: many packets of different flows in one test run. Each run goes through a batch of
 * packets that differ in the QP they go to, and does with each what tcx ingress does for flows.
 */
#include "flows_bench.h"
#include "../../bpf/kernel.h"
#include "../../bpf/maps.h"
#include "../../bpf/roce.h"
#include "../../bpf/skb.h"

struct ll_flows_bench bench;

/* The next packet's QP, from the batch's own sequence of numbers. */
static __always_inline __u32 next_qp(void) {
  if (bench.in_order) return 2 + bench.at++ % bench.flows;
  bench.random = bench.random * 6364136223846793005ull + 1442695040888963407ull;
  return 2 + (__u32)(((bench.random >> 32) * bench.flows) >> 32);
}

__noinline int one_packet(struct __sk_buff* skb) {
  __u8* qp = (__u8*)(long)skb->data + LL_ETH_HLEN + LL_IPV4_HLEN + 8 + 5;
  struct ll_roce_packet packet;
  struct ll_headers h;
  __u32 kind;

  if (qp + 3 > (__u8*)(long)skb->data_end) return 0;
  ll_put24(qp, next_qp());
  ll_parse_skb(skb, &h);
  if (!ll_roce_on()) return 0;
  kind = (__u32)ll_roce_look(skb, LL_ROCE_WHERE(&h), &packet);
  ll_roce_enter(skb, LL_ROCE_WHERE(&h), &packet, kind, 0, 3);
  return 0;
}

SEC("tcx/ingress")
int flows_batch(struct __sk_buff* skb) {
  for (int i = 0; i < LL_FLOWS_BATCH; i++) one_packet(skb);
  return LL_TCX_NEXT;
}
