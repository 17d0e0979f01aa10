// SPDX-License-Identifier: Apache-2.0
// BGP-4 messages but for UPDATE (RFC 4271 section 4): bytes to values and back. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/bgp/types.h"

namespace lossless::bgp {

inline constexpr std::size_t kHeader = 19;  // marker 16, length 2, type 1
inline constexpr std::size_t kMaxMessage = 4096;
inline constexpr std::size_t kMaxExtended = 65535;  // RFC 8654, all but OPEN and KEEPALIVE

enum class MessageType : std::uint8_t {
  Open = 1,
  Update = 2,
  Notification = 3,
  Keepalive = 4,
  RouteRefresh = 5,
};

// One message of a stream: `body` is what follows the header.
struct Message {
  MessageType type = MessageType::Keepalive;
  ByteView body;
};

// Cuts a stream into messages. Views are good until the next feed().
class Framer {
 public:
  void feed(ByteView bytes);
  // The next whole message; nothing: more bytes are needed; or why the session must end.
  std::expected<std::optional<Message>, Notification> next();
  void allow_extended() { max_ = kMaxExtended; }
  std::size_t held() const { return buffer_.size() - at_; }
  ByteView rest() const { return ByteView(buffer_).subspan(at_); }  // what is there of the next message

 private:
  Bytes buffer_;
  std::size_t at_ = 0;
  std::size_t max_ = kMaxMessage;
};

// Graceful restart of RFC 4724 section 3, with the N bit of RFC 8538.
struct GracefulRestart {
  struct Kept {
    Family family = Family::Inof;
    bool forwarding = false;  // the F bit: state was kept over the restart
    bool operator==(const Kept&) const = default;
  };
  bool restarting = false;     // the R bit
  bool notification = false;   // the N bit
  std::uint16_t time_s = 120;  // 12 bits
  std::vector<Kept> families = {};
  bool operator==(const GracefulRestart&) const = default;
};

struct Open {
  std::uint32_t asn = 0;  // four octets if the peer says so, else the two of the header
  std::uint16_t hold_s = 90;
  RouterId router_id = 0;
  Families families = {};
  bool four_octet_as = true;
  bool route_refresh = true;
  bool enhanced_refresh = true;  // RFC 7313
  bool extended_message = true;  // RFC 8654
  std::optional<GracefulRestart> graceful_restart = {};
  unsigned unknown_capabilities = 0;  // passed over (RFC 5492), as are families that we do not have
  bool operator==(const Open&) const = default;
};

// `body` of a message. Errors are what to send (RFC 4271 section 6.2).
std::expected<Open, Notification> decode_open(ByteView body);
std::expected<Notification, Notification> decode_notification(ByteView body);

// RFC 2918 and RFC 7313: 0 a request, 1 begin and 2 end of what answers it.
enum class RefreshKind : std::uint8_t { Request = 0, Begin = 1, End = 2 };
struct RouteRefresh {
  std::optional<Family> family = {};  // nothing: one that we do not have
  std::uint8_t kind = 0;
  bool operator==(const RouteRefresh&) const = default;
};
std::expected<RouteRefresh, Notification> decode_route_refresh(ByteView body);

// Whole messages.
Bytes encode_open(const Open& open);
Bytes encode_notification(const Notification& notification);
Bytes encode_keepalive();
Bytes encode_route_refresh(Family family, RefreshKind kind);
Bytes encode_message(MessageType type, ByteView body);

// Cease with a text for the people on the other side (RFC 9003): at most 255 bytes of UTF-8 are sent.
Notification shutdown_notification(std::uint8_t subcode, std::string_view text);
std::string_view to_string(MessageType type);

}  // namespace lossless::bgp
