// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "daemon/core/wire.h"
#include "daemon/dcqcn/tables.h"
#include "daemon/ecn_overlay/tables.h"
#include "daemon/hook/tables.h"
#include "daemon/port/tables.h"
#include "daemon/roce/plan.h"

namespace lossless::port {
namespace {

constexpr const char* kByCommand = "by command";

template <class Row>
bool same(const std::optional<Row>& a, const Row& b) {
  return a && std::memcmp(&*a, &b, sizeof b) == 0;
}

// Why an interface cannot be a port, or nothing.
std::optional<std::string> unsuitable(const net::Link& link) {
  if (link.loopback) return "is the loopback interface";
  if (!link.ethernet) return "does not carry Ethernet frames";
  return std::nullopt;
}

const char* name_of(PortState state) {
  switch (state) {
    case PortState::Attached:
      return "attached";
    case PortState::Absent:
      return "absent";
    case PortState::Refused:
      return "refused";
    case PortState::Detached:
      return "detached";
  }
  return "unknown";
}

void enter(Port& port, PortState state, const std::string& reason) {
  if (port.state == state && port.reason == reason) return;
  port.state = state;
  port.reason = reason;
  spdlog::log(state == PortState::Refused ? spdlog::level::warn : spdlog::level::info, "port {}: {}{}{}",
              port.config.name, name_of(state), reason.empty() ? "" : ": ", reason);
}

}  // namespace

const Port* PortService::find(const std::string& name) const {
  const auto at = std::ranges::find_if(ports_, [&](const Port& port) { return port.config.name == name; });
  return at == ports_.end() ? nullptr : &*at;
}

std::string PortService::no_port(const std::string& name) const {
  std::string text = "no port " + name + "; ports are ";
  if (ports_.empty()) return "no port " + name + "; no ports are configured";
  for (const Port& port : ports_) text += (&port == &ports_.front() ? "" : ", ") + port.config.name;
  return text;
}

// Keeps the row that an earlier daemon gave this interface, so that its counters go on.
std::uint32_t PortService::choose_slot(unsigned ifindex) {
  std::set<std::uint32_t> used;
  for (const Port& port : ports_) used.insert(port.slot);
  if (const auto pinned = maps().ports.get(ifindex); ifindex && pinned && !used.contains(pinned->slot))
    return pinned->slot;
  for (const std::uint32_t key : maps().ports.interfaces())
    if (const auto row = maps().ports.get(key)) used.insert(row->slot);
  std::uint32_t slot = 0;
  while (used.contains(slot) && slot + 1 < LL_MAX_PORTS) ++slot;
  maps().port_stats.clear(slot);
  maps().hook_stats.clear(slot);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    maps().ecn_stats.clear(LL_ROW(slot, tc));
    maps().class_stats.clear(LL_ROW(slot, tc));
    (void)maps().ewma.set(LL_ROW(slot, tc), {});
    maps().ipcc_stats.clear(LL_ROW(slot, tc));
  }
  maps().pfc_stats.clear(slot);
  maps().zone_stats.clear(slot);
  maps().roce_stats.clear(slot);
  maps().overlay_stats.clear(slot);
  maps().host_stats.clear(slot);
  pfc_.clear_port(slot);
  return slot;
}

Status PortService::configure(const Config& config) {
  for (Port& port : ports_) {
    const bool stays =
        std::ranges::any_of(config.ports, [&](const auto& c) { return c.name == port.config.name; });
    if (stays) continue;
    if (auto given = give_back(port); !given) spdlog::error("port {}: {}", port.config.name, given.error());
    spdlog::info("port {}: given back", port.config.name);
  }
  const auto links = net::list_links(netlink_);
  if (!links) return std::unexpected(links.error());

  std::vector<Port> old = std::exchange(ports_, {});
  std::erase_if(old, [&](const Port& port) {
    return std::ranges::none_of(config.ports, [&](const auto& c) { return c.name == port.config.name; });
  });
  ports_.reserve(config.ports.size());
  for (const PortConfig& wanted : config.ports) {
    const auto known =
        std::ranges::find_if(old, [&](const Port& port) { return port.config.name == wanted.name; });
    if (known == old.end()) continue;
    ports_.push_back(std::move(*known));
    ports_.back().config = wanted;
    ports_.back().xdp_refused.clear();  // a reload tries again
    if (ports_.back().state == PortState::Detached) enter(ports_.back(), PortState::Absent, "");
  }
  for (const PortConfig& wanted : config.ports) {
    if (find(wanted.name)) continue;
    const auto link = std::ranges::find_if(*links, [&](const net::Link& l) { return l.name == wanted.name; });
    Port port;
    port.config = wanted;
    port.slot = choose_slot(link == links->end() ? 0 : static_cast<unsigned>(link->ifindex));
    ports_.push_back(std::move(port));
  }
  running_ = config;
  for (Port& port : ports_) (void)take_overlay(port);  // what does not fit is told by apply_overlay()
  if (auto ok = add_applications(); !ok) return ok;
  paces_ = dcqcn::wants_pacing(config) && net::kernel_has_qdisc("fq");
  pfc_.set_buffer(config.buffer);
  if (auto ok = hooks_.configure(config); !ok) return ok;
  pfc_.set_moved_tcs(hook::target_tcs(config));
  if (auto dropped = drop_strangers(*links); !dropped) return dropped;
  const Status done = reconcile();
  drop_applications();
  return done;
}

