// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <malloc.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <iterator>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "daemon/api/server_io.h"
#include "daemon/bfd/api_io.h"
#include "daemon/bgp/api_io.h"
#include "daemon/core/clock.h"
#include "daemon/dcb/api_io.h"
#include "daemon/dcbx/api_io.h"
#include "daemon/dcqcn/api_io.h"
#include "daemon/ecn_overlay/api_io.h"
#include "daemon/inof/host_api_io.h"
#include "daemon/inof/switch_api_io.h"
#include "daemon/lldp/api_io.h"
#include "daemon/pfc/service.h"
#include "daemon/restart/fd_store_io.h"
#include "daemon/restart/hand_over_io.h"
#include "daemon/roce/api_io.h"
#include "loader/probe_io.h"
#include "loader/run_dir_io.h"

namespace lossless {
namespace {

using std::chrono::steady_clock;

constexpr auto kHealEvery = std::chrono::milliseconds(20);
constexpr auto kHooksEvery = std::chrono::seconds(1);

class Daemon {
 public:
  Daemon(std::string instance, std::string config_file)
      : instance_(std::move(instance)), config_file_(std::move(config_file)) {}

  Status start(const Config& config, restart::NamedFds inherited);
  // After a start that failed: what was not there before goes again.
  void undo_start();
  void run();

 private:
  Status open_datapath(const Config& config);
  Status open_events();
  std::expected<std::vector<ConfigChange>, std::string> reload();
  void wait_for_signal();
  void wait_for_events();
  void feed_watchdog();
  void heal_counters();
  // Ports, links or addresses are not what they were.
  void tell_protocols();
  void keep_hash_policy();
  void look_for_hook_flows();
  void watch_for_deadlocks();
  void age_flows();
  void stop();
  // Restart, docs/restart.md
  void restore(restart::NamedFds inherited);
  Status listen_for_successor();
  void keep_state();
  bool hand_over();

