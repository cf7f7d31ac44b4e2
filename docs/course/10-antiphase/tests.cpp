// SPDX-License-Identifier: Apache-2.0
// Checks lab 10: right attention, products in turns only, and the softmax outside of them.
#include "../lab.h"

namespace {

using namespace lab;

// Reads of shared memory by a thread, turn by turn: its products. Those outside of turns are counted apart.
// Its writes are the weights: a softmax.
struct turns {
  struct turn {
    unsigned long first, last, bytes;
  };
  std::vector<turn> all;
  unsigned long outside = 0;
  int waits = 0, arrivals = 0;  // at named barriers: arrivals alone, without a wait
  int weights = 0;              // written within a turn that was passed on
  explicit turns(const acts& of) {
    bool mine = false;
    int written = 0;
    for (const act& a : of) {
      // a wait arrives, too
      waits += a.is("waits at a named barrier");
      arrivals += a.is("arrives at a named barrier");
      if (a.is("waits at a named barrier")) mine = true, written = 0, all.push_back({~0ul, 0, 0});
      if (a.is("arrives at a named barrier") && mine) mine = false, weights += written;
      written += a.shared && a.writes();
      if (!reads_shared(a) || a.bytes > 16) continue;
      if (!mine) outside += a.bytes;
      if (!mine) continue;
      turn& t = all.back();
      t = {std::min(t.first, a.moment), std::max(t.last, a.moment), t.bytes + a.bytes};
    }
    arrivals -= waits;
    std::erase_if(all, [](const turn& t) { return t.bytes == 0; });
  }
};

// Of a thread of each group.
void demand_turns(const std::string& name, const turns& one, const turns& other, std::size_t tiles) {
  constexpr unsigned long product = keys * dim * sizeof(float);  // bytes that one reads
  for (const turns* of : {&one, &other}) {
    demand(
        of->all.size() >= tiles, name,
        "products are made in %zu turns: expected one for each of %zu tiles, between a wait at the group's "
        "named barrier and an arrival at the other's",
        of->all.size(), tiles);
  }
  demand(one.arrivals == other.waits && other.arrivals == one.waits, name,
         "group 0 passes its turn on %d times and group 1 waits %d times, group 1 %d and group 0 %d times: "
         "expected as many of both, as each arrival ends one wait",
         one.arrivals, other.waits, other.arrivals, one.waits);
  for (const turns* of : {&one, &other}) {
    demand(of->outside <= 2 * product, name,
           "products are made outside of turns: expected that of the last tile of V at most");
    demand(
        of->weights == 0 && of->all.front().bytes <= product, name,
        "a softmax lies within a turn: expected the products with V of the tile before and with K, then the "
        "turn passed on, then the softmax");
  }
  for (std::size_t i = 0; i < tiles; ++i)
    demand(one.all[i].last < other.all[i].first && (i == 0 || other.all[i - 1].last < one.all[i].first), name,
           "both groups multiply at the same time: expected turns, those of group 0 first");
}

}  // namespace

int main() {
  const recording r;
  for (const int n : {3, 19, 24}) {
    const auto of = [&](unsigned seed) {
      std::vector<float> all = numbers<float>(static_cast<std::size_t>(n * dim), seed);
      for (float& x : all) x /= 16;
      return all;
    };
    const auto q = of(1), k = of(2), v = of(3);
    const array<float> on_q(q), on_k(k), on_v(v), o(q.size());
    attention<<<1, block_size>>>(on_q, on_k, on_v, o, n);
    cudaDeviceSynchronize();
    const std::string name = text("n = %d", n);
    same(
        name, o,
        [&](int i) {
          double sum = 0, all = 0;
          for (int j = 0; j < n; ++j) {
            double score = 0;
            for (int d = 0; d < dim; ++d)
              score +=
                  q[static_cast<std::size_t>(i / dim * dim + d)] * k[static_cast<std::size_t>(j * dim + d)];
            all += std::exp(score);
            sum += std::exp(score) * v[static_cast<std::size_t>(j * dim + i % dim)];
          }
          return sum / all;
        },
        1e-5);
    if (n < 24) continue;
    for (int thread = 0; thread < group_size; ++thread)
      demand_turns(name, turns(done_by(r, thread)), turns(done_by(r, group_size + thread)), n / keys);
  }
}
