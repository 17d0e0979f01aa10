// SPDX-License-Identifier: Apache-2.0
// How a command ends: an exit code, or a failure that is told to the user.
#pragma once

#include <expected>
#include <string>

namespace lossless::cli {

// The exit codes of losslessctl(1).
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;       // the request failed, or the answer is a "no"
inline constexpr int kUsage = 2;        // the command line is wrong
inline constexpr int kUnreachable = 3;  // no answer from losslessd

struct Failure {
  std::string code;     // a gRPC code name such as NOT_FOUND; USAGE for a wrong command line
  std::string message;  // for people; what losslessd said is passed on word for word
  int exit_code = kFailed;
};

using Outcome = std::expected<int, Failure>;

inline std::unexpected<Failure> usage_failure(std::string message) {
  return std::unexpected(Failure{"USAGE", std::move(message), kUsage});
}

}  // namespace lossless::cli