  steady_clock::time_point started_ = steady_clock::now();
  std::string instance_;
  std::string config_file_;
  asio::io_context loop_{1};
  std::unique_ptr<restart::HandOverServer> successor_;  // the last thing of us that goes
  std::unique_ptr<InstanceLock> lock_;
  std::unique_ptr<net::Netlink> netlink_;
  std::unique_ptr<net::Netlink> events_;
  std::unique_ptr<Datapath> datapath_;
  std::unique_ptr<pfc::PfcService> pfc_;
  std::unique_ptr<port::PortService> ports_;
  std::unique_ptr<lldp::LldpService> lldp_;
  std::unique_ptr<ecn_overlay::EcnOverlayService> ecn_overlay_;
  std::unique_ptr<dcqcn::DcqcnService> dcqcn_;
  std::unique_ptr<inof::HostService> inof_host_;
  std::unique_ptr<inof::SwitchService> inof_switch_;
  std::unique_ptr<dcb::DcbService> dcb_;
  ecmp::HashPolicy ecmp_;
  std::unique_ptr<bfd::BfdService> bfd_;
  std::unique_ptr<dcbx::DcbxService> dcbx_;
  std::unique_ptr<roce::RoceService> roce_;
  std::unique_ptr<bgp::BgpService> bgp_;
  std::unique_ptr<api::Context> context_;
  std::unique_ptr<api::Server> server_;
  std::unique_ptr<asio::posix::stream_descriptor> event_fd_;
  asio::signal_set signals_{loop_, SIGTERM, SIGINT, SIGHUP};
  asio::steady_timer watchdog_{loop_};
  asio::steady_timer heal_{loop_};
  asio::steady_timer hooks_{loop_};
  asio::steady_timer deadlock_{loop_};
  asio::steady_timer ageing_{loop_};
  std::thread stopper_;
  bool given_back_ = false;  // nothing of the instance is left
};

Status Daemon::open_datapath(const Config& config) {
  auto datapath = Datapath::open(instance_, LL_VERSION, {.roce_flows = config.roce.max_flows});
  if (!datapath) {
    // The kernel's own words about a program it cannot run are of little use to a person.
    const Status kernel = require_kernel();
    return kernel ? fail(datapath.error()) : kernel;
  }
  datapath_ = std::make_unique<Datapath>(std::move(*datapath));
  return {};
}

Status Daemon::open_events() {
  auto events = net::Netlink::open();
  if (!events) return std::unexpected(events.error());
  events_ = std::make_unique<net::Netlink>(std::move(*events));
  if (auto ok = events_->ignore_gate_events(); !ok) return ok;
  if (auto ok = events_->subscribe(
          {RTNLGRP_LINK, RTNLGRP_TC, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_DCB});
      !ok)
    return ok;
  event_fd_ = std::make_unique<asio::posix::stream_descriptor>(loop_, dup(events_->fd()));
  return {};
}

Status Daemon::start(const Config& config, restart::NamedFds inherited) {
  auto lock = InstanceLock::take(instance_);
  if (!lock) return std::unexpected(lock.error());
  lock_ = std::make_unique<InstanceLock>(std::move(*lock));
  auto netlink = net::Netlink::open();
  if (!netlink) return std::unexpected(netlink.error());
  netlink_ = std::make_unique<net::Netlink>(std::move(*netlink));
  if (auto ok = open_datapath(config); !ok) return ok;
  // Before the first look at the interfaces, so that no change is missed in between.
  if (auto ok = open_events(); !ok) return ok;

  const bool adopted = datapath_->origin() == Datapath::Origin::Adopted;
  auto pfc = pfc::PfcService::start(datapath_->maps(), *netlink_, run_dir(instance_) + "/escape");
  if (!pfc) return std::unexpected(pfc.error());
  pfc_ = std::move(*pfc);
  ports_ = std::make_unique<port::PortService>(*netlink_, *datapath_, *pfc_);
  roce_ = std::make_unique<roce::RoceService>(datapath_->maps());
  lldp_ = std::make_unique<lldp::LldpService>(loop_, *netlink_);
  ecn_overlay_ = std::make_unique<ecn_overlay::EcnOverlayService>(*netlink_, datapath_->maps());
  dcqcn_ = std::make_unique<dcqcn::DcqcnService>(loop_, *ports_);
  inof_host_ = std::make_unique<inof::HostService>(loop_, *netlink_);
  inof_switch_ = std::make_unique<inof::SwitchService>(loop_, *ports_, lldp_->agent(), instance_);
  dcb_ = std::make_unique<dcb::DcbService>(*netlink_, *pfc_, run_dir(instance_));
  ports_->set_condition([this](const PortConfig& port) { return dcb_->why_not(port); });
  bfd_ = std::make_unique<bfd::BfdService>(loop_);
  dcbx_ = std::make_unique<dcbx::DcbxService>(*ports_, lldp_->agent());
  dcbx_->on_change([this] { dcb_->apply(ports_->running(), ports_->ports()); });
  bgp_ = std::make_unique<bgp::BgpService>(loop_, *inof_switch_, *bfd_, adopted);
  pfc_->on_deadlock(
      [this](const std::string& port, unsigned tc, bool on) { inof_switch_->pfc_deadlock(port, tc, on); });
  context_ = std::make_unique<api::Context>(api::Context{.ports = *ports_,
                                                         .pfc = *pfc_,
                                                         .config_file = config_file_,
                                                         .adopted = adopted,
                                                         .started = started_,
                                                         .reload = [this] { return reload(); },
                                                         .given_back =
                                                             [this] {
                                                               given_back_ = true;
                                                               lldp_->leave();
                                                               dcb_->leave();
                                                               ecmp_.leave();
                                                               inof_switch_->leave();
                                                               stop();
                                                             }});
  if (auto ok = dcb_->check(config); !ok) return ok;
  auto server = api::Server::listen(
      config.api, loop_, *context_,
      {lldp::make_api(loop_, *lldp_, *ports_), dcqcn::make_api(loop_, *dcqcn_),
       ecn_overlay::make_api(loop_, *ecn_overlay_, *ports_), inof::make_host_api(loop_, *inof_host_),
       inof::make_switch_api(loop_, *inof_switch_, *ports_), bfd::make_api(loop_, *bfd_),
       dcb::make_api(loop_, *dcb_, ecmp_, *ports_), dcbx::make_api(loop_, *dcbx_, *ports_),
       roce::make_api(loop_, *roce_, *ports_), bgp::make_api(loop_, *bgp_)});
  if (!server) return std::unexpected(server.error());
  server_ = std::make_unique<api::Server>(std::move(*server));
  inof_switch_->start(config.inof, inherited);
  if (auto ok = roce_->configure(config.roce); !ok) return ok;
  if (auto ok = ports_->configure(config); !ok) return ok;
  if (auto ok = pfc_->open_unknown_gates(); !ok) return ok;
  if (auto ok = ports_->finish_start(); !ok) return ok;
  bfd_->restore(inherited);
  tell_protocols();
  if (const auto fault = bgp::BgpService::find_kernel_fault(config)) spdlog::error("{}", *fault);
  restore(std::move(inherited));
  bgp_->apply(config);
  return listen_for_successor();
}

void Daemon::restore(restart::NamedFds inherited) {
  bgp_->restore(inherited);  // remote hosts and zones first
  const bool hosts_known = inof_switch_->restore();
  bgp_->finish_restore(hosts_known);
}

Status Daemon::listen_for_successor() {
  auto server = restart::HandOverServer::listen(loop_, instance_, [this] {
    spdlog::info("another process takes over: ending, the datapath stays");
    stop();
  });
  if (!server) return std::unexpected(server.error());
  successor_ = std::move(*server);
  return {};
}

// For whoever comes after a kill.
void Daemon::keep_state() {
  bfd_->finish_restore();
  bgp_->keep();
  inof_switch_->keep();
}

// To the process that asked, or to the service manager for the one that comes. False: to nobody.
bool Daemon::hand_over() {
  successor_->close();
  const bool asked = successor_->is_asked();
  if (given_back_ || (!asked && !restart::FdStore::is_there())) return false;
  std::vector<restart::Lent> out = bfd_->hand_over();  // while it waits, BGP has to answer nobody
  std::ranges::copy(bgp_->hand_over(), std::back_inserter(out));
  std::ranges::copy(inof_switch_->hand_over(), std::back_inserter(out));
  restart::FdStore::settle();
  if (!asked) return true;
  if (auto given = successor_->give(out); !given) {
    spdlog::error("{}; graceful restart takes the place of a hand-over", given.error());
    return false;
  }
  spdlog::info("handed over: {} descriptors", out.size());
  return true;
}

void Daemon::undo_start() {
  if (!datapath_ || datapath_->origin() != Datapath::Origin::Fresh) return;
  if (auto undone = ports_ ? ports_->detach_all() : datapath_->detach_all(); !undone)
    spdlog::error("{}", undone.error());
  lock_->remove();
}

void Daemon::run() {
  wait_for_signal();
  wait_for_events();
  feed_watchdog();
  heal_counters();
  look_for_hook_flows();
  watch_for_deadlocks();
  age_flows();
  malloc_trim(0);  // reading a large configuration leaves a lot behind
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - started_);
  spdlog::info("losslessd {} ready in {} ms: instance {}, {} ports, {}", LL_VERSION, took.count(), instance_,
               ports_->ports().size(), context_->adopted ? "datapath adopted" : "datapath loaded");
  sd_notify(0, "READY=1");
  keep_state();
  loop_.run();
  if (stopper_.joinable()) stopper_.join();
  (void)hand_over();
  bgp_->stop(given_back_);
  bfd_->stop();
  if (!given_back_) pfc_->stop(monotonic_now());
  if (given_back_) lock_->remove();
}

std::expected<std::vector<ConfigChange>, std::string> Daemon::reload() {
  const auto file = load_config(config_file_);
  if (!file) return fail(api::join_errors(file.error()));
  const Config& running = ports_->running();
  if (file->instance != running.instance || file->api != running.api)
    return fail(config_file_ + ": instance and api cannot change while losslessd runs; restart it for that");
  if (file->roce.max_flows != running.roce.max_flows)
    return fail(config_file_ + ": roce.max_flows cannot change while losslessd runs; restart it for that");
  if (const auto fault = bgp::BgpService::find_kernel_fault(*file)) return fail(config_file_ + ": " + *fault);
  if (auto ok = dcb_->check(*file); !ok) return fail(config_file_ + ": " + ok.error());
  auto changes = diff_config(running, *file);
  if (auto ok = roce_->configure(file->roce); !ok) return fail(ok.error());
  if (auto ok = ports_->configure(*file); !ok) return fail(ok.error());
  inof_switch_->reload(file->inof);
  tell_protocols();
  bgp_->apply(*file);
  spdlog::info("reloaded {}: {} changes", config_file_, changes.size());
  for (const ConfigChange& change : changes)
    spdlog::info("  {}: {} -> {}", change.path, change.from, change.to);
  return changes;
}

void Daemon::tell_protocols() {
  dcbx_->apply();  // before LLDP speaks on a port for the first time
  lldp_->apply(ports_->running(), ports_->ports());
  ecn_overlay_->apply(ports_->running(), ports_->ports());
  dcqcn_->apply();
  inof_host_->apply(ports_->running(), ports_->ports());
  inof_switch_->apply_ports();
  dcb_->apply(ports_->running(), ports_->ports());
  keep_hash_policy();
  bfd_->apply(ports_->running());
}

void Daemon::wait_for_signal() {
  signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    if (signal != SIGHUP) {
      spdlog::info("signal {}: ending, the datapath stays", signal);
      return stop();
    }
    sd_notify(0, "RELOADING=1");
    if (const auto done = reload(); !done) spdlog::error("not reloaded: {}", done.error());
    sd_notify(0, "READY=1");
    wait_for_signal();
  });
}

