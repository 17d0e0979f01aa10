// SPDX-License-Identifier: Apache-2.0
#include "veth-topo/endpoint/codec.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>

namespace lossless::endpoint {
namespace {

constexpr std::size_t kEthLen = 14;
constexpr std::size_t kTagLen = 4;
constexpr std::size_t kUdpLen = 8;
constexpr std::size_t kBthLen = sizeof(ll_bth);

constexpr std::size_t ip_length(bool v6) { return v6 ? 40 : 20; }
constexpr std::size_t padded(std::size_t payload) { return (payload + 3) & ~std::size_t{3}; }

// Ethernet header and tag; returns where the IP header goes.
std::uint8_t* put_link(std::uint8_t* at, const FrameHead& head) {
  at = std::copy(head.dst->mac.begin(), head.dst->mac.end(), at);
  at = std::copy(head.src->mac.begin(), head.src->mac.end(), at);
  if (head.pcp) {
    ll_put16(at, 0x8100);
    ll_put16(at + 2, static_cast<std::uint32_t>(*head.pcp) << 13);
    at += kTagLen;
  }
  ll_put16(at, head.src->v6 ? 0x86dd : 0x0800);
  return at + 2;
}

// The masked head of the ICRC and how many bytes of it there are.
std::uint32_t icrc_of(const std::uint8_t* ip, bool v6, std::size_t after_bth) {
  std::array<std::uint8_t, LL_ICRC_HEAD6> head;
  const std::size_t head_len = v6 ? LL_ICRC_HEAD6 : LL_ICRC_HEAD4;
  if (v6) {
    ll_icrc_head6(head.data(), ip);
  } else {
    ll_icrc_head4(head.data(), ip);
  }
  const auto crc = crc32_z(0, head.data(), head_len);
  return static_cast<std::uint32_t>(crc32_z(crc, ip + head_len - 8, after_bth));
}

// IB path MTU code of the CM REQ: 1 = 256 … 5 = 4096 bytes.
std::uint8_t mtu_code(std::uint32_t mtu) {
  return static_cast<std::uint8_t>(std::clamp(static_cast<int>(std::bit_width(mtu)) - 8, 1, 5));
}

// GID of a RoCEv2 port: the IPv6 address, or the IPv4-mapped one.
void put_gid(std::uint8_t* at, const Address& a) {
  if (a.v6) {
    std::copy(a.ip.begin(), a.ip.end(), at);
    return;
  }
  at[10] = at[11] = 0xff;
  std::copy_n(a.ip.begin(), 4, at + 12);
}

// Fields of a REQ (section 12.6.5) beyond the ones all messages have.
void put_req(std::uint8_t* mad, const ll_cm& cm, std::uint32_t mtu, const Address& from, const Address& to) {
  ll_put32(mad + LL_CM_REQ_SERVICE, 0);
  ll_put32(mad + LL_CM_REQ_SERVICE + 4, cm.service);
  ll_put24(mad + LL_CM_REQ_QPN, cm.qpn);
  mad[59] = 1;        // responder resources
  mad[63] = 1;        // initiator depth
  mad[67] = 20 << 3;  // remote CM response timeout, transport type RC
  ll_put24(mad + LL_CM_REQ_PSN, cm.psn);
  mad[71] = 20 << 3 | 7;       // local CM response timeout, retry count
  ll_put16(mad + 72, 0xffff);  // P_Key
  mad[74] = static_cast<std::uint8_t>(mtu_code(mtu) << 4 | 7);
  mad[75] = 15 << 4;           // maximum CM retries
  ll_put16(mad + 76, 0xffff);  // LIDs: permissive on RoCE
  ll_put16(mad + 78, 0xffff);
  put_gid(mad + 80, from);
  put_gid(mad + 96, to);
  mad[117] = 64;       // hop limit
  mad[119] = 16 << 3;  // local ACK timeout
}

}  // namespace

std::size_t frame_length(bool v6, bool tagged, std::size_t ext, std::size_t payload) {
  return kEthLen + (tagged ? kTagLen : 0) + ip_length(v6) + kUdpLen + kBthLen + ext + padded(payload) +
         LL_ICRC_LEN;
}

std::size_t build_frame(std::span<std::uint8_t> out, const FrameHead& head, std::span<const std::uint8_t> ext,
                        std::span<const std::uint8_t> payload) {
  const bool v6 = head.src->v6;
  const std::size_t length = frame_length(v6, head.pcp.has_value(), ext.size(), payload.size());
  if (length > out.size()) return 0;
  std::uint8_t* const ip = put_link(out.data(), head);
  const std::size_t pad = padded(payload.size()) - payload.size();
  const std::size_t after_bth = ext.size() + payload.size() + pad;
  const auto udp_len = static_cast<std::uint32_t>(kUdpLen + kBthLen + after_bth + LL_ICRC_LEN);
  if (v6) {
    ll_put_ip6(ip, head.src->ip.data(), head.dst->ip.data(), head.tos, head.ip_id, udp_len);
  } else {
    ll_put_ip4(ip, head.src->ip.data(), head.dst->ip.data(), head.tos, head.ip_id, udp_len + 20);
  }
  std::uint8_t* const udp = ip + ip_length(v6);
  ll_put_udp(udp, head.sport, udp_len);
  ll_put_bth(udp + kUdpLen, head.opcode, static_cast<std::uint32_t>(pad), head.dest_qp, head.ack_request,
             head.psn);
  std::uint8_t* at = std::copy(ext.begin(), ext.end(), udp + kUdpLen + kBthLen);
  at = std::copy(payload.begin(), payload.end(), at);
  at = std::fill_n(at, pad, std::uint8_t{0});
  ll_icrc_put(at, icrc_of(ip, v6, after_bth));
  return length;
}

std::size_t build_cnp(std::span<std::uint8_t> out, const FrameHead& head) {
  const bool v6 = head.src->v6;
  const std::size_t length = frame_length(v6, head.pcp.has_value(), 16, 0);
  if (length > out.size()) return 0;
  std::uint8_t* const ip = put_link(out.data(), head);
  if (v6) {
    ll_put_cnp6(ip, head.src->ip.data(), head.dst->ip.data(), head.tos, head.sport, head.dest_qp);
    ll_icrc_put(ip + LL_CNP6_LEN - LL_ICRC_LEN, ll_icrc_small6(ip, 16));
  } else {
    ll_put_cnp4(ip, head.src->ip.data(), head.dst->ip.data(), head.tos, head.ip_id, head.sport, head.dest_qp);
    ll_icrc_put(ip + LL_CNP4_LEN - LL_ICRC_LEN, ll_icrc_small4(ip, 16));
  }
  return length;
}

std::uint32_t frame_icrc(std::span<const std::uint8_t> frame, const ll_roce& r) {
  return icrc_of(frame.data() + r.ip_at, r.ip_version == 6, static_cast<std::size_t>(r.icrc_at - r.ext_at));
}

ll_roce_kind parse_frame(std::span<const std::uint8_t> frame, ll_roce& r) {
  r = {};
  if (frame.empty()) return LL_ROCE_L2_SHORT;  // data() may be null, with which one cannot reckon
  const auto kind =
      ll_roce_parse(frame.data(), frame.data() + frame.size(), static_cast<__u32>(frame.size()), &r);
  if (kind != LL_ROCE_OK) return kind;
  return ll_icrc_get(frame.data() + r.icrc_at) == frame_icrc(frame, r) ? LL_ROCE_OK : LL_ROCE_ICRC;
}

const char* kind_name(ll_roce_kind kind) { return ll_roce_kind_name(kind); }

void encode_deth(std::span<std::uint8_t, kDethLen> deth) {
  ll_put32(deth.data(), 0x80010000);  // the well-known Q_Key of QP 1
  deth[4] = 0;
  ll_put24(&deth[5], 1);
}

void encode_cm(std::span<std::uint8_t, LL_MAD_LEN> mad, const ll_cm& cm, std::uint32_t mtu,
               const Address& from, const Address& to) {
  std::ranges::fill(mad, std::uint8_t{0});
  mad[0] = 1;  // base version
  mad[1] = LL_MAD_CM_CLASS;
  mad[2] = 2;  // class version
  mad[3] = 3;  // method Send
  const bool starts = cm.attribute == LL_CM_REQ || cm.attribute == LL_CM_DREQ || cm.attribute == LL_CM_RTU;
  ll_put32(&mad[12], starts ? cm.local_id : cm.remote_id);  // transaction: the requester's ID
  ll_put16(&mad[16], cm.attribute);
  ll_put32(&mad[LL_CM_LOCAL_ID], cm.local_id);
  if (cm.attribute == LL_CM_REQ) {
    put_req(mad.data(), cm, mtu, from, to);
    return;
  }
  ll_put32(&mad[LL_CM_REMOTE_ID], cm.remote_id);
  if (cm.attribute == LL_CM_REP) {
    ll_put24(&mad[LL_CM_REP_QPN], cm.qpn);
    ll_put24(&mad[LL_CM_REP_PSN], cm.psn);
    mad[48] = mad[49] = 1;  // responder resources, initiator depth
    mad[51] = 7 << 5;       // RNR retry count
  } else if (cm.attribute == LL_CM_DREQ) {
    ll_put24(&mad[LL_CM_DREQ_QPN], cm.qpn);
  }
}

}  // namespace lossless::endpoint
