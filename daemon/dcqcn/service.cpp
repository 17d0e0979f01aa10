// SPDX-License-Identifier: Apache-2.0
#include "daemon/dcqcn/service.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "daemon/core/clock.h"
#include "daemon/dcqcn/tables.h"

namespace lossless::dcqcn {
namespace {

bool differs(const std::optional<ll_host>& have, const ll_host& want) {
  return !have || std::memcmp(&*have, &want, sizeof want) != 0;
}

std::uint64_t packed(const ll_host_qp_key& key) { return std::uint64_t{key.slot} << 32U | key.qpn; }

}  // namespace

DcqcnService::DcqcnService(asio::io_context& loop, const port::PortService& ports)
    : loop_(loop), ports_(ports), timer_(loop), ring_(nullptr, ring_buffer__free) {}

void DcqcnService::apply() {
  const bool on = is_on(ports_.running());
  if (on) write_rows();
  if (on && !enabled_) start();
  if (!on && enabled_) stop();
}

void DcqcnService::write_rows() {
  for (const port::Port& port : ports_.ports()) {
    const ll_host row = make_row(ports_.running().dcqcn, port.config);
    if (!differs(maps().hosts.get(port.slot), row)) continue;
    if (auto ok = maps().hosts.set(port.slot, row); !ok)
      spdlog::error("port {}: DCQCN: {}", port.config.name, ok.error());
  }
}

void DcqcnService::start() {
  enabled_ = true;
  // An earlier daemon's: what is no longer true of them goes with the first look.
  for (const ll_host_qp_key& key : maps().host_qps.keys())
    if (const auto qp = maps().host_qps.get(key)) known_.emplace_back(key, qp->peer_qpn);
  if (auto rdma = RdmaStack::open()) {
    rdma_ = std::move(*rdma);
    no_rdma_.clear();
  } else {
    no_rdma_ = rdma.error();
    spdlog::warn("DCQCN: no QPs are known: {}", no_rdma_);
  }
  if (const std::string why = no_rp(); !why.empty())
    spdlog::warn("DCQCN: CNPs are consumed and slow nothing down: {}", why);
  const auto on_event = [](void*, void*, std::size_t) { return 0; };  // that there is one is the news
  ring_.reset(ring_buffer__new(maps().host_events, on_event, nullptr, nullptr));
  if (ring_) {
    event_fd_ =
        std::make_unique<asio::posix::stream_descriptor>(loop_, dup(ring_buffer__epoll_fd(ring_.get())));
    wait_for_events();
  }
  refresh();
}

void DcqcnService::stop() {
  enabled_ = false;
  timer_.cancel();
  event_fd_.reset();
  ring_.reset();
  rdma_.reset();
  for (const auto& [key, peer] : known_) maps().host_qps.erase(key);
  known_.clear();
  for (const ll_rp_key& key : maps().rp_flows.keys()) maps().rp_flows.erase(key);
}

void DcqcnService::wait_for_events() {
  event_fd_->async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (error || !ring_) return;
    ring_buffer__consume(ring_.get());
    if (!asked_ && rdma_) {
      asked_ = true;
      schedule(kSoon);
    }
    wait_for_events();
  });
}

void DcqcnService::schedule(std::chrono::steady_clock::duration delay) {
  timer_.set(std::chrono::steady_clock::now() + delay, [this] { refresh(); });
}

void DcqcnService::refresh() {
  asked_ = false;
  follow_qps();
  drop_idle_flows();
  schedule(kRefresh);
}

// A QPN is used again after its QP has gone, so what the stack no longer has goes from the map at once.
void DcqcnService::follow_qps() {
  if (!rdma_) return;
  const auto qps = rdma_->list_qps();
  if (!qps) return spdlog::error("DCQCN: {}", qps.error());
  std::map<int, std::uint32_t> slots;
  for (const port::Port& port : ports_.ports())
    if (port.state == port::PortState::Attached) slots[port.link.ifindex] = port.slot;
  std::map<std::uint64_t, std::uint32_t> old;
  for (const auto& [key, peer] : known_) old[packed(key)] = peer;
  known_.clear();
  for (const Qp& qp : *qps) {
    const auto slot = slots.find(qp.ifindex);
    if (slot == slots.end()) continue;
    const ll_host_qp_key key{.slot = slot->second, .qpn = qp.qpn};
    known_.emplace_back(key, qp.peer_qpn);
    const auto had = old.extract(packed(key));
    if (had && had.mapped() == qp.peer_qpn) continue;
    if (auto ok = maps().host_qps.set(key, {.peer_qpn = qp.peer_qpn, .reserved = 0}); !ok)
      spdlog::error("DCQCN: QP {}: {}", qp.qpn, ok.error());
  }
  for (const auto& [key, peer] : old)
    maps().host_qps.erase({.slot = static_cast<__u32>(key >> 32U), .qpn = static_cast<__u32>(key)});
}

// A QP that sent nothing for so long is back at line rate.
void DcqcnService::drop_idle_flows() {
  const std::uint64_t now = monotonic_now();
  const auto idle = static_cast<std::uint64_t>(std::chrono::nanoseconds(kIdle).count());
  for (const ll_rp_key& key : maps().rp_flows.keys()) {
    const auto flow = maps().rp_flows.get(key);
    if (flow && flow->last_ns + idle < now) maps().rp_flows.erase(key);
  }
}

std::string DcqcnService::no_rp() const {
  if (!ports_.running().dcqcn.rp) return "rp = false";
  if (!ports_.paces()) return "this kernel has no qdisc fq, which sends packets at their time";
  return {};
}

std::vector<Flow> DcqcnService::flows() const {
  std::vector<Flow> all;
  const std::uint64_t now = monotonic_now();
  const ll_dcqcn_params params = make_params(ports_.running().dcqcn);
  for (const ll_rp_key& key : maps().rp_flows.keys()) {
    auto flow = maps().rp_flows.get(key);
    if (!flow) continue;
    // The datapath does this with the next packet; an idle QP has none.
    ll_dcqcn_rp& rp = flow->rp;
    for (std::uint64_t before = 0; before != rp.timer_ns && now > rp.timer_ns;) {
      before = rp.timer_ns;
      ll_dcqcn_rp_advance(&params, &rp, now);
    }
    all.push_back({key, *flow});
  }
  std::ranges::sort(
      all, [](const Flow& a, const Flow& b) { return std::memcmp(&a.key, &b.key, sizeof a.key) < 0; });
  return all;
}

}  // namespace lossless::dcqcn
