// SPDX-License-Identifier: GPL-2.0-only
// Compiled, never loaded by the tests: the RoCE stage headers must stay usable in a BPF program.
#include "../../bpf/kernel.h"

#include "../../bpf/stages/cnp.h"
#include "../../bpf/stages/dcqcn.h"
#include "../../bpf/stages/icrc.h"
#include "../../bpf/stages/roce.h"

struct flow {
  struct ll_dcqcn_np np;
  struct ll_dcqcn_rp rp;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct flow);
} flows SEC(".maps");

SEC("tc")
int roce_stages(struct __sk_buff* skb) {
  const struct ll_dcqcn_params params = ll_dcqcn_defaults();
  const void* data = (const void*)(long)skb->data;
  const void* data_end = (const void*)(long)skb->data_end;
  const struct ll_cnp spec = {.ip = 4, .tos = 48 << 2, .dest_qp = 17};
  __u8 cnp[LL_CNP_FRAME_MAX];
  struct ll_roce packet;
  const __u32 key = 0;
  struct flow* flow = bpf_map_lookup_elem(&flows, &key);
  const __u64 now = bpf_ktime_get_ns();

  if (!flow || ll_roce_parse(data, data_end, skb->len, &packet) != LL_ROCE_OK) return 0;
  ll_dcqcn_rp_sent(&params, &flow->rp, packet.payload_len);
  if (packet.opcode == LL_OP_CNP) return ll_dcqcn_rp_cnp(&params, &flow->rp, now);
  if ((packet.tos & 3) != 3 || !ll_dcqcn_np_ce(&params, &flow->np, now)) return 0;
  ll_cnp_build(cnp, &spec);

  return bpf_skb_store_bytes(skb, 0, cnp, LL_CNP4_FRAME, 0);
}

char _license[] SEC("license") = "GPL";
