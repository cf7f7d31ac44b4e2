// SPDX-License-Identifier: Apache-2.0
#include <fill.hpp>

void fill(int* numbers, int count) {
  for (int i = 0; i < count; ++i) numbers[i] = i;
}