// Of all tables, by key of the map `apps`.
std::map<std::uint32_t, std::uint32_t> PortService::wanted_applications() const {
  std::map<std::uint32_t, std::uint32_t> wanted;
  const auto add = [&](std::uint32_t table, const std::vector<Application>& entries) {
    for (const Application& entry : entries)
      wanted[table | LL_APP_KEY(entry.field, entry.protocol)] = entry.priority;
  };
  add(LL_APP_COMMON, running_.applications);
  for (const Port& port : ports_)
    if (port.config.applications) add(LL_APP_TABLE(port.slot), *port.config.applications);
  return wanted;
}

// Before ports go by them.
Status PortService::add_applications() {
  for (const auto& [key, priority] : wanted_applications())
    if (auto ok = maps().apps.set(key, priority); !ok)
      return fail("the application tables of all ports have no room for more than " +
                  std::to_string(LL_APPS) + " entries: " + ok.error());
  return {};
}

// Once no port goes by them.
void PortService::drop_applications() {
  const auto wanted = wanted_applications();
  for (const std::uint32_t key : maps().apps.keys())
    if (!wanted.contains(key)) maps().apps.erase(key);
}

// What an earlier daemon managed and this configuration does not name.
Status PortService::drop_strangers(const std::vector<net::Link>& links) {
  std::set<unsigned> wanted;
  for (const net::Link& link : links)
    if (find(link.name)) wanted.insert(static_cast<unsigned>(link.ifindex));
  std::set<unsigned> present;
  for (const std::uint32_t ifindex : maps().ports.interfaces()) present.insert(ifindex);
  for (const unsigned ifindex : datapath_.linked()) present.insert(ifindex);
  for (const unsigned ifindex : present) {
    if (wanted.contains(ifindex)) continue;
    if (auto ok = datapath_.detach(ifindex); !ok) return ok;
    const bool exists = std::ranges::any_of(
        links, [&](const net::Link& l) { return l.ifindex == static_cast<int>(ifindex); });
    if (exists)
      if (auto ok = net::remove_tree(netlink_, static_cast<int>(ifindex)); !ok) return ok;
    maps().ports.erase(ifindex);
    spdlog::info("interface {}: given back, the configuration does not name it", ifindex);
  }
  return {};
}

Status PortService::finish_start() { return datapath_.commit(); }

Status PortService::reconcile() {
  const auto links = net::list_links(netlink_);
  if (!links) return std::unexpected(links.error());
  const auto qdiscs = net::list_qdiscs(netlink_);
  if (!qdiscs) return std::unexpected(qdiscs.error());
  for (Port& port : ports_)
    if (port.state != PortState::Detached) reconcile_port(port, *links, *qdiscs);
  return {};
}

void PortService::reconcile_port(Port& port, const std::vector<net::Link>& links,
                                 const std::vector<net::QdiscInfo>& qdiscs) {
  const auto link =
      std::ranges::find_if(links, [&](const net::Link& l) { return l.name == port.config.name; });
  const int ifindex = link == links.end() ? 0 : link->ifindex;
  if (port.link.ifindex && port.link.ifindex != ifindex) forget_interface(port);
  if (!ifindex) return enter(port, PortState::Absent, "no such interface");
  port.link = *link;
  if (const auto why = unsuitable(*link)) return enter(port, PortState::Refused, *why);
  if (port.state != PortState::Attached)
    if (const auto why = condition_(port.config)) return enter(port, PortState::Refused, *why);
  if (const std::string owner = datapath_.other_owner(static_cast<unsigned>(ifindex)); !owner.empty())
    return enter(port, PortState::Refused, "is managed by instance '" + owner + "'");
  if (auto taken = take_over(port, qdiscs); !taken) {
    // A port is ours as a whole or not at all.
    const std::string& reason = taken.error();
    if (auto given = give_back(port); !given) spdlog::error("port {}: {}", port.config.name, given.error());
    return enter(port, PortState::Refused, reason);
  }
  enter(port, PortState::Attached, "");
}

