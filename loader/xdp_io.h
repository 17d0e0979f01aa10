// SPDX-License-Identifier: Apache-2.0
// The XDP program of an instance (bpf/port_xdp.bpf.c), for ports whose driver runs it. An object of its own,
// loaded when the first port wants it: most instances have veth and tap alone and need not wait for the
// verifier.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loader/result.h"

struct bpf_object;
struct port_xdp_bpf;

namespace lossless {

class XdpProgram {
 public:
  // On the maps of the loaded object `datapath`, and with its cookie and its flow table's number of sets.
  static Result<XdpProgram> load(const bpf_object* datapath, std::uint32_t cookie, std::uint32_t roce_sets);

  // In native mode alone, as a link that is pinned at `path`.
  Status attach(unsigned ifindex, const std::string& path) const;
  // The program of the link that is pinned at `path`, atomically.
  Status exchange(const std::string& path) const;
  int fd() const;

 private:
  using Skeleton = std::unique_ptr<port_xdp_bpf, void (*)(port_xdp_bpf*)>;
  explicit XdpProgram(Skeleton skeleton) : skeleton_(std::move(skeleton)) {}
  Skeleton skeleton_;
};

}  // namespace lossless
