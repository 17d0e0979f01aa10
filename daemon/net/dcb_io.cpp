// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_io.h"

#include <cerrno>

namespace lossless::net {
namespace {

// Puts what the driver answers to `command` into `state`. Drivers answer EOPNOTSUPP to what they do not have,
// and some EINVAL: that leaves `state` as it is.
int ask(Netlink& netlink, const std::string& interface, int command, DcbState& state, DcbAnswers* answers) {
  bool sound = true;
  const int error = netlink.query_errno(dcb_get(interface, command), [&](nlmsghdr* answer) {
    sound = read_dcb(answer, state) && sound;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(answer);
    if (answers) answers->emplace_back(bytes, bytes + answer->nlmsg_len);
  });
  return error ? error : sound ? 0 : EBADMSG;
}

// 0, or why one request failed.
int send(Netlink& netlink, const Message& message) {
  int result = 0;
  const int error = netlink.query_errno(message, [&](nlmsghdr* answer) {
    if (const auto said = dcb_set_result(answer)) result = *said;
  });
  return error ? error : result;
}

int send_all(Netlink& netlink, const std::vector<DcbStep>& steps, const DcbStep** failed) {
  for (const DcbStep& step : steps) {
    const int error = send(netlink, step.message);
    if (error == 0) continue;
    *failed = &step;
    return error;
  }
  return 0;
}

void put_back(Netlink& netlink, const std::string& interface, const DcbState& wanted) {
  const auto now = read_dcb_state(netlink, interface);
  if (!now || !*now) return;
  // One that is refused must not keep the others from going back.
  for (const DcbStep& step : plan_dcb(interface, **now, wanted)) (void)send(netlink, step.message);
}

}  // namespace

Result<std::optional<DcbState>> read_dcb_state(Netlink& netlink, const std::string& interface,
                                               DcbAnswers* answers) {
  DcbState state;
  const int error = ask(netlink, interface, DCB_CMD_IEEE_GET, state, answers);
  if (error == EOPNOTSUPP) return std::nullopt;
  if (error) return fail_errno("cannot read the DCB settings of " + interface, error);
  (void)ask(netlink, interface, DCB_CMD_CEE_GET, state, answers);
  if (state.cee)
    for (const int command : {DCB_CMD_GSTATE, DCB_CMD_PFC_GSTATE, DCB_CMD_GNUMTCS})
      (void)ask(netlink, interface, command, state, answers);
  return state;
}

std::expected<DcbApplied, std::vector<DcbFault>> apply_dcb(Netlink& netlink, const std::string& interface,
                                                           const DcbState& now, const DcbState& wanted) {
  if (auto faults = check_dcb(now, wanted); !faults.empty()) return std::unexpected(std::move(faults));
  const std::vector<DcbStep> steps = plan_dcb(interface, now, wanted);
  const DcbStep* failed = nullptr;
  if (const int error = send_all(netlink, steps, &failed)) {
    put_back(netlink, interface, same_parts(now, wanted));
    return std::unexpected(std::vector<DcbFault>{
        {failed->part, part_text(wanted, failed->part) + ": the driver says: " + errno_text(error)}});
  }
  DcbApplied out{.writes = static_cast<unsigned>(steps.size()), .state = now, .ignored = {}};
  if (steps.empty()) return out;
  auto after = read_dcb_state(netlink, interface);
  if (!after || !*after)
    return std::unexpected(std::vector<DcbFault>{
        {steps.front().part, after ? "the driver has no DCB any more" : after.error()}});
  out.state = std::move(**after);
  out.ignored = differences(out.state, wanted);
  return out;
}

}  // namespace lossless::net
