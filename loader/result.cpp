// SPDX-License-Identifier: Apache-2.0
#include "loader/result.h"

#include <system_error>

namespace lossless {

std::string errno_text(int error) { return std::generic_category().message(error < 0 ? -error : error); }

}  // namespace lossless
