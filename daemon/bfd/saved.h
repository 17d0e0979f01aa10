// SPDX-License-Identifier: Apache-2.0
// BFD sessions that go on in the next process (docs/restart.md), as values and as bytes. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "daemon/bfd/session.h"
#include "daemon/bfd/table.h"

namespace lossless::bfd {

inline constexpr std::uint16_t kSavedVersion = 1;

struct SavedPeer {
  PeerKey key;
  SavedSession session;
  bool operator==(const SavedPeer&) const = default;
};

Bytes encode_saved(const std::vector<SavedPeer>& saved);
// Of the body of an image; the error says what cannot be.
std::expected<std::vector<SavedPeer>, std::string> decode_saved(ByteView body);

}  // namespace lossless::bfd
