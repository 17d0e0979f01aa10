// SPDX-License-Identifier: Apache-2.0
#include "loader/pins_io.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "loader/fd.h"

namespace lossless {
namespace {

constexpr const char* hook_name(Hook hook) {
  return hook == Hook::Xdp ? "xdp" : hook == Hook::Ingress ? "ingress" : "egress";
}

std::string in_folder(const std::string& folder, const std::string& name) {
  std::string path = folder;
  return path.append("/").append(name);
}

bool is_bpffs(const char* path) {
  struct statfs fs{};
  return statfs(path, &fs) == 0 && fs.f_type == BPF_FS_MAGIC;
}

std::string all_instances() { return std::string(kBpffs) + "/lossless"; }

Status make_dir(const std::string& path) {
  if (mkdir(path.c_str(), 0700) && errno != EEXIST) return fail_errno("cannot create " + path, errno);
  return {};
}

}  // namespace

Pins::Pins(const std::string& name)
    : instance(name),
      root(all_instances() + "/" + name),
      maps(root + "/maps"),
      maps_next(root + "/maps_next"),
      links(root + "/links") {}

std::string Pins::link(unsigned ifindex, Hook hook) const {
  return links + "/" + std::to_string(ifindex) + "_" + hook_name(hook);
}

Result<bool> ensure_bpffs() {
  if (is_bpffs(kBpffs)) return false;
  if (mount("bpf", kBpffs, "bpf", 0, "mode=0700"))
    return fail_errno(std::string("cannot mount a BPF file system on ") + kBpffs, errno);
  return true;
}

Status make_dirs(const Pins& pins, const std::string& maps_dir) {
  for (const std::string& dir : {all_instances(), pins.root, maps_dir, pins.links})
    if (auto made = make_dir(dir); !made) return made;
  return {};
}

std::vector<std::string> list_dir(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(path.c_str()), closedir);
  if (!dir) return names;
  // One DIR is used by one thread; readdir is safe then.
  while (const dirent* entry = readdir(dir.get()))  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

std::vector<std::string> list_instances() { return list_dir(all_instances()); }

std::vector<LinkPin> list_links(const Pins& pins) {
  std::vector<LinkPin> found;
  for (const std::string& name : list_dir(pins.links))
    for (const Hook hook : kAllHooks) {
      unsigned ifindex = 0;
      const auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), ifindex);
      if (error == std::errc{} && std::string("_") + hook_name(hook) == rest)
        found.push_back({ifindex, hook, in_folder(pins.links, name)});
    }
  return found;
}

Status remove_dir(const std::string& path) {
  for (const std::string& name : list_dir(path)) {
    const std::string pin = in_folder(path, name);
    if (unlink(pin.c_str()) && errno != ENOENT) return fail_errno("cannot remove " + pin, errno);
  }
  if (rmdir(path.c_str()) && errno != ENOENT) return fail_errno("cannot remove " + path, errno);
  return {};
}

Status remove_link(const std::string& path) {
  const Fd link(bpf_obj_get(path.c_str()));
  if (link) (void)bpf_link_detach(link.get());  // not every kind can; it goes with its pin, too
  if (unlink(path.c_str()) && errno != ENOENT) return fail_errno("cannot remove " + path, errno);
  return {};
}

Status remove_instance(const Pins& pins) {
  for (const std::string& name : list_dir(pins.links))
    if (auto gone = remove_link(in_folder(pins.links, name)); !gone) return gone;
  for (const std::string& dir : {pins.links, pins.maps_next, pins.maps, pins.root})
    if (auto gone = remove_dir(dir); !gone) return gone;
  rmdir(all_instances().c_str());  // stays while other instances are there
  return {};
}

}  // namespace lossless
