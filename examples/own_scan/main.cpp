// SPDX-License-Identifier: Apache-2.0
// Daily balances of an account, by one scan: each day multiplies the balance by that day's interest and adds
// that day's payment.
#include <antiphase/context.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

#include "recurrence.hpp"

int main() {
  constexpr int days = 100'000;
  std::vector<own::step> host;
  for (int day = 0; day < days; ++day)
    host.push_back({1 + (day % 31 - 15) * 1e-5, day % 7 < 5 ? 1.25 : -3.0});

  const auto where = antiphase::context::best();
  antiphase::device_array<own::step> steps(where, host);
#if ON_GPUS_TOO
  if (where.kind() == antiphase::target::cuda)
    own::cuda::compose(where, steps.data(), days);
  else
#endif
    own::cpu::compose(where, steps.data(), days);
  const std::vector<own::step> through = steps.to_host();

  const double at_first = 1000;
  double balance = at_first, off = 0;
  for (int day = 0; day < days; ++day) {
    balance =
        host[static_cast<std::size_t>(day)].factor * balance + host[static_cast<std::size_t>(day)].offset;
    const own::step& all = through[static_cast<std::size_t>(day)];
    off = std::max(off, std::abs(all.factor * at_first + all.offset - balance) / std::abs(balance));
  }
  std::printf("after %d days on %s: %.2f; no day's balance is off by more than a share of %.0e\n", days,
              where.limits().name.c_str(), balance, off);
  return off < 1e-9 ? 0 : 1;
}
