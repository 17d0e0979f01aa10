// SPDX-License-Identifier: Apache-2.0
#include "daemon/bfd/service.h"

#include <net/if.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/restart/fd_store_io.h"

namespace lossless::bfd {

void BfdService::apply(const Config& config) {
  clients_.configure(config.bfd, config.bfd_profiles, config.bfd_peers);
  settle();
}

Clients::Handle BfdService::add(Client client) {
  const PeerKey key = client.key;
  const Listener listener = client.listener;
  const Clients::Handle handle = clients_.add(std::move(client));
  settle();
  const auto state = states_.find(key);
  if (state != states_.end() && state->second == State::Up) listener({.key = key, .state = State::Up});
  return handle;
}

void BfdService::remove(Clients::Handle handle) {
  clients_.remove(handle);
  settle();
}

// Tells the thread what differs from what it was told last.
void BfdService::settle() {
  auto wanted = clients_.wanted();
  for (auto& [key, peer] : wanted)
    if (!key.interface.empty()) peer.ifindex = if_nametoindex(key.interface.c_str());
  if (wanted.empty()) return stop();
  if (!run_thread()) return;
  for (const auto& [key, peer] : posted_) {
    if (wanted.contains(key)) continue;
    thread_->remove(key);
    states_.erase(key);
    downs_.erase(key);
  }
  for (const auto& [key, peer] : wanted) {
    const auto known = posted_.find(key);
    if (known != posted_.end() && known->second == peer) continue;
    const auto inherited = inherited_.find(key);
    if (inherited == inherited_.end()) {
      thread_->set(peer);
      continue;
    }
    thread_->adopt(peer, inherited->second);
    states_[key] = State::Up;
    inherited_.erase(inherited);
  }
  posted_ = std::move(wanted);
}

void BfdService::restore(restart::NamedFds& inherited) {
  for (restart::NamedFd& named : inherited) {
    if (named.name != restart::state_name(restart::Kind::Bfd)) continue;
    const Fd fd = std::move(named.fd);
    restart::FdStore::drop(named.name);
    const auto file = restart::read_state_file(fd.get());
    const auto body = file ? restart::unwrap(file->image, restart::Kind::Bfd, kSavedVersion)
                           : std::expected<ByteView, std::string>(std::unexpected(file.error()));
    const auto saved =
        body ? decode_saved(*body)
             : std::expected<std::vector<SavedPeer>, std::string>(std::unexpected(body.error()));
    if (!saved) {
      spdlog::warn("BFD: the state of the process before is not used: {}; sessions begin anew",
                   saved.error());
      return;
    }
    for (const SavedPeer& peer : *saved) inherited_.emplace(peer.key, peer.session);
    spdlog::info("BFD: {} sessions go on", saved->size());
  }
}

std::vector<restart::Lent> BfdService::hand_over() {
  constexpr auto kPatience = std::chrono::milliseconds(500);  // of us, for the neighbours' answers
  constexpr auto kLook = std::chrono::milliseconds(2);
  if (!thread_) return {};
  thread_->prepare_hand_over();
  const auto limit = std::chrono::steady_clock::now() + kPatience;
  const auto asking = [this] {
    const auto sessions = thread_->snapshot().sessions;
    return std::ranges::any_of(sessions, [](const BfdThread::View& view) {
      return view.entry.session.state() == State::Up && view.entry.session.polling();
    });
  };
  while (asking() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(kLook);
  const auto saved = thread_->freeze();
  const auto file = keeper_.write(restart::wrap(restart::Kind::Bfd, kSavedVersion, encode_saved(saved)));
  if (!file) {
    spdlog::error("BFD: {}; sessions begin anew", file.error());
    return {};
  }
  return {{restart::state_name(restart::Kind::Bfd), *file}};
}

bool BfdService::run_thread() {
  if (thread_) return true;
  auto thread = BfdThread::start();
  if (!thread) {
    if (error_ != thread.error()) spdlog::error("BFD: {}", thread.error());
    error_ = thread.error();
    return false;
  }
  error_.clear();
  thread_ = std::move(*thread);
  news_.emplace(loop_, dup(thread_->news_fd()));
  wait_for_news();
  return true;
}

void BfdService::stop() {
  news_.reset();
  thread_.reset();
  posted_.clear();
  states_.clear();
  downs_.clear();
}

void BfdService::wait_for_news() {
  news_->async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& error) {
    if (error || !thread_) return;
    for (const BfdThread::News& news : thread_->take_news()) on_news(news);
    if (news_) wait_for_news();
  });
}

void BfdService::on_news(const BfdThread::News& news) {
  const Change& change = news.change;
  if (!posted_.contains(news.key)) return;  // removed meanwhile
  states_[news.key] = change.to;
  const bool failed = change.from == State::Up && change.to == State::Down && !change.by_neighbour_admin;
  const std::string name = to_string(news.key);
  if (change.to == State::Up) {
    spdlog::info("BFD: {} is up", name);
  } else if (change.from == State::Up) {
    downs_[news.key] = {
        .diag = change.diag, .by_neighbour_admin = change.by_neighbour_admin, .at = change.at};
    spdlog::log(
        failed ? spdlog::level::warn : spdlog::level::info, "BFD: {} is {}: {}", name, to_string(change.to),
        change.by_neighbour_admin ? "taken down by the neighbour's administrator" : to_string(change.diag));
  }
  if (change.to != State::Up && change.from != State::Up) return;
  clients_.tell({.key = news.key, .state = change.to, .diag = change.diag, .failed = failed});
}

const BfdService::Down* BfdService::last_down(const PeerKey& key) const {
  const auto at = downs_.find(key);
  return at == downs_.end() ? nullptr : &at->second;
}

}  // namespace lossless::bfd