// Queue tree, rows, programs, in this order: a packet is never classified into a queue that is not there.
Status PortService::take_over(Port& port, const std::vector<net::QdiscInfo>& qdiscs) {
  const auto ifindex = static_cast<unsigned>(port.link.ifindex);
  QueueTree tree = plan_tree(port.config, port.link.mtu);
  tree.paced = paces_;
  const auto info = plan_pfc(port);
  if (!info) return std::unexpected(info.error());
  const bool in_place = net::has_tree(qdiscs, port.link.ifindex);
  if (!in_place) port.tree.reset();
  if (!in_place || port.tree != tree) {
    if (auto ok = net::apply_tree(netlink_, port.link.ifindex, tree, port.tree); !ok) return ok;
    port.tree = tree;
  }
  if (auto ok = write_rows(port); !ok) return ok;
  if (auto ok = pfc_.set_port(*info); !ok) return ok;
  const bool anew = port.state != PortState::Attached || !datapath_.is_attached(ifindex);
  if (anew)
    if (auto ok = datapath_.attach(ifindex); !ok) return ok;
  return take_xdp(port, anew);
}

// `anew`: the programs are this daemon's for the first time. What was refused is not tried again and again.
Status PortService::take_xdp(Port& port, bool anew) {
  const auto ifindex = static_cast<unsigned>(port.link.ifindex);
  if (!wants_xdp(port.config.xdp, port.link.kind)) {
    port.xdp = false;
    port.xdp_refused.clear();
    return datapath_.detach_xdp(ifindex);
  }
  if (!anew && port.config.xdp == XdpMode::Auto && !port.xdp_refused.empty()) return {};
  if (!anew && port.xdp && datapath_.has_xdp(ifindex)) return {};
  const Status attached = datapath_.attach_xdp(ifindex);
  port.xdp = attached.has_value();
  port.xdp_refused = attached ? "" : attached.error();
  if (attached) return {};
  if (port.config.xdp == XdpMode::Native) return fail("xdp = \"native\": " + attached.error());
  spdlog::info("port {}: tcx alone, {}", port.config.name, attached.error());
  return datapath_.detach_xdp(ifindex);
}

Status PortService::write_rows(Port& port) {
  const auto ifindex = static_cast<unsigned>(port.link.ifindex);
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = port.config.queues[tc];
    const ll_wred row = make_wred_row(queue, port.config.rate_bps, port.link.mtu);
    if (!same(port.wred[tc], row)) {
      if (auto ok = maps().wred.set(LL_ROW(port.slot, tc), row); !ok) return ok;
      port.wred[tc] = row;
    }
    const ll_ipcc ipcc = roce::make_ipcc_row(queue, running_.roce, port.config.rate_bps, port.link.mtu);
    if (same(port.ipcc[tc], ipcc)) continue;
    if (auto ok = maps().ipcc.set(LL_ROW(port.slot, tc), ipcc); !ok) return ok;
    port.ipcc[tc] = ipcc;
  }
  ll_port row = make_port_row(port.config, port.slot, hook::group_of(running_, port.config.name));
  row.host = dcqcn::flags(running_, paces_);
  row.overlay = ecn_overlay::is_on(running_, port.config) ? 1 : 0;
  if (guard_) row.guard = guard_(port.config.name);
  if (same(port.row, row)) return {};
  if (auto ok = maps().ports.set(ifindex, row); !ok) return ok;
  port.row = row;
  return {};
}

Result<pfc::PortInfo> PortService::plan_pfc(const Port& port) const {
  pfc::PortInfo info;
  info.name = port.config.name;
  info.watchdog = port.config.watchdog;
  info.alarm = port.config.pfc_alarm;
  info.slot = port.slot;
  info.ifindex = port.link.ifindex;
  info.up = port.link.up;
  info.rate_bps = port.config.rate_bps ? port.config.rate_bps : pfc::kAssumedRate;
  info.frame_bytes = longest_frame(port.link.mtu);
  info.mac = port.link.address;
  const pfc::PortFacts facts{.rate_bps = port.config.rate_bps,
                             .mtu = port.link.mtu,
                             .ports = static_cast<unsigned>(ports_.size()),
                             .mac = port.link.address,
                             .buffer = running_.buffer};
  for (unsigned tc = 0; tc < kTcs; ++tc) {
    const QueueConfig& queue = port.config.queues[tc];
    info.limits[tc] = queue.limit_bytes;
    info.buffer[tc] = pfc::buffer_terms(queue);
    if (!queue.pfc) continue;
    auto plan = pfc::plan_pfc(queue, facts);
    if (!plan) return fail("PFC of TC " + std::to_string(tc) + ": " + plan.error());
    info.plans[tc] = *plan;
  }
  return info;
}

