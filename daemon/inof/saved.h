// SPDX-License-Identifier: Apache-2.0
// What one daemon's iNOF switch leaves to the next one's (docs/restart.md), as values and as bytes: the local
// hosts, and what is under way to them. Remote ones come back with BGP's routes. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "daemon/inof/damping.h"
#include "daemon/inof/hosts.h"
#include "daemon/inof/notifier.h"

namespace lossless::inof {

inline constexpr std::uint16_t kSavedVersion = 1;

struct SavedHost {
  std::string port;  // by name
  lldp::Id chassis;
  lldp::Id port_id;
  HostTlv tlv;
  HostState state = HostState::Offline;
  Reason reason = Reason::Normal;
  std::string why;
  bool present = false;
  Micros heard{};
  Micros changed{};
  Damping damping;
  std::optional<SavedSubscriber> subscriber;
};

struct SavedSwitch {
  std::string file;     // [inof] of the configuration file
  std::string running;  // as changed since, by operators
  std::vector<SavedHost> hosts;
};

Bytes encode_saved(const SavedSwitch& saved);
// Of the body of an image; the error says what cannot be.
std::expected<SavedSwitch, std::string> decode_saved(ByteView body);

}  // namespace lossless::inof
