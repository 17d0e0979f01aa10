// SPDX-License-Identifier: Apache-2.0
// One-key escape: PFC off on all ports at once, and back as it was configured. Pure; the text form is what
// survives a restart of the daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace lossless::pfc {

using TcMask = std::uint8_t;  // bit n: PFC is on for TC n

class Escape {
 public:
  bool on() const { return on_; }
  std::uint64_t since_s() const { return since_s_; }  // CLOCK_REALTIME, seconds; 0 while off

  // PFC of all `ports` goes off and what they had is kept. Turning it on twice keeps the first and adds ports
  // that are new.
  void turn_on(const std::map<std::string, TcMask>& ports, std::uint64_t now_s);

  // What to give back, per port. Empty when it was not on.
  std::map<std::string, TcMask> turn_off();

  // The configuration of a port while the escape is on: takes the place of what is given back later. Says
  // nothing while it is off.
  void set_port(const std::string& port, TcMask mask);
  // A port that is no longer managed is given nothing back.
  void remove_port(const std::string& port);

  const std::map<std::string, TcMask>& kept() const { return kept_; }

  // A few lines of ASCII; parse_escape(e.to_text()) == e.
  std::string to_text() const;
  bool operator==(const Escape&) const = default;

 private:
  friend std::expected<Escape, std::string> parse_escape(std::string_view text);

  bool on_ = false;
  std::uint64_t since_s_ = 0;
  std::map<std::string, TcMask> kept_;
};

// The state that to_text() wrote, or "line N: …". A state that can't be read should count as on: PFC that
// stays off loses packets, PFC that comes back unasked may stop a network.
std::expected<Escape, std::string> parse_escape(std::string_view text);

}  // namespace lossless::pfc
