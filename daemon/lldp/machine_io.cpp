// SPDX-License-Identifier: Apache-2.0
#include "daemon/lldp/machine_io.h"

#include <sys/utsname.h>

#include <fstream>

namespace lossless::lldp {
namespace {

bool is_on(const char* path) {
  std::ifstream file(path);
  int value = 0;
  return file >> value && value != 0;
}

}  // namespace

Machine read_machine() {
  utsname names{};
  uname(&names);
  return {
      .host_name = names.nodename,
      .description = std::string("Lossless " LL_VERSION " on ") + names.sysname + " " + names.release,
      .routes = is_on("/proc/sys/net/ipv4/ip_forward") || is_on("/proc/sys/net/ipv6/conf/all/forwarding")};
}

}  // namespace lossless::lldp
