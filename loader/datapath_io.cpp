// SPDX-License-Identifier: Apache-2.0
#include "loader/datapath_io.h"

#include <bpf/libbpf.h>
#include <datapath.skel.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <set>

#include "loader/fd.h"

namespace lossless {
namespace {

constexpr std::uint32_t kMetaRow = 0;

std::optional<ll_meta> read_meta(const std::string& maps_dir) {
  const Fd fd(bpf_obj_get((maps_dir + "/meta").c_str()));
  if (!fd) return std::nullopt;
  bpf_map_info info{};
  __u32 size = sizeof info;
  ll_meta meta{};
  if (bpf_map_get_info_by_fd(fd.get(), &info, &size) || info.value_size != sizeof meta) return ll_meta{};
  if (bpf_map_lookup_elem(fd.get(), &kMetaRow, &meta)) return ll_meta{};
  return meta;
}

// What the instance writes on the packets it counts: the same over restarts, another for every instance.
std::uint32_t cookie_of(const std::string& instance) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  const auto take = [&](std::uint8_t byte) { hash = (hash ^ byte) * 16777619U; };
  for (const char c : instance) take(static_cast<std::uint8_t>(c));
  for (std::uint64_t inode = current_netns(); inode != 0; inode >>= 8U)
    take(static_cast<std::uint8_t>(inode));
  return hash != 0 ? hash : 1;
}

bool is_elsewhere(const ll_meta& meta) { return meta.netns != 0 && meta.netns != current_netns(); }

Result<Datapath::Origin> find_origin(const Pins& pins) {
  if (auto here = check_namespace(pins); !here) return std::unexpected(here.error());
  const std::optional<ll_meta> meta = read_meta(pins.maps);
  if (!meta) return Datapath::Origin::Fresh;
  if (is_elsewhere(*meta)) {
    // Its namespace is gone: what is pinned serves nobody.
    for (const std::string& dir : {pins.links, pins.maps, pins.maps_next})
      if (auto gone = remove_dir(dir); !gone) return std::unexpected(gone.error());
    return Datapath::Origin::Fresh;
  }
  return meta->abi == LL_ABI_VERSION ? Datapath::Origin::Adopted : Datapath::Origin::Replacing;
}

std::string last_libbpf_line;

int keep_libbpf_line(libbpf_print_level level, const char* format, va_list args) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  if (vsnprintf(line, sizeof line, format, args) > 0 && last_libbpf_line.empty()) {
    last_libbpf_line = line;
    while (last_libbpf_line.ends_with('\n')) last_libbpf_line.pop_back();
  }
  return 0;
}

// Sets the size, and unpins a map of another one: programs that still run keep theirs until they are
// exchanged.
Status resize(bpf_map* map, std::uint32_t rows) {
  if (const int error = bpf_map__set_max_entries(map, rows)) return fail_errno("cannot size a map", error);
  const char* path = bpf_map__pin_path(map);
  const Fd pinned(bpf_obj_get(path));
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (!pinned || bpf_map_get_info_by_fd(pinned.get(), &info, &size) || info.max_entries == rows) return {};
  if (unlink(path)) return fail_errno(std::string("cannot remove ") + path, errno);
  return {};
}

}  // namespace