// The interface is gone: its links are dead and its tree went with it.
void PortService::forget_interface(Port& port) {
  const auto ifindex = static_cast<unsigned>(port.link.ifindex);
  if (auto ok = datapath_.detach(ifindex); !ok) spdlog::error("port {}: {}", port.config.name, ok.error());
  maps().ports.erase(ifindex);
  pfc_.remove_port(port.slot);
  port.link = {};
  port.xdp = false;
  port.xdp_refused.clear();
  port.tree.reset();
  port.row.reset();
}

Status PortService::give_back(Port& port) {
  if (!port.link.ifindex) return {};
  const auto ifindex = static_cast<unsigned>(port.link.ifindex);
  if (auto ok = datapath_.detach(ifindex); !ok) return ok;
  pfc_.remove_port(port.slot);
  if (auto ok = net::remove_tree(netlink_, port.link.ifindex); !ok) return ok;
  maps().ports.erase(ifindex);
  port.xdp = false;
  port.tree.reset();
  port.row.reset();
  return {};
}

std::optional<std::string> PortService::poll_hooks(hook::HookService::Clock::time_point now) {
  if (running_.port_groups.empty()) return std::nullopt;
  std::vector<std::pair<std::string, std::uint32_t>> grouped;
  for (const Port& port : ports_)
    if (port.state == PortState::Attached && hook::group_of(running_, port.config.name) != LL_HOOK_NO_GROUP)
      grouped.emplace_back(port.config.name, port.slot);
  return hooks_.poll(grouped, now);
}

Status PortService::set_ecn(const std::string& name, unsigned tc, const std::optional<EcnConfig>& ecn) {
  const auto port = std::ranges::find_if(ports_, [&](const Port& p) { return p.config.name == name; });
  if (port == ports_.end()) return fail(no_port(name));
  QueueConfig& queue = port->config.queues[tc];
  if (ecn) {
    if (const auto wrong = check_ecn(*ecn, queue.limit_bytes)) return fail(*wrong);
    Port changed = *port;
    changed.config.queues[tc].ecn = ecn;
    if (const auto plan = plan_pfc(changed); !plan && port->link.ifindex)
      return std::unexpected(plan.error());
  }
  queue.ecn = ecn;
  for (PortConfig& config : running_.ports)
    if (config.name == name) config.queues[tc].ecn = ecn;
  return port->state == PortState::Attached ? write_rows(*port) : Status{};
}

Status PortService::set_guard(std::function<std::uint8_t(const std::string& port)> guard) {
  guard_ = std::move(guard);
  for (Port& port : ports_)
    if (port.state == PortState::Attached)
      if (auto ok = write_rows(port); !ok) return ok;
  return {};
}

// An overlay that does not fit leaves what the configuration says.
Status PortService::take_overlay(Port& port) {
  const auto wanted = std::ranges::find(running_.ports, port.config.name, &PortConfig::name);
  port.config = *wanted;
  Port changed = port;
  changed.config = overlay_(*wanted);
  if (changed.config == port.config) return {};
  for (const QueueConfig& queue : changed.config.queues)
    if (const auto wrong = check_pfc(queue, running_.buffer)) return fail(*wrong);
  if (const auto plan = plan_pfc(changed); !plan && port.link.ifindex) return std::unexpected(plan.error());
  port.config = std::move(changed.config);
  return {};
}

Status PortService::apply_overlay(const std::string& name) {
  const auto port = std::ranges::find_if(ports_, [&](const Port& p) { return p.config.name == name; });
  if (port == ports_.end()) return fail(no_port(name));
  const PortConfig before = port->config;
  const Status taken = take_overlay(*port);
  if (port->config == before || port->state == PortState::Detached) return taken;
  if (auto ok = add_applications(); !ok) {
    port->config = before;
    return ok;
  }
  const Status done = reconcile();
  drop_applications();
  return taken ? done : taken;
}

Status PortService::detach(const std::string& name) {
  const auto port = std::ranges::find_if(ports_, [&](const Port& p) { return p.config.name == name; });
  if (port == ports_.end()) return fail(no_port(name));
  if (auto given = give_back(*port); !given) return given;
  enter(*port, PortState::Detached, kByCommand);
  return {};
}

Status PortService::detach_all() {
  for (Port& port : ports_) {
    if (auto given = give_back(port); !given) return given;
    if (port.state == PortState::Attached) enter(port, PortState::Detached, kByCommand);
  }
  return datapath_.detach_all();
}

}  // namespace lossless::port
