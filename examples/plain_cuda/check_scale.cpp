// SPDX-License-Identifier: Apache-2.0
// Launches scale_rows for the checker: antiphase check scale.cu --kernels check_scale.cpp
#include <antiphase/plain/driver.h>

int main() {
  using namespace antiphase::driver;
  const int rows = 3, columns = 101;
  const auto numbers_of_rows = numbers<float>(rows * columns);
  array<float> from(numbers_of_rows), to(rows * columns);
  scale_rows<<<rows, 64>>>(from, to, columns);
  return holds("to", to, [&](int i) { return numbers_of_rows[i] / 16; }) ? 0 : 1;
}
