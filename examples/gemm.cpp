// A matrix product on the first GPU, or on the CPU executor where there is none: B turns the columns of A round.
#include <antiphase/gemm.hpp>
#include <cstdio>
#include <vector>

int main() {
  constexpr int m = 300, n = 200;
  std::vector<float> a(m * n), b(n * n);
  for (int i = 0; i < m * n; ++i) a[i] = static_cast<float>(i);
  for (int i = 0; i < n; ++i) b[i * n + n - 1 - i] = 1;

  const auto where = antiphase::context::best();
  antiphase::device_array<float> on_a(where, a), on_b(where, b), on_c(where, m * n);
  antiphase::gemm(where, {.a = antiphase::row_major(on_a.data(), m, n),
                          .b = antiphase::row_major(on_b.data(), n, n),
                          .c = antiphase::row_major(on_c.data(), m, n)});
  const std::vector<float> c = on_c.to_host();

  int wrong = 0;
  for (int i = 0; i < m * n; ++i) wrong += c[i] != a[i / n * n + n - 1 - i % n];
  std::printf("%d of %d elements are wrong on %s\n", wrong, m * n, where.limits().name.c_str());
  return wrong == 0 ? 0 : 1;
}
