// SPDX-License-Identifier: Apache-2.0
// Bytes of protocols: bounds-checked reading and writing in network order. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lossless {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;
using Mac = std::array<std::uint8_t, 6>;

inline constexpr std::size_t kEthernetHeader = 14;
// The longest frame of a port, without its FCS: header, two tags, payload.
constexpr unsigned longest_frame(unsigned mtu) {
  return mtu + static_cast<unsigned>(kEthernetHeader) + 2 * 4;
}

// Takes values off the front. After a read beyond the end every further read gives 0 or nothing, and ok() is
// false: one check after a group of reads is enough.
class WireReader {
 public:
  explicit WireReader(ByteView data) : data_(data) {}

  bool ok() const { return ok_; }
  std::size_t left() const { return data_.size(); }
  ByteView bytes(std::size_t count) {
    if (count > data_.size()) {
      ok_ = false;
      data_ = {};
      return {};
    }
    const ByteView front = data_.first(count);
    data_ = data_.subspan(count);
    return front;
  }
  ByteView rest() { return bytes(data_.size()); }
  std::uint8_t u8() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(number(2)); }
  std::uint32_t u24() { return number(3); }
  std::uint32_t u32() { return number(4); }

 private:
  std::uint32_t number(std::size_t size) {
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes(size)) value = value << 8U | byte;
    return value;
  }

  ByteView data_;
  bool ok_ = true;
};

class WireWriter {
 public:
  WireWriter() = default;
  // Goes on behind what is there.
  explicit WireWriter(Bytes begun) : out_(std::move(begun)) {}
  WireWriter& bytes(ByteView data) {
    out_.insert(out_.end(), data.begin(), data.end());
    return *this;
  }
  WireWriter& zeros(std::size_t count) {
    out_.resize(out_.size() + count);
    return *this;
  }
  WireWriter& u8(std::uint32_t value) { return number(value, 1); }
  WireWriter& u16(std::uint32_t value) { return number(value, 2); }
  WireWriter& u24(std::uint32_t value) { return number(value, 3); }
  WireWriter& u32(std::uint32_t value) { return number(value, 4); }
  // Writes over two bytes that are there already, such as a length that is known only now.
  void put_u16(std::size_t at, std::uint32_t value) {
    out_[at] = static_cast<std::uint8_t>(value >> 8U);
    out_[at + 1] = static_cast<std::uint8_t>(value);
  }
  std::size_t size() const { return out_.size(); }
  Bytes take() { return std::move(out_); }

 private:
  WireWriter& number(std::uint32_t value, unsigned size) {
    for (unsigned i = size; i-- > 0;) out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }

  Bytes out_;
};

// Destination, source and type of an Ethernet frame.
inline void write_ethernet(WireWriter& out, const Mac& destination, const Mac& source,
                           std::uint16_t ethertype) {
  out.bytes(destination).bytes(source).u16(ethertype);
}

}  // namespace lossless
