// SPDX-License-Identifier: Apache-2.0
// iNOF. By the first byte modulo 3: a status frame, or the TLV of a host; what was read is written and must
// read the same. Or frames, each after two bytes of length and one of seconds, for the host agent: whatever
// it sends must be well-formed, and its tables stay bounded.
#include <cstdint>
#include <cstdlib>
#include <set>

#include "daemon/inof/host_agent.h"

namespace {

using namespace lossless;
using namespace lossless::inof;

constexpr unsigned kMembers = 8;
constexpr std::size_t kHooks = 16;

void require(bool truth) {
  if (!truth) std::abort();
}

void status_frame(ByteView frame) {
  const auto read = decode_frame(frame);
  if (!read) return;
  for (const Message& message : read->messages) {
    if (encoded_size(message) > kMaxMessages) continue;
    const Bytes written = encode_frame(read->dialect, read->source, {&message, 1});
    const auto again = decode_frame(written);
    require(again.has_value() && again->messages.size() == 1 && again->messages[0] == message);
  }
}

void host_tlv(ByteView value) {
  for (const Dialect dialect : kDialects) {
    const lldp::OrgTlv tlv{.oui = facts(dialect).oui,
                           .subtype = facts(dialect).subtype,
                           .value = Bytes(value.begin(), value.end())};
    const auto host = decode_host(tlv);
    if (!host) continue;
    require(attached_of(*host).size() >= kMinAttached);
    const auto again = decode_host(encode_host(*host));
    require(again.has_value() && *again == *host);
  }
}

void host_agent(ByteView data) {
  Time now{std::chrono::hours(1)};
  std::set<std::uint64_t> running;
  HostAgent agent({.max_members = kMembers},
                  {.send =
                       [](const net::PortRef&, ByteView frame) {
                         require(frame.size() <= kMaxFrame);
                         require(decode_frame(frame).has_value() || lldp::decode(frame).has_value());
                         return true;
                       },
                   .start =
                       [&running](std::uint64_t run, const HookEvent& event) {
                         require(running.insert(run).second && running.size() <= kHooks);
                         (void)hook_command({}, event, {});
                       },
                   .kill = [&running](std::uint64_t run) { require(running.contains(run)); }});
  const net::PortRef port{.ifindex = 1, .name = "p", .mac = {2}};
  agent.set_addresses(
      {{.port = port, .interface = "p", .address = *parse_ip("10.77.0.2"), .index = 1, .up = true}}, now);
  WireReader in(data);
  while (in.left() >= 3) {
    const std::size_t length = in.u16();
    const std::uint8_t step = in.u8();
    now += std::chrono::seconds(step);
    agent.advance(now);
    if (!running.empty() && step % 2 == 1) {
      const std::uint64_t run = running.extract(running.begin()).value();
      agent.hook_ended(run, {.exit_code = step % 4}, now);
    }
    agent.receive(1, in.bytes(std::min(length, in.left())), now);
    require(agent.members().size() <= kMembers);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ByteView data(bytes + 1, size - 1);
  switch (bytes[0] % 3) {
    case 0:
      status_frame(data);
      break;
    case 1:
      host_tlv(data);
      break;
    default:
      host_agent(data);
  }
  return 0;
}
