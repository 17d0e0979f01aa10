// SPDX-License-Identifier: Apache-2.0
// Reads LLDP frames, one a line in hex, takes their DCBX apart, puts it together again, and compares byte for
// byte. Prints each frame. Exit status 0: all are the same.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/unit/dcbx_frames.h"
#include "tests/unit/hex.h"

int main() {
  int status = EXIT_SUCCESS;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string fault = lossless::test::fault_of_frame(lossless::test::from_hex(line));
    std::cout << line << '\n';
    if (fault.empty()) continue;
    std::cerr << line << ": " << fault << '\n';
    status = EXIT_FAILURE;
  }
  return status;
}
