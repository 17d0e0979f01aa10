// SPDX-License-Identifier: Apache-2.0
// Any bytes as a configuration file: an answer, never a crash. What is accepted must survive being written
// and read again; what is refused must come with errors in file order, each one line of text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "daemon/core/config.h"

namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "config_fuzz: broken: %s\n", what);
  std::abort();
}

void check_accepted(const lossless::Config& config) {
  const auto again = lossless::parse_config(lossless::to_toml(config), "again");
  require(again.has_value(), "the written file is accepted");
  require(*again == config, "the written file means the same");
  require(lossless::diff_config(config, *again).empty(), "no difference to itself");
  const lossless::Config empty;
  require(!lossless::diff_config(empty, config).empty(), "ports are a difference");
}

void check_refused(const lossless::ConfigErrors& errors) {
  require(!errors.empty(), "a refusal has a reason");
  std::pair<std::uint32_t, std::uint32_t> last{0, 0};
  for (const lossless::ConfigError& e : errors) {
    const std::pair place{e.line, e.column};
    require(last <= place, "errors are in file order");
    require(!e.message.empty(), "an error says something");
    require(e.message.find_first_of("\n\r\t\x1b") == std::string::npos, "an error is one line");
    last = place;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = lossless::parse_config(text, "fuzz.toml");
  if (config) {
    check_accepted(*config);
  } else {
    check_refused(config.error());
  }
  return 0;
}
