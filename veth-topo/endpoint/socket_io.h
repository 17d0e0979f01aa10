// SPDX-License-Identifier: Apache-2.0
// The sockets of one host: raw frames on its device, and port 4791 held so that the kernel stays silent.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "veth-topo/endpoint/config.h"
#include "veth-topo/endpoint/engine.h"

namespace lossless::endpoint {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class HostSocket {
 public:
  // Opens the sockets in the host's network namespace; the calling thread stays in its own.
  // max_frame: bytes of the longest frame this host sends or receives.
  static std::expected<HostSocket, std::string> open(const HostConfig& host, std::size_t max_frame);

  int fd() const { return raw_.get(); }
  // Takes frames from the engine and hands them to the kernel. What the kernel does not take is kept and
  // offered again; retry_at() says when.
  void send(Engine& engine, std::uint32_t host, Nanos now);
  // Receives what has arrived, at most a few batches. True if there may be more.
  bool receive(Engine& engine, std::uint32_t host);
  // When frames that were refused are due again; kNever if there are none.
  Nanos retry_at() const { return retry_at_; }
  // Frames lost for want of receive buffer since the last call.
  std::uint64_t take_drops();

 private:
  explicit HostSocket(std::size_t max_frame);
  void fill(Engine& engine, std::uint32_t host, Nanos now);

  static constexpr std::size_t kBatch = 32;
  struct Batch {
    std::vector<std::uint8_t> bytes;
    std::array<iovec, kBatch> iov{};
    std::array<mmsghdr, kBatch> messages{};
    std::span<std::uint8_t> slot(std::size_t i, std::size_t size) {
      return std::span(bytes).subspan(i * size, size);
    }
  };
  std::size_t slot_bytes_;
  Fd raw_;
  std::vector<Fd> sinks_;
  std::unique_ptr<Batch> tx_;
  std::unique_ptr<Batch> rx_;
  std::array<FrameMeta, kBatch> meta_{};
  std::size_t tx_first_ = 0;  // frames [tx_first_, tx_count_) wait for the kernel
  std::size_t tx_count_ = 0;
  Nanos retry_at_ = kNever;
};

}  // namespace lossless::endpoint
