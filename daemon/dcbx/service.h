// SPDX-License-Identifier: Apache-2.0
// DCBX on the daemon's event loop: what LLDP hears goes to each port's machine, what that says goes out by
// LLDP, and what holds goes to the ports.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/dcbx/machine.h"
#include "daemon/lldp/agent.h"
#include "daemon/port/service.h"

namespace lossless::dcbx {

class DcbxService {
 public:
  DcbxService(port::PortService& ports, lldp::Agent& lldp);

  // Ports or the configuration may have changed: call after each configure() or reconcile() of the ports.
  void apply();

  // Called when what holds has changed a port outside of apply().
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  struct Port {
    Machine machine;
    std::string refused;        // why what holds is not applied to the port; empty: it is
    std::uint64_t changes = 0;  // of what holds
  };
  // By name of the port; those with DCBX.
  const std::map<std::string, Port>& ports() const { return by_name_; }

 private:
  void on_lldp(const lldp::Event& event);
  // Says, logs and applies what has come of a change.
  void settle(const std::string& name, const Operational& before, const Alarms& alarms_before);
  void apply_to_port(const std::string& name, Port& port);
  PortConfig overlay(const PortConfig& wanted) const;

  port::PortService& ports_;
  lldp::Agent& lldp_;
  std::function<void()> changed_ = [] {};
  std::map<std::string, Port> by_name_;
};

}  // namespace lossless::dcbx