void Daemon::wait_for_events() {
  event_fd_->async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (error) return;
    std::set<std::string> dcb;  // interfaces; the driver is asked after all events are read
    const bool complete = events_->read_events([&](nlmsghdr* header) {
      if (const std::string name = net::dcb_interface(header); !name.empty()) dcb.insert(name);
      if (const auto news = net::read_link_news(header)) inof_switch_->link_changed(news->ifindex, news->up);
    });
    if (!complete) spdlog::warn("netlink events were lost; looking at everything anew");
    if (auto ok = ports_->reconcile(); !ok) spdlog::error("{}", ok.error());
    for (const std::string& name : dcb) dcb_->changed(name, steady_clock::now());
    tell_protocols();
    wait_for_events();
  });
}

// Twice in each period that systemd allows; without systemd this does nothing.
void Daemon::feed_watchdog() {
  std::uint64_t period_us = 0;
  if (sd_watchdog_enabled(0, &period_us) <= 0) return;
  sd_notify(0, "WATCHDOG=1");
  watchdog_.expires_after(std::chrono::microseconds(period_us / 2));
  watchdog_.async_wait([this](const asio::error_code& error) {
    if (!error) feed_watchdog();
  });
}

// Looks for bytes that the buffer model holds and no queue does: they would keep a peer stopped for nothing.
void Daemon::heal_counters() {
  heal_.expires_after(kHealEvery);
  heal_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    pfc_->heal();
    heal_counters();
  });
}

