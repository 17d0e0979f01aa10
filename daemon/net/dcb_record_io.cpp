// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/dcb_record_io.h"

#include <net/if.h>

#include <filesystem>

#include "daemon/core/file_io.h"

namespace lossless::net {
namespace {

constexpr std::string_view kPrefix = "dcb-";
constexpr std::size_t kMaxBytes = 1U << 20U;

}  // namespace

std::string DcbRecords::path(const std::string& interface) const {
  return folder_ + "/" + std::string(kPrefix) + interface;
}

std::optional<DcbRecord> DcbRecords::find(const std::string& interface, int ifindex) const {
  const auto text = read_file(path(interface), kMaxBytes);
  auto record = text ? parse_record(*text) : std::nullopt;
  if (!record || record->ifindex != ifindex || !state_of(*record)) return std::nullopt;
  return record;
}

Status DcbRecords::keep(const std::string& interface, const DcbRecord& record) const {
  const std::string file = path(interface);
  if (auto done = replace_file(file, to_text(record)); !done) return fail(file + ": " + done.error());
  return {};
}

void DcbRecords::forget(const std::string& interface) const {
  std::error_code ignored;
  std::filesystem::remove(path(interface), ignored);
}

std::vector<std::string> DcbRecords::interfaces() const {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kPrefix)) out.push_back(name.substr(kPrefix.size()));
  }
  return out;
}

Status DcbRecords::restore(Netlink& netlink, const std::string& interface) const {
  const auto before = find(interface, static_cast<int>(if_nametoindex(interface.c_str())));
  forget(interface);
  if (!before) return {};  // that interface is gone, and its settings with it
  const auto now = read_dcb_state(netlink, interface);
  if (!now) return std::unexpected(now.error());
  if (!*now) return {};
  const auto done = apply_dcb(netlink, interface, **now, only_parts(*state_of(*before), before->parts));
  if (done) return {};
  return fail(std::string(to_string(done.error().front().part)) + " " + done.error().front().text);
}

}  // namespace lossless::net
