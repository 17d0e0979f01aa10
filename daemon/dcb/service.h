// SPDX-License-Identifier: Apache-2.0
// Brings the DCB settings of drivers to what the ports' configuration says, and keeps them there. Owned by
// the event loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/dcb/plan.h"
#include "daemon/net/dcb_record_io.h"
#include "daemon/pfc/service.h"
#include "daemon/port/service.h"

namespace lossless::dcb {

class DcbService {
 public:
  using Clock = std::chrono::steady_clock;

  struct Port {
    std::string name;
    int ifindex = 0;
    std::uint32_t slot = 0;
    std::uint32_t frame_bytes = 0;            // longest frame
    std::uint8_t withheld = 0;                // TCs whose PFC was off at the last look
    std::optional<pfc::HardwarePfc> counted;  // at the last look
    std::uint64_t counted_ns = 0;             // when that was
    PortConfig config;                        // as it was applied last
    std::string error;                        // the driver could not be asked
    std::optional<net::DcbState> now;         // nothing: the driver has no DCB
    std::optional<net::DcbState> original;    // before a daemon changed anything
    net::DcbRecord record;                    // of `original`, with the parts that were changed since
    net::DcbState wanted;
    std::vector<net::DcbFault> refused;   // nothing was written because of these
    std::vector<net::DcbFault> ignored;   // what the driver dropped
    std::vector<net::DcbFault> left_out;  // what DCB cannot express
    std::uint64_t writes = 0;
    std::uint64_t foreign_changes = 0;
    std::uint64_t put_back = 0;
    std::string last_foreign;  // what the last one changed
    std::optional<Clock::time_point> last_foreign_at;
    std::deque<Clock::time_point> fights;  // recent times of putting back
    bool let_be = false;                   // another program insists
  };

  // `folder`, of the instance, remembers what drivers had before the first daemon changed it.
  DcbService(net::Netlink& netlink, pfc::PfcService& pfc, std::string folder)
      : netlink_(netlink), pfc_(pfc), records_(std::move(folder)) {}

  // Why a port cannot be what its configuration says: it requires DCB, and the driver of its interface has
  // none. Ports whose interface is not there are not judged.
  std::optional<std::string> why_not(const PortConfig& port);
  // The same of all ports, a line for each. Call before the ports are brought to the configuration.
  Status check(const Config& config);

  // Call after each configure() or reconcile() of the ports.
  void apply(const Config& config, const std::vector<port::Port>& ports);
  // A notification of the kernel says that the DCB settings of an interface changed, by whomever.
  void changed(const std::string& interface, Clock::time_point now);
  // Hands what NICs counted to PFC's watchdogs and alarms, and turns PFC in NICs off where these withhold it.
  // `now_ns`: CLOCK_MONOTONIC.
  void poll(std::uint64_t now_ns);
  // The datapath is given back: settings go back to what they were before this daemon, where it knows.
  void leave();

  const std::map<std::string, Port>& ports() const { return ports_; }
  const Port* find(const std::string& name) const;
  // Counters anew, for who shows them.
  void refresh();

 private:
  void bring(Port& port);
  void count(Port& port, std::uint64_t now_ns);
  void write(Port& port);
  void keep_record(Port& port);
  void restore(const Port& port);
  void restore_strangers();
  net::DcbState wanted_of(Port& port) const;

  net::Netlink& netlink_;
  pfc::PfcService& pfc_;
  net::DcbRecords records_;
  bool looked_for_strangers_ = false;
  DcbConfig config_;
  std::vector<Application> applications_;
  std::map<std::string, Port> ports_;
};

}  // namespace lossless::dcb
