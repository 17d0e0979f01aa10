// SPDX-License-Identifier: Apache-2.0
// UPDATE messages (RFC 4271 section 4.3, RFC 4760), with the error handling of RFC 7606. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/bgp/attributes.h"

namespace lossless::bgp {

// Routes of one family, each as the RIB has it: IPv4 is a length in bits and the bytes of the prefix, with
// zeros beyond its length; iNOF is the TLV, without the length before it.
class NlriList {
 public:
  void add(ByteView nlri) {
    bytes_.insert(bytes_.end(), nlri.begin(), nlri.end());
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  ByteView operator[](std::size_t i) const {
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return ByteView(bytes_).subspan(from, ends_[i] - from);
  }
  bool operator==(const NlriList&) const = default;

 private:
  Bytes bytes_;
  std::vector<std::uint32_t> ends_;
};

inline constexpr std::size_t kMaxInofNlri = 4000;  // so that one fits into any message

// Bytes of a route in a message.
std::size_t wire_size(Family family, ByteView nlri);
void write_nlri(WireWriter& out, Family family, ByteView nlri);
// nullopt: a length that does not fit, or a prefix longer than an address.
std::optional<NlriList> read_nlris(Family family, ByteView in);

struct FamilyRoutes {
  Family family = Family::Inof;
  NlriList nlris = {};
  bool operator==(const FamilyRoutes&) const = default;
};

struct Update {
  std::vector<FamilyRoutes> withdrawn = {};
  std::vector<FamilyRoutes> announced = {};  // empty after treat-as-withdraw: they are in `withdrawn`
  PathAttributes attributes = {};            // of what is announced
  std::optional<Family> end_of_rib = {};     // RFC 4724 section 2
  bool treated_as_withdraw = false;
  std::vector<std::string> faults = {};  // what was wrong, in words
  bool operator==(const Update&) const = default;
};

struct UpdateContext {
  AttributeContext attributes = {};
  Families families = {};  // negotiated; routes of others are passed over
};

// `body` of a message; an error resets the session.
std::expected<Update, Notification> decode_update(ByteView body, const UpdateContext& context);

// What comes before the routes of an UPDATE that announces, and where the lengths stand in it.
struct UpdateShape {
  Family family = Family::Inof;
  std::size_t max_message = 4096;
};

// As few messages as hold the routes, one after the other, appended to `out`; at most `shape.max_message`
// bytes each. `attributes` are of encode_attributes(); `next_hop` goes into MP_REACH_NLRI for families that
// have it. The number of messages; routes that fit into no message are left out.
std::size_t encode_announce(const UpdateShape& shape, ByteView attributes, const IpAddress& next_hop,
                            std::span<const ByteView> nlris, Bytes& out);
std::size_t encode_withdraw(const UpdateShape& shape, std::span<const ByteView> nlris, Bytes& out);
Bytes encode_end_of_rib(Family family);

}  // namespace lossless::bgp
