// SPDX-License-Identifier: Apache-2.0
// Answers to DCB netlink requests: after two bytes (type, and whether two messages make one state), a
// message's body. What was read is asked for again, and must read the same. And the whole as a record's text.
#include <linux/rtnetlink.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "daemon/net/dcb_plan.h"
#include "daemon/net/dcb_record.h"

namespace {

using namespace lossless::net;

void require(bool truth) {
  if (!truth) std::abort();
}

// A table longer than one message goes in several.
constexpr std::size_t kFits = 200;

DcbState read_request(const Message& message) {
  nlmsg_hdr(message.raw())->nlmsg_type = RTM_GETDCB;
  DcbState state;
  require(read_dcb(nlmsg_hdr(message.raw()), state));
  return state;
}

void ask_again(const DcbState& state) {
  if (state.buffers) {
    DcbBuffers asked = *state.buffers;
    asked.total_bytes = 0;
    require(read_request(dcb_set_buffers("p", asked)).buffers == asked);
  }
  if (state.max_kbps)
    require(read_request(dcb_set_max_rate("p", *state.max_kbps)).max_kbps == state.max_kbps);
  if (state.apps && state.apps->size() <= kFits)
    require(read_request(dcb_add("p", DcbTable::Apps, *state.apps)).apps == state.apps);
  if (state.trust && state.trust->size() <= kFits)
    require(read_request(dcb_set_trust("p", *state.trust)).trust == state.trust);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (const auto record = parse_record({reinterpret_cast<const char*>(bytes), size})) {
    require(to_text(*parse_record(to_text(*record))) == to_text(*record));
    (void)state_of(*record);
  }
  if (size < 2) return 0;
  std::vector<std::uint32_t> room((NLMSG_HDRLEN + size) / sizeof(std::uint32_t) + 1);  // aligned
  auto* header = reinterpret_cast<nlmsghdr*>(room.data());
  header->nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + size - 2);
  header->nlmsg_type = bytes[0] % 2 ? RTM_GETDCB : RTM_SETDCB;
  std::memcpy(reinterpret_cast<char*>(room.data()) + NLMSG_HDRLEN, bytes + 2, size - 2);
  DcbState state;
  (void)dcb_interface(header);
  (void)dcb_set_result(header);
  if (!read_dcb(header, state)) return 0;
  for (const DcbPart part : kDcbParts) (void)part_text(state, part);
  (void)check_dcb(state, state);
  require(differences(state, state).empty() && plan_dcb("p", state, state).empty());
  require(same_settings(state, state));
  ask_again(state);
  return 0;
}
