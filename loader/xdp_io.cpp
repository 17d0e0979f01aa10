// SPDX-License-Identifier: Apache-2.0
#include "loader/xdp_io.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <port_xdp.skel.h>

#include <cerrno>

#include "loader/fd.h"

namespace lossless {
namespace {

// "id 12 (name)" of the program that is on the interface, empty: none is.
std::string present_program(unsigned ifindex) {
  __u32 id = 0;
  if (bpf_xdp_query_id(static_cast<int>(ifindex), 0, &id) || id == 0) return {};
  std::string text = "id " + std::to_string(id);
  const Fd fd(bpf_prog_get_fd_by_id(id));
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (fd && bpf_prog_get_info_by_fd(fd.get(), &info, &size) == 0 && info.name[0])
    text.append(" (").append(info.name).append(")");
  return text;
}

std::unexpected<std::string> why_not(unsigned ifindex, int error) {
  if (const std::string other = present_program(ifindex); !other.empty())
    return fail("another XDP program is there: " + other);
  if (error == EOPNOTSUPP || error == EINVAL)
    return fail("the driver has no native XDP (" + errno_text(error) + ")");
  return fail_errno("cannot attach native XDP", error);
}

}  // namespace

Result<XdpProgram> XdpProgram::load(const bpf_object* datapath, std::uint32_t cookie,
                                    std::uint32_t roce_sets) {
  Skeleton skeleton(port_xdp_bpf__open(), port_xdp_bpf__destroy);
  if (!skeleton) return fail_errno("cannot open the BPF object of XDP", errno);
  skeleton->rodata->ll_cookie = cookie;
  skeleton->rodata->ll_roce_sets = roce_sets;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton->obj) {
    if (bpf_map__is_internal(map)) continue;
    const int fd = bpf_object__find_map_fd_by_name(datapath, bpf_map__name(map));
    if (const int error = fd < 0 ? fd : bpf_map__reuse_fd(map, fd))
      return fail_errno(std::string("cannot share the map ") + bpf_map__name(map), -error);
  }
  if (const int error = port_xdp_bpf__load(skeleton.get()))
    return fail_errno("cannot load the XDP program", -error);
  return XdpProgram(std::move(skeleton));
}

int XdpProgram::fd() const { return bpf_program__fd(skeleton_->progs.ll_port_xdp); }

Status XdpProgram::attach(unsigned ifindex, const std::string& path) const {
  LIBBPF_OPTS(bpf_link_create_opts, options, .flags = XDP_FLAGS_DRV_MODE);
  const Fd link(bpf_link_create(fd(), static_cast<int>(ifindex), BPF_XDP, &options));
  if (!link) return why_not(ifindex, errno);
  if (bpf_obj_pin(link.get(), path.c_str())) return fail_errno("cannot pin " + path, errno);
  return {};
}

Status XdpProgram::exchange(const std::string& path) const {
  const Fd link(bpf_obj_get(path.c_str()));
  if (!link || bpf_link_update(link.get(), fd(), nullptr))
    return fail_errno("cannot exchange the program of " + path, errno);
  return {};
}

}  // namespace lossless
