// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/bpf/scratch_io.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  lossless::test::enter_private_namespace();
  return RUN_ALL_TESTS();
}
