// SPDX-License-Identifier: Apache-2.0
// Small text files: the configuration, and states that outlive a daemon.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace lossless {

// The text of a regular file of at most `max_bytes`. The error is the end of a sentence that begins with the
// path: "cannot read: No such file or directory".
std::expected<std::string, std::string> read_file(const std::string& path, std::size_t max_bytes);

// Puts `text` in the place of the file at once: readers find the old text or the new one, also after a crash.
// The folder must be there. Errors as above.
std::expected<void, std::string> replace_file(const std::string& path, const std::string& text);

}  // namespace lossless