unsigned possible_cpus() {
  static const int count = libbpf_num_possible_cpus();
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

std::uint64_t current_netns() {
  struct stat st{};
  return stat("/proc/thread-self/ns/net", &st) == 0 ? st.st_ino : 0;
}

Status check_namespace(const Pins& pins) {
  const std::optional<ll_meta> meta = read_meta(pins.maps);
  if (!meta || !is_elsewhere(*meta)) return {};
  for (const LinkPin& pin : list_links(pins))
    if (live_ifindex(pin) != 0)
      return fail("instance '" + pins.instance + "' lives in another network namespace (inode " +
                  std::to_string(meta->netns) + ", this one is " + std::to_string(current_netns()) +
                  "): go there with --netns, or choose another instance name");
  return {};
}

unsigned live_ifindex(const LinkPin& pin) {
  const Fd fd(bpf_obj_get(pin.path.c_str()));
  bpf_link_info info{};
  __u32 size = sizeof info;
  if (!fd || bpf_link_get_info_by_fd(fd.get(), &info, &size)) return 0;
  // The name of the union's member for tcx is newer than the headers of some supported systems; the
  // layout is the one of netns links: ifindex first.
  return info.netns.netns_ino;
}

Datapath::Datapath(Pins pins, Origin origin)
    : pins_(std::move(pins)), origin_(origin), skeleton_(nullptr, datapath_bpf__destroy) {}
Datapath::Datapath(Datapath&&) noexcept = default;
Datapath& Datapath::operator=(Datapath&&) noexcept = default;
Datapath::~Datapath() = default;

Result<Datapath> Datapath::open(const std::string& instance, const std::string& build,
                                const MapSizes& sizes) {
  Pins pins(instance);
  if (auto mounted = ensure_bpffs(); !mounted) return std::unexpected(mounted.error());
  auto origin = find_origin(pins);
  if (!origin) return std::unexpected(origin.error());
  // Left over from an upgrade that was cut short; the links still run on `maps`.
  if (auto gone = remove_dir(pins.maps_next); !gone) return std::unexpected(gone.error());

  Datapath datapath(std::move(pins), *origin);
  auto loaded = datapath.load(build, sizes);
  if (!loaded && *origin == Origin::Adopted) {
    // Same version number, other layout: a development build. Treat it as an upgrade.
    datapath.origin_ = Origin::Replacing;
    loaded = datapath.load(build, sizes);
  }
  if (!loaded) {
    if (datapath.origin_ == Origin::Fresh) (void)datapath.detach_all();  // only empty folders so far
    return std::unexpected(loaded.error());
  }
  return datapath;
}

Status Datapath::load(const std::string& build, const MapSizes& sizes) {
  libbpf_set_print(keep_libbpf_line);
  last_libbpf_line.clear();
  const std::string& dir = origin_ == Origin::Replacing ? pins_.maps_next : pins_.maps;
  if (auto made = make_dirs(pins_, dir); !made) return made;

  skeleton_.reset(datapath_bpf__open());
  if (!skeleton_) return fail_errno("cannot open the BPF object", errno);
  skeleton_->rodata->ll_netns = static_cast<__u32>(current_netns());
  skeleton_->rodata->ll_cookie = cookie_of(pins_.instance);
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton_->obj) {
    if (bpf_map__is_internal(map)) continue;
    if (const int error = bpf_map__set_pin_path(map, (dir + "/" + bpf_map__name(map)).c_str()))
      return fail_errno("cannot set a pin path", error);
  }
  const std::uint32_t sets = LL_ROCE_SETS_FOR(sizes.roce_flows);
  skeleton_->rodata->ll_roce_sets = sets;
  for (const auto& [sized, rows] : {std::pair{skeleton_->maps.roce_sets, sets},
                                    std::pair{skeleton_->maps.roce_flows, sets * LL_ROCE_WAYS},
                                    std::pair{skeleton_->maps.roce_pairs, sizes.roce_flows}})
    if (auto ok = resize(sized, rows); !ok) return ok;
  if (const int error = datapath_bpf__load(skeleton_.get()))
    return fail("cannot load the BPF programs: " + errno_text(error) +
                (last_libbpf_line.empty() ? "" : " (" + last_libbpf_line + ")"));

  const auto& maps = skeleton_->maps;
  maps_ = {.ports = PortTable(bpf_map__fd(maps.port_index), bpf_map__fd(maps.ports)),
           .wred = Map<std::uint32_t, ll_wred>(bpf_map__fd(maps.wred)),
           .ewma = Map<std::uint32_t, ll_ewma>(bpf_map__fd(maps.ewma)),
           .ecn_stats = CounterMap<ll_ecn_stats>(bpf_map__fd(maps.ecn_stats)),
           .class_stats = CounterMap<ll_class_stats>(bpf_map__fd(maps.class_stats)),
           .port_stats = CounterMap<ll_port_stats>(bpf_map__fd(maps.port_stats)),
           .mmu = Map<std::uint32_t, ll_mmu>(bpf_map__fd(maps.mmu)),
           .pools = Map<std::uint32_t, ll_pool>(bpf_map__fd(maps.pools)),
           .pfc = Map<std::uint32_t, ll_pfc>(bpf_map__fd(maps.pfc)),
           .pause = Map<std::uint32_t, ll_pause>(bpf_map__fd(maps.pause)),
           .watchdog = Map<std::uint32_t, ll_watchdog>(bpf_map__fd(maps.watchdog)),
           .pfc_stats = CounterMap<ll_pfc_stats>(bpf_map__fd(maps.pfc_stats)),
           .pfc_latency = CounterMap<ll_latency>(bpf_map__fd(maps.pfc_latency)),
           .zone_hosts = Map<ll_zone_key, ll_zone_host>(bpf_map__fd(maps.zone_hosts)),
           .zone_bits = Map<ll_zone_key, ll_zone_bits>(bpf_map__fd(maps.zone_bits)),
           .zone_allow = Map<ll_allow_key, std::uint32_t>(bpf_map__fd(maps.zone_allow)),
           .zone_stats = CounterMap<ll_zone_stats>(bpf_map__fd(maps.zone_stats)),
           .apps = Map<std::uint32_t, std::uint32_t>(bpf_map__fd(maps.apps)),
           .hooks = Map<std::uint32_t, ll_hook>(bpf_map__fd(maps.hooks)),
           .hook_stats = CounterMap<ll_hook_stats>(bpf_map__fd(maps.hook_stats)),
           .hook_flows = Map<ll_hook_key, ll_hook_flow>(bpf_map__fd(maps.hook_flows)),
           .roce_config = Map<std::uint32_t, ll_roce_config>(bpf_map__fd(maps.roce_config)),
           .roce_sets = Map<std::uint32_t, ll_roce_set>(bpf_map__fd(maps.roce_sets)),
           .roce_flows = Map<std::uint32_t, ll_roce_flow>(bpf_map__fd(maps.roce_flows)),
           .roce_set_count = sets,
           .roce_forget = bpf_program__fd(skeleton_->progs.ll_roce_forget),
           .roce_pairs = Map<ll_roce_key, ll_roce_pair>(bpf_map__fd(maps.roce_pairs)),
           .roce_stats = CounterMap<ll_roce_stats>(bpf_map__fd(maps.roce_stats)),
           .ipcc = Map<std::uint32_t, ll_ipcc>(bpf_map__fd(maps.ipcc)),
           .ipcc_state = Map<std::uint32_t, ll_ipcc_state>(bpf_map__fd(maps.ipcc_state)),
           .ipcc_stats = CounterMap<ll_ipcc_stats>(bpf_map__fd(maps.ipcc_stats)),
           .cnp_latency = CounterMap<ll_latency>(bpf_map__fd(maps.cnp_latency)),
           .overlay = Map<std::uint32_t, ll_overlay>(bpf_map__fd(maps.overlay)),
           .overlay_ends = Map<ll_zone_key, std::uint32_t>(bpf_map__fd(maps.overlay_ends)),
           .overlay_stats = CounterMap<ll_overlay_stats>(bpf_map__fd(maps.overlay_stats)),
           .hosts = Map<std::uint32_t, ll_host>(bpf_map__fd(maps.hosts)),
           .host_qps = Map<ll_host_qp_key, ll_host_qp>(bpf_map__fd(maps.host_qps)),
           .rp_flows = Map<ll_rp_key, ll_rp_flow>(bpf_map__fd(maps.rp_flows)),
           .host_stats = CounterMap<ll_host_stats>(bpf_map__fd(maps.host_stats)),
           .host_events = bpf_map__fd(maps.host_events),
           .pfc_events = bpf_map__fd(maps.pfc_events)};
  ll_meta meta{.abi = LL_ABI_VERSION, .reserved = 0, .netns = current_netns(), .build = {}};
  build.copy(meta.build, sizeof meta.build - 1);
  return Map<std::uint32_t, ll_meta>(bpf_map__fd(maps.meta)).set(kMetaRow, meta);
}

