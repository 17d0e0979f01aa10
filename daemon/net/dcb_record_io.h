// SPDX-License-Identifier: Apache-2.0
// Records of drivers' settings in the folder of an instance, one file for each interface.
#pragma once

#include "daemon/net/dcb_io.h"
#include "daemon/net/dcb_record.h"

namespace lossless::net {

class DcbRecords {
 public:
  explicit DcbRecords(std::string folder) : folder_(std::move(folder)) {}

  // Of that very interface; a file that cannot be read is none.
  std::optional<DcbRecord> find(const std::string& interface, int ifindex) const;
  Status keep(const std::string& interface, const DcbRecord& record) const;
  void forget(const std::string& interface) const;
  std::vector<std::string> interfaces() const;
  // Brings an interface back to its record, which is then forgotten, also where that fails.
  Status restore(Netlink& netlink, const std::string& interface) const;

 private:
  std::string path(const std::string& interface) const;
  std::string folder_;
};

}  // namespace lossless::net
