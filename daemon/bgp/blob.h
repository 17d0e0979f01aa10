// SPDX-License-Identifier: Apache-2.0
// Bytes that many rows may share, in one allocation with their count; of one thread. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "daemon/core/wire.h"

namespace lossless::bgp {

class Blob {
 public:
  Blob() = default;
  explicit Blob(ByteView bytes) : rep_(static_cast<Rep*>(::operator new(sizeof(Rep) + bytes.size()))) {
    ::new (rep_) Rep{1, static_cast<std::uint32_t>(bytes.size())};
    if (!bytes.empty()) std::memcpy(rep_ + 1, bytes.data(), bytes.size());
  }
  Blob(const Blob& other) : rep_(other.rep_) {
    if (rep_) ++rep_->owners;
  }
  Blob(Blob&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Blob& operator=(Blob other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Blob() {
    if (rep_ && --rep_->owners == 0) ::operator delete(rep_);
  }

  ByteView view() const {
    return rep_ ? ByteView(reinterpret_cast<const std::uint8_t*>(rep_ + 1), rep_->size) : ByteView();
  }

 private:
  struct Rep {
    std::uint32_t owners;
    std::uint32_t size;
  };
  Rep* rep_ = nullptr;
};

}  // namespace lossless::bgp
