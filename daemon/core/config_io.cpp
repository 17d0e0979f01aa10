// SPDX-License-Identifier: Apache-2.0
// The configuration file itself.
#include "daemon/core/config.h"
#include "daemon/core/file_io.h"

namespace lossless {

std::expected<Config, ConfigErrors> load_config(const std::string& path) {
  const auto text = read_file(path, kMaxConfigBytes);
  if (!text) return std::unexpected(ConfigErrors{{path, 0, 0, text.error()}});
  return parse_config(*text, path);
}

}  // namespace lossless
