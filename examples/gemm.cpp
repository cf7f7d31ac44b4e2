// SPDX-License-Identifier: Apache-2.0
// A matrix product on the first GPU, or on the CPU executor where there is none.
#include <antiphase/gemm.hpp>
#include <cstdio>
#include <vector>

int main() {
  std::vector<float> a(300 * 200, 1.5f), b(200 * 100, 2.0f);
  const auto where = antiphase::context::best();
  antiphase::device_array<float> da(where, a), db(where, b), dc(where, 300 * 100);
  antiphase::gemm(where, {.a = antiphase::row_major(da.data(), 300, 200),
                          .b = antiphase::row_major(db.data(), 200, 100),
                          .c = antiphase::row_major(dc.data(), 300, 100)});
  std::printf("%g on %s\n", dc.to_host()[0], where.limits().name.c_str());
}