void Daemon::keep_hash_policy() {
  if (!given_back_) ecmp_.apply(ports_->running().ecmp);
}

void Daemon::look_for_hook_flows() {
  if (const auto alarm = ports_->poll_hooks(steady_clock::now())) spdlog::warn("{}", *alarm);
  keep_hash_policy();  // nothing tells of a sysctl that somebody changed
  hooks_.expires_after(kHooksEvery);
  hooks_.async_wait([this](const asio::error_code& error) {
    if (!error) look_for_hook_flows();
  });
}

// steady_clock is CLOCK_MONOTONIC, as the datapath's times are.
void Daemon::watch_for_deadlocks() {
  dcb_->poll(monotonic_now());
  const steady_clock::time_point next{std::chrono::nanoseconds(pfc_->watch(monotonic_now()))};
  deadlock_.expires_at(next);
  deadlock_.async_wait([this](const asio::error_code& error) {
    if (!error) watch_for_deadlocks();
  });
}

void Daemon::age_flows() {
  ageing_.expires_after(roce_->age(monotonic_now()));
  ageing_.async_wait([this](const asio::error_code& error) {
    if (!error) age_flows();
  });
}

// The server ends on a thread of its own, since calls under way are answered by this loop.
void Daemon::stop() {
  if (stopper_.joinable()) return;
  sd_notify(0, "STOPPING=1");
  stopper_ = std::thread([this] {
    server_->shutdown();
    loop_.stop();
  });
}

}  // namespace

Status run_daemon(Config config, const std::string& config_file, restart::NamedFds inherited) {
  Daemon daemon(config.instance, config_file);
  if (auto started = daemon.start(config, std::move(inherited)); !started) {
    daemon.undo_start();
    return started;
  }
  config = {};  // the services have what they need, and it may be large
  daemon.run();
  return {};
}

}  // namespace lossless