int Datapath::program(Hook hook) {
  const auto& progs = skeleton_->progs;
  if (hook == Hook::Xdp) return load_xdp() ? xdp_->fd() : -1;
  return bpf_program__fd(hook == Hook::Ingress ? progs.ll_classify_ingress : progs.ll_port_egress);
}

Status Datapath::load_xdp() {
  if (xdp_) return {};
  auto loaded =
      XdpProgram::load(skeleton_->obj, skeleton_->rodata->ll_cookie, skeleton_->rodata->ll_roce_sets);
  if (!loaded) return std::unexpected(loaded.error());
  xdp_ = std::move(*loaded);
  return {};
}

Status Datapath::attach_xdp(unsigned ifindex) {
  if (auto loaded = load_xdp(); !loaded) return loaded;
  const std::string path = pins_.link(ifindex, Hook::Xdp);
  if (has_xdp(ifindex)) return xdp_->exchange(path);
  // The interface of this number went away and another took it.
  if (auto gone = detach_xdp(ifindex); !gone) return gone;
  return xdp_->attach(ifindex, path);
}

Status Datapath::detach_xdp(unsigned ifindex) { return remove_link(pins_.link(ifindex, Hook::Xdp)); }

bool Datapath::has_xdp(unsigned ifindex) const {
  return live_ifindex({ifindex, Hook::Xdp, pins_.link(ifindex, Hook::Xdp)}) == ifindex;
}

int Datapath::leave_program() const { return bpf_program__fd(skeleton_->progs.ll_left_queue); }

