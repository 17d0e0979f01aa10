// SPDX-License-Identifier: Apache-2.0
// Where an instance keeps what must outlive the daemon: <bpffs>/lossless/<instance>/.
#pragma once

#include <string>
#include <vector>

#include "loader/result.h"

namespace lossless {

inline constexpr const char* kBpffs = "/sys/fs/bpf";

enum class Hook { Ingress, Egress, Xdp };
// Those that every port has.
inline constexpr Hook kHooks[] = {Hook::Egress, Hook::Ingress};
inline constexpr Hook kAllHooks[] = {Hook::Egress, Hook::Ingress, Hook::Xdp};

struct Pins {
  explicit Pins(const std::string& name);
  std::string instance;
  std::string root;       // …/lossless/<instance>
  std::string maps;       // maps of the running datapath
  std::string maps_next;  // maps of a datapath with another ABI, until it has taken over
  std::string links;
  std::string link(unsigned ifindex, Hook hook) const;
  // A link that belongs to no port, by the name of its program.
  std::string shared_link(const std::string& program) const { return links + "/" + program; }
};

// Instances that have pins.
std::vector<std::string> list_instances();

struct LinkPin {
  unsigned ifindex;
  Hook hook;
  std::string path;
};

// Makes sure that kBpffs is a BPF file system; mounts one only where there is none.
// true: it had to be mounted (in this mount namespace alone, if that is private).
Result<bool> ensure_bpffs();
Status make_dirs(const Pins& pins, const std::string& maps_dir);
std::vector<LinkPin> list_links(const Pins& pins);
std::vector<std::string> list_dir(const std::string& path);
// Takes a pinned link off its interface at once (unpinned alone, the kernel does that a moment later, and until
// then nobody else has the place); absent is fine.
Status remove_link(const std::string& path);
// Unpins a folder of pins, and the folder; absent is fine.
Status remove_dir(const std::string& path);
// Unpins all that an instance has, links first.
Status remove_instance(const Pins& pins);

}  // namespace lossless
