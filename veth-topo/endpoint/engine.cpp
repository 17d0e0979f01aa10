// SPDX-License-Identifier: Apache-2.0
// Set-up, timers and message arrivals.
#include "veth-topo/endpoint/engine.h"

#include <algorithm>

namespace lossless::endpoint {
namespace {

std::size_t count_pairs(const Config& c) {
  std::size_t n = 0;
  for (const FlowConfig& f : c.flows) n += f.qps;
  return n;
}

}  // namespace

Engine::Engine(const Config& config, Nanos now)
    : config_(config),
      timers_(count_pairs(config)),
      phase_start_(now),
      connect_start_(now),
      last_activity_(now) {
  for (const HostConfig& h : config_.hosts) hosts_.emplace_back(LinkPacer(h.link_bps, config_.link_burst_ns));
  pairs_.reserve(count_pairs(config_));
  for (std::uint32_t f = 0; f < config_.flows.size(); f++) {
    for (std::uint32_t q = 0; q < config_.flows[f].qps; q++) add_pair(f, pairs_.size());
  }
  enter(Phase::Connect, now);
}

// QPNs are random so that a run looks like real traffic to whoever hashes them; unique on their host.
std::uint32_t Engine::new_qpn(std::uint32_t host, FlowRandom& random, Local local) {
  for (;;) {
    const std::uint32_t qpn = random.bits24();
    if (qpn < 0x100 || qpn == 0xffffff) continue;
    if (hosts_[host].qps.emplace(qpn, local).second) return qpn;
  }
}

void Engine::add_pair(std::uint32_t flow_index, std::uint64_t number) {
  const FlowConfig& flow = config_.flows[flow_index];
  const auto id = static_cast<std::uint32_t>(number);
  FlowRandom random(config_.seed, number);
  const std::uint32_t qpn = new_qpn(flow.from, random, {id, true});
  const std::uint32_t peer = new_qpn(flow.to, random, {id, false});
  const std::uint32_t psn = random.bits24();
  const ll_dcqcn_params params = dcqcn_for_link(config_.dcqcn, config_.hosts[flow.from].link_bps);
  // Communication IDs 2n + 2 and 2n + 3: an ID is found without a table, and is never 0.
  pairs_.emplace_back(flow, params, random, qpn, peer, 2 * id + 2, id, psn);
}

void Engine::arm(std::uint32_t id) {
  const QpPair& pair = pairs_[id];
  const Nanos sender = sending_ ? pair.sender.deadline() : kNever;
  const Nanos arrival = posting_ ? pair.next_arrival : kNever;
  timers_.arm(id, std::min({pair.initiator.deadline(), sender, arrival}));
}

void Engine::on_timer(std::uint32_t id, Nanos now) {
  QpPair& pair = pairs_[id];
  if (const auto cm = pair.initiator.poll(now)) queue_cm(pair.flow->from, pair.flow->to, id, *cm);
  if (posting_) arrivals(pair, id, now);
  if (sending_) {
    pair.sender.on_timer(now);
    schedule(pair, id, now);
  }
  arm(id);
}

bool Engine::wants_message(const QpPair& pair) const {
  return posting_ && (!pair.flow->messages || pair.posted < *pair.flow->messages);
}

void Engine::post(QpPair& pair, std::uint32_t id, Nanos now) {
  pair.sender.post(pair.flow->size.at(pair.random.uniform()), now);
  pair.posted++;
  open_messages_++;
  if (pair.flow->messages && pair.posted == *pair.flow->messages) exhausted_pairs_++;
  schedule(pair, id, now);
}

void Engine::arrivals(QpPair& pair, std::uint32_t id, Nanos now) {
  if (now < pair.next_arrival) return;
  if (!pair.flow->load) {
    pair.next_arrival = kNever;  // from here on the sender asks when it runs dry
    if (wants_message(pair)) post(pair, id, now);
    return;
  }
  const double link_bps = static_cast<double>(config_.hosts[pair.flow->from].link_bps);
  const double share_bps = *pair.flow->load * link_bps / pair.flow->qps;
  const double gap_ns = pair.flow->size.mean_bytes() * 8e9 / share_bps;
  while (now >= pair.next_arrival) {
    if (!wants_message(pair)) {
      pair.next_arrival = kNever;
      return;
    }
    post(pair, id, pair.next_arrival);
    pair.next_arrival += pair.random.exponential(gap_ns);
  }
}

void Engine::advance(Nanos now) {
  while (const auto id = timers_.pop(now)) on_timer(*id, now);
  sample(now);
  step(now);
}

Nanos Engine::next_deadline() const {
  Nanos next = std::min({timers_.next(), phase_deadline(), next_sample_});
  for (const Host& h : hosts_) {
    Nanos ready = h.robin.next();
    // Time 0 says that it may be sent when the link is free; later than that is only what is paused.
    for (const Control& c : h.control) ready = std::min(ready, h.pause.until(priority_of(c)));
    for (unsigned p = 0; p < PauseState::kPriorities; p++)
      if (!h.parked[p].empty()) ready = std::min(ready, h.pause.until(p));
    if (ready != kNever) next = std::min(next, std::max(ready, h.pacer.next()));
  }
  return next;
}

}  // namespace lossless::endpoint
