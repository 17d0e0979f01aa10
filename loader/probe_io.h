// SPDX-License-Identifier: Apache-2.0
// What the running kernel offers.
#pragma once

#include <string>
#include <vector>

#include "loader/result.h"

namespace lossless {

struct KernelFeature {
  std::string name;
  bool available = false;
  bool required = false;  // losslessd cannot run without it
  std::string detail;     // what it is for, or what to do without it
};

// BTF, tcx and the kernel functions the programs call. Reads the kernel's BTF: some 20 ms.
std::vector<KernelFeature> probe_kernel();
// One line that names everything required that is missing, or success.
Status require_kernel();
// uname -r
std::string kernel_release();

}  // namespace lossless
