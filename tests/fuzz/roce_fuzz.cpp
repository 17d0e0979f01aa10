// SPDX-License-Identifier: Apache-2.0
// What the datapath does with RoCEv2 packets, by the same headers: frames, each after two bytes of length,
// are parsed, followed, noted and answered in one flow, read as CM messages, and answered with a CNP that
// must be well-formed.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "bpf/stages/cnp.h"
#include "bpf/stages/roce_pair.h"
#include "veth-topo/endpoint/codec.h"

namespace {

using lossless::endpoint::parse_frame;

void require(bool truth) {
  if (!truth) std::abort();
}

struct Model {
  ll_roce_flow flow{};
  ll_roce_flow requests{};
  ll_roce_note note{};
  ll_roce_request request{};
  std::uint64_t now = LL_ROCE_NOTE_NS;
};

void read_cm(Model& model, const std::vector<std::uint8_t>& frame, const ll_roce& r) {
  const std::size_t at = std::min<std::size_t>(r.ext_at + sizeof(ll_deth), frame.size());
  const std::vector<std::uint8_t> mad(frame.begin() + static_cast<std::ptrdiff_t>(at), frame.end());
  ll_cm cm;
  if (mad.empty()) return;
  if (!ll_cm_parse(mad.data(), mad.data() + mad.size(), &cm)) return;
  require(cm.qpn <= LL_PSN_MASK && cm.psn <= LL_PSN_MASK);
  if (ll_roce_may_wait(&model.request, cm.qpn, model.now)) model.request = {model.now, cm.qpn, 0};
  const ll_roce_pair pair{cm.qpn, cm.local_id, cm.remote_id, 0};
  require(ll_roce_is_release(&pair, &cm) == 1);
}

void follow(Model& model, const ll_roce& r, const ll_roce_key& key) {
  model.flow.packets++;
  model.flow.bytes += 100;
  ll_roce_follow_psn(&model.flow, &r);
  ll_roce_follow_psn(&model.requests, &r);
  ll_roce_tick(&model.flow, model.now);
  require(model.flow.next_psn <= LL_PSN_MASK && model.flow.next_read_psn <= LL_PSN_MASK);
  if (ll_roce_is_noted(&r) && ll_roce_wants_notes(&model.flow))
    model.note = ll_roce_renote(&model.note, key.qp, model.now);
  if (!ll_roce_is_proof(&r, LL_ACK_NO_CREDIT)) return;
  const std::uint32_t peer = ll_roce_noted_qp(&model.note, model.now);
  require(peer <= LL_PSN_MASK);
  if (peer && ll_roce_gather(&model.flow, key.qp, peer, r.udp_sport, r.psn & 1U))
    ll_roce_pair_set(&model.flow, peer, LL_PAIR_ACK, model.flow.checked);
  if (ll_roce_doubts(&model.flow, &model.requests, r.psn)) ll_roce_pair_drop(&model.flow);
}

void answer(const ll_roce& r, const ll_roce_key& key) {
  ll_cnp cnp{};
  const bool v4 = ll_roce_is_ip4(key.src) != 0;
  std::memcpy(cnp.src, v4 ? &key.dst[3] : key.dst, v4 ? 4 : 16);
  std::memcpy(cnp.dst, v4 ? &key.src[3] : key.src, v4 ? 4 : 16);
  cnp.ip = v4 ? 4 : 6;
  cnp.dest_qp = r.dest_qp;
  cnp.sport = r.udp_sport;
  std::vector<std::uint8_t> frame(LL_CNP_FRAME_MAX);
  ll_cnp_build(frame.data(), &cnp);
  frame.resize(ll_cnp_len(&cnp));
  ll_roce back;
  require(parse_frame(frame, back) == LL_ROCE_OK);
  require(back.opcode == LL_OP_CNP && back.dest_qp == r.dest_qp);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::span<const std::uint8_t> data(bytes, size);
  Model model;
  while (data.size() >= 2) {
    const std::size_t length = std::min<std::size_t>(ll_get16(data.data()), data.size() - 2);
    // Exactly as long as it is: a sanitizer sees a byte read too much.
    const std::vector<std::uint8_t> frame(data.begin() + 2,
                                          data.begin() + 2 + static_cast<std::ptrdiff_t>(length));
    data = data.subspan(2 + length);
    if (frame.empty()) continue;  // its data() may be null, with which one cannot reckon
    model.now += 1'000'000;
    ll_roce r;
    if (ll_roce_parse(frame.data(), frame.data() + frame.size(), static_cast<__u32>(frame.size()), &r) !=
        LL_ROCE_OK)
      continue;
    require(r.payload_at + r.payload_len <= r.icrc_at && r.icrc_at + 4U <= frame.size());
    ll_roce_key key;
    ll_roce_key_of(&frame[r.ip_at], r.ip_version, r.dest_qp, &key);
    follow(model, r, key);
    if (r.opcode == LL_OP_UD_SEND_ONLY) read_cm(model, frame, r);
    answer(r, key);
  }
  return 0;
}