std::uint64_t Datapath::missed_runs() const {
  std::uint64_t missed = 0;
  for (const bpf_program* program : {skeleton_->progs.ll_left_queue, skeleton_->progs.ll_dropped_by_queue}) {
    bpf_prog_info info{};
    __u32 size = sizeof info;
    if (bpf_prog_get_info_by_fd(bpf_program__fd(program), &info, &size) == 0) missed += info.recursion_misses;
  }
  return missed;
}

Status Datapath::attach_hook(unsigned ifindex, Hook hook) {
  using Link = std::unique_ptr<bpf_link, int (*)(bpf_link*)>;
  const std::string path = pins_.link(ifindex, hook);
  bpf_program* program =
      hook == Hook::Ingress ? skeleton_->progs.ll_classify_ingress : skeleton_->progs.ll_port_egress;

  if (const Link pinned(bpf_link__open(path.c_str()), bpf_link__destroy); pinned) {
    if (live_ifindex({ifindex, hook, path}) == ifindex) {
      if (const int error = bpf_link__update_program(pinned.get(), program))
        return fail_errno("cannot exchange the program of " + path, error);
      return {};
    }
    // The interface of this number went away and another took it.
    if (unlink(path.c_str())) return fail_errno("cannot remove " + path, errno);
  }
  const Link link(bpf_program__attach_tcx(program, static_cast<int>(ifindex), nullptr), bpf_link__destroy);
  if (!link) return fail_errno("cannot attach to tcx of interface " + std::to_string(ifindex), errno);
  if (const int error = bpf_link__pin(link.get(), path.c_str()))
    return fail_errno("cannot pin " + path, error);
  return {};
}

// Links of tracepoints cannot exchange their program: the new one is attached before the old one goes. What
// leaves a queue in between is taken off twice, which the counters survive.
Status Datapath::attach_shared() {
  if (shared_attached_) return {};
  using Link = std::unique_ptr<bpf_link, int (*)(bpf_link*)>;
  for (bpf_program* program : {skeleton_->progs.ll_left_queue, skeleton_->progs.ll_dropped_by_queue}) {
    const std::string name = bpf_program__name(program);
    const std::string path = pins_.shared_link(name);
    const Link link(bpf_program__attach(program), bpf_link__destroy);
    if (!link) return fail_errno("cannot attach " + name + " to its tracepoint", errno);
    if (unlink(path.c_str()) && errno != ENOENT) return fail_errno("cannot remove " + path, errno);
    if (const int error = bpf_link__pin(link.get(), path.c_str()))
      return fail_errno("cannot pin " + path, error);
  }
  shared_attached_ = true;
  return {};
}

Status Datapath::attach(unsigned ifindex) {
  if (auto attached = attach_shared(); !attached) return attached;
  for (const Hook hook : kHooks)
    if (auto attached = attach_hook(ifindex, hook); !attached) return attached;
  return {};
}

Status Datapath::detach(unsigned ifindex) {
  for (const Hook hook : {Hook::Xdp, Hook::Ingress, Hook::Egress})
    if (auto gone = remove_link(pins_.link(ifindex, hook)); !gone) return gone;
  return {};
}

bool Datapath::is_attached(unsigned ifindex) const {
  return std::ranges::all_of(
      kHooks, [&](Hook hook) { return live_ifindex({ifindex, hook, pins_.link(ifindex, hook)}) == ifindex; });
}

std::string Datapath::other_owner(unsigned ifindex) const {
  for (const std::string& name : list_instances()) {
    const Pins pins(name);
    const std::optional<ll_meta> meta = name == pins_.instance ? std::nullopt : read_meta(pins.maps);
    if (!meta || meta->netns != current_netns()) continue;
    for (const Hook hook : kHooks)
      if (live_ifindex({ifindex, hook, pins.link(ifindex, hook)}) == ifindex) return name;
  }
  return {};
}

std::vector<unsigned> Datapath::linked() const {
  std::set<unsigned> all;
  for (const LinkPin& pin : list_links(pins_)) all.insert(pin.ifindex);
  return {all.begin(), all.end()};
}

Status Datapath::commit() {
  if (origin_ != Origin::Replacing) return {};
  if (auto gone = remove_dir(pins_.maps); !gone) return gone;
  if (rename(pins_.maps_next.c_str(), pins_.maps.c_str()))
    return fail_errno("cannot rename " + pins_.maps_next, errno);
  origin_ = Origin::Adopted;
  return {};
}

Status Datapath::detach_all() { return remove_instance(pins_); }

}  // namespace lossless
