// SPDX-License-Identifier: Apache-2.0
// RoCEv2 frames of two hosts, for tests of the programs.
#pragma once

#include <array>
#include <cstdint>

#include "tests/bpf/scratch_io.h"
#include "veth-topo/endpoint/codec.h"

namespace lossless::test {

using endpoint::Address;

inline Address host(std::uint8_t last, bool v6 = false) {
  Address a;
  a.v6 = v6;
  if (v6) {
    a.ip = {0x20, 1, 0xd, 0xb8};
    a.ip[15] = last;
  } else {
    a.ip = {10, 0, 0, last};
  }
  a.mac = {2, 0, 0, 0, 0, last};
  return a;
}

// One connection: QPs and the UDP source port that both ends use.
struct Connection {
  Address a = host(1);
  Address b = host(2);
  std::uint32_t qp_a = 0x111;
  std::uint32_t qp_b = 0x222;
  std::uint16_t sport() const { return ll_roce_sport(qp_a, qp_b); }
};

struct Packet {
  std::uint8_t opcode = LL_OP_WRITE_MIDDLE;
  std::uint32_t psn = 0;
  bool ack_request = false;
  std::size_t payload = 256;
  std::uint8_t syndrome = 0;
  std::uint8_t tos = 26 << 2 | 2;
  std::uint16_t sport = 0;    // 0: the connection's
  std::uint32_t dest_qp = 0;  // 0: the connection's
};

inline Bytes build(const Address& from, const Address& to, std::uint32_t qp, std::uint16_t sport,
                   const Packet& p) {
  endpoint::FrameHead head;
  head.src = &from;
  head.dst = &to;
  head.tos = p.tos;
  head.sport = p.sport ? p.sport : sport;
  head.opcode = p.opcode;
  head.ack_request = p.ack_request;
  head.dest_qp = p.dest_qp ? p.dest_qp : qp;
  head.psn = p.psn & LL_PSN_MASK;
  std::array<std::uint8_t, 28> ext{};
  ext[0] = p.syndrome;
  const Bytes payload(p.payload, 0x5a);
  Bytes frame(4400);
  frame.resize(endpoint::build_frame(
      frame, head, std::span(ext).first(static_cast<std::size_t>(ll_roce_ext_len(p.opcode))), payload));
  return frame;
}

inline Bytes from_a(const Connection& c, const Packet& p) { return build(c.a, c.b, c.qp_b, c.sport(), p); }
inline Bytes from_b(const Connection& c, const Packet& p) { return build(c.b, c.a, c.qp_a, c.sport(), p); }
inline Packet ack(std::uint32_t psn) {
  return {.opcode = LL_OP_ACK, .psn = psn, .payload = 0, .syndrome = LL_ACK_NO_CREDIT};
}

inline Bytes cm(const Address& from, const Address& to, const ll_cm& message) {
  std::array<std::uint8_t, LL_MAD_LEN> mad{};
  endpoint::encode_cm(mad, message, 1024, from, to);
  std::array<std::uint8_t, endpoint::kDethLen> deth{};
  endpoint::encode_deth(deth);
  endpoint::FrameHead head;
  head.src = &from;
  head.dst = &to;
  head.sport = 0xc123;
  head.opcode = LL_OP_UD_SEND_ONLY;
  head.dest_qp = 1;
  Bytes frame(500);
  frame.resize(endpoint::build_frame(frame, head, deth, mad));
  return frame;
}

inline ll_cm cm_message(std::uint16_t attribute, std::uint32_t local_id, std::uint32_t remote_id,
                        std::uint32_t qpn) {
  ll_cm m{};
  m.attribute = attribute;
  m.local_id = local_id;
  m.remote_id = remote_id;
  m.qpn = qpn;
  return m;
}

inline ll_roce_key key_of(const Address& from, const Address& to, std::uint32_t qp) {
  ll_roce_key key{};
  auto* src = reinterpret_cast<std::uint8_t*>(key.src);
  auto* dst = reinterpret_cast<std::uint8_t*>(key.dst);
  const auto put = [](std::uint8_t* at, const Address& a) {
    if (a.v6) {
      std::copy_n(a.ip.begin(), 16, at);
      return;
    }
    at[10] = at[11] = 0xff;
    std::copy_n(a.ip.begin(), 4, at + 12);
  };
  put(src, from);
  put(dst, to);
  key.qp = qp;
  return key;
}

}  // namespace lossless::test
