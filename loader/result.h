// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>

namespace lossless {

// A value, or the sentence to show to whoever asked for it.
template <class T>
using Result = std::expected<T, std::string>;
using Status = std::expected<void, std::string>;

inline std::unexpected<std::string> fail(std::string message) { return std::unexpected(std::move(message)); }

// `what`: errno text.
std::string errno_text(int error);
inline std::unexpected<std::string> fail_errno(const std::string& what, int error) {
  return std::unexpected(what + ": " + errno_text(error));
}

}  // namespace lossless
