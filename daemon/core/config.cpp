// SPDX-License-Identifier: Apache-2.0
// The values a file that says nothing has.
#include "daemon/core/config.h"

#include "bpf/stages/roce.h"

namespace lossless {

std::string ConfigError::text() const {
  std::string place = file;
  if (line > 0) place += ":" + std::to_string(line) + ":" + std::to_string(column);
  return place + ": " + message;
}

PriorityMaps default_maps() {
  PriorityMaps maps;
  for (unsigned i = 0; i < kTcs; ++i) {
    maps.dot1p_tc[i] = maps.dot1p_rewrite[i] = static_cast<std::uint8_t>(i);
    maps.dscp_rewrite[i] = static_cast<std::uint8_t>(i * 8);
  }
  for (unsigned i = 0; i < kDscps; ++i) {
    maps.dscp_dot1p[i] = static_cast<std::uint8_t>(i / 8);  // the class selector, RFC 2474 section 4.2.2
    maps.dscp_dscp[i] = static_cast<std::uint8_t>(i);
  }
  return maps;
}

std::vector<Application> default_applications() {
  return {{.field = AppField::Udp, .protocol = LL_ROCE_PORT, .priority = 3}};
}

QueueConfig default_queue(unsigned tc) {
  QueueConfig queue;
  queue.limit_bytes = kDefaultLimitBytes;
  if (tc >= kFirstStrictTc) return queue;
  queue.schedule = Schedule::Wrr;
  queue.group = kDefaultGroup;
  queue.weight = kDefaultWeight;
  return queue;
}

std::string default_socket(std::string_view instance) {
  return "/run/lossless/" + std::string(instance) + "/api.sock";
}

}  // namespace lossless
