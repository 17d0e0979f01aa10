// SPDX-License-Identifier: Apache-2.0
// DCB netlink messages: requests are built, answers are read. Pure; dcb_io sends them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "daemon/net/dcb.h"
#include "daemon/net/netlink_message.h"

namespace lossless::net {

// A request of `command` (DCB_CMD_*) about an interface.
Message dcb_get(const std::string& interface, int command);

// The requests that set one attribute each. An application or rewrite table is told by what is to be added
// and what removed.
Message dcb_set_ets(const std::string& interface, const DcbEts& ets);
Message dcb_set_pfc(const std::string& interface, const DcbPfc& pfc);
Message dcb_set_max_rate(const std::string& interface, const PerPriority<std::uint64_t>& kbps);
Message dcb_set_buffers(const std::string& interface, const DcbBuffers& buffers);
Message dcb_set_trust(const std::string& interface, std::span<const std::uint8_t> selectors);
Message dcb_set_mode(const std::string& interface, std::uint8_t mode);
enum class DcbTable : std::uint8_t { Apps, Rewrite };
Message dcb_add(const std::string& interface, DcbTable table, std::span<const DcbApp> entries);
Message dcb_remove(const std::string& interface, DcbTable table, std::span<const DcbApp> entries);

Message cee_set_state(const std::string& interface, bool on);
Message cee_set_pfc_state(const std::string& interface, bool on);
Message cee_set_pfc(const std::string& interface, std::uint8_t priorities);
Message cee_set_groups(const std::string& interface, bool rx, const DcbCeeGroups& groups);
Message cee_set_tcs(const std::string& interface, std::uint8_t group_tcs, std::uint8_t pfc_tcs);
Message cee_set_app(const std::string& interface, const DcbApp& app);  // priority 0 removes it
Message cee_apply(const std::string& interface);                       // what was set before takes effect

// The interface that an answer or notification is about; empty where it names none.
std::string dcb_interface(nlmsghdr* message);

// Puts what a message says into `state`. False: it is no DCB message, or makes no sense; `state` may have a
// part of it then. Attributes of unknown types are left out.
bool read_dcb(nlmsghdr* message, DcbState& state);

// What the kernel says of a set: 0, or an errno. Drivers that only know yes and no give EINVAL. Nothing: the
// message is no answer to a set.
std::optional<int> dcb_set_result(nlmsghdr* message);

}  // namespace lossless::net
