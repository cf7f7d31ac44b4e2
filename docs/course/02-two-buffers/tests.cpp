// SPDX-License-Identifier: Apache-2.0
// Checks lab 2: right sums, each thread's own work, one barrier a step.
#include "../lab.h"

int main() {
  using namespace lab;
  const recording r;
  struct sizes {
    int n, threads, steps;
  };
  for (const sizes s : std::vector<sizes>{{33, 33, 6}, {1, 1, 0}, {2, 2, 1}, {97, 128, 7}}) {
    const auto host = numbers<int>(static_cast<std::size_t>(s.n));
    const array<int> from(host), to(static_cast<std::size_t>(s.n));
    scan<<<1, s.threads>>>(from, to, s.n);
    cudaDeviceSynchronize();
    const std::string name = text("n = %d, threads = %d", s.n, s.threads);
    int sum = 0;
    same(name, to, [&](int i) { return sum += host[static_cast<std::size_t>(i)]; });
    const acts last = done_by(r, s.threads - 1);
    demand(barriers(last) <= s.steps + 1, name,
           "%d barriers: expected one in each of %d steps, and the one before them", barriers(last), s.steps);
    demand(highest(done_by_all(r, 1, s.threads), accesses) <= 4 * s.steps + 4, name,
           "a thread does the work of others: expected one addition a step from each");
  }
}
