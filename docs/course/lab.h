// SPDX-License-Identifier: Apache-2.0
// Common to the tests of all labs: demands on results, and on what threads did.
#pragma once
#include <antiphase/plain/driver.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace lab {

using namespace antiphase::driver;
using act = recording::act;
using acts = std::vector<act>;

// As of printf.
inline std::string text(const char* format, ...) {
  char out[400];
  va_list values;
  va_start(values, format);
  std::vsnprintf(out, sizeof out, format, values);
  va_end(values);
  return out;
}
struct not_yet : std::exception {
  std::string why;
  const char* what() const noexcept override { return why.c_str(); }
};
// Ends the tests with a sentence for the student, which `of` begins: the case.
template <class... T> void demand(bool met, const std::string& of, const char* otherwise, T... values) {
  if (met) return;
  not_yet end;
  end.why = of + ": " + text(otherwise, values...);
  throw end;
}

// `of` says which case it is. NaN is never right.
template <class T, class F>
void same(const std::string& of, const array<T>& a, F expected, double tolerance = 0) {
  const std::vector<T> all = a.to_host();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double is = static_cast<double>(all[i]),
                 wanted = static_cast<double>(expected(static_cast<int>(i)));
    demand(is == wanted || std::fabs(is - wanted) <= tolerance, "wrong result, " + of,
           "element %zu is %g, expected %g", i, is, wanted);
  }
}

// Acts of a thread of the last kernel.
inline acts done_by(const recording& r, int thread) {
  acts all = r.of(0, thread);
  demand(!all.empty(), "the kernel", "expected it to have a thread %d", thread);
  return all;
}
// Those of all threads of the last kernel's blocks, as demands are on each of them.
inline std::vector<acts> done_by_all(const recording& r, int blocks, int threads) {
  std::vector<acts> all;
  for (int block = 0; block < blocks; ++block)
    for (int thread = 0; thread < threads; ++thread)
      all.push_back(r.of(static_cast<unsigned>(block), thread));
  return all;
}
template <class F> int count(const acts& of, F that) {
  int n = 0;
  for (const act& a : of) n += that(a);
  return n;
}
// The highest count of any thread.
template <class F> int highest(const std::vector<acts>& all, F that) {
  int n = 0;
  for (const acts& of : all) n = std::max(n, count(of, that));
  return n;
}
inline int block_barriers(const acts& of) {
  return count(of, [](const act& a) { return a.is("block barrier"); });
}
inline int named_barriers(const acts& of) {  // whoever waits at one arrives, too
  return count(of, [](const act& a) { return a.is("arrives at a named barrier"); });
}
inline int barriers(const acts& of) { return block_barriers(of) + named_barriers(of); }
// Those in which both roles meet.
inline int barriers_of_roles(const acts& computes, const std::vector<acts>& loading) {
  int most = 0;
  for (const acts& one : loading) most = std::max(most, named_barriers(one));
  return block_barriers(computes) + most;
}
inline bool reads_shared(const act& a) { return a.shared && a.reads(); }
inline bool reads_global(const act& a) { return !a.shared && a.reads(); }
inline bool accesses(const act& a) { return a.reads() || a.writes(); }

// Requests of a warp: the i-th act of each lane that `that` picks, for every i.
template <class F> std::vector<acts> requests(const recording& r, int block, int warp, F that) {
  std::vector<acts> all;
  for (int lane = 0; lane < 32; ++lane) {
    std::size_t i = 0;
    for (const act& a : r.of(static_cast<unsigned>(block), warp * 32 + lane)) {
      if (!that(a)) continue;
      if (i == all.size()) all.emplace_back();
      all[i++].push_back(a);
    }
  }
  return all;
}
inline int distinct(std::vector<unsigned long> all) {
  std::sort(all.begin(), all.end());
  return static_cast<int>(std::unique(all.begin(), all.end()) - all.begin());
}
// Sectors of 32 bytes of global memory that a request moves.
inline int sectors(const acts& request) {
  std::vector<unsigned long> all;
  for (const act& a : request)
    for (unsigned long b = a.address / 32; b <= (a.address + a.bytes - 1) / 32; ++b) all.push_back(b);
  return distinct(all);
}
// Wavefronts of shared memory for a request of up to 4 bytes a lane: the most words in one of 32 banks.
inline int wavefronts(const acts& request) {
  std::vector<unsigned long> banks[32];
  int most = 0;
  for (const act& a : request) banks[a.address / 4 % 32].push_back(a.address / 4);
  for (const auto& words : banks) most = std::max(most, distinct(words));
  return most;
}

// A thread's reads of shared memory during which at least so many of its copies were in flight, by its waits:
// what it has not waited for, neither by its groups nor at an mbarrier that counts it, may be on its way.
inline int reads_under_way(const acts& of, int copies) {
  struct copy {
    act issued, counted;
  };
  std::vector<copy> open;
  int reads = 0;
  for (const act& a : of) {
    const auto ends = [&](const act& b) { return b.of != 0 && b.of == a.of && b.number <= a.number; };
    if (a.copies()) open.push_back({a, {}});
    if (a.is("arrives with copies"))
      for (copy& c : open)
        if (c.counted.of == 0) c.counted = a;
    if (a.waits()) std::erase_if(open, [&](const copy& c) { return ends(c.issued) || ends(c.counted); });
    reads += reads_shared(a) && static_cast<int>(open.size()) >= copies;
  }
  return reads;
}
// Demands of threads with a part of every tile, those that copy most, that the copies of so many tiles are on
// their way whenever one reads a tile, except for the last ones.
inline void demand_under_way(const std::string& of, const std::vector<acts>& all, int tiles, int ahead) {
  const auto copies = [](const act& a) { return a.copies(); };
  const int most = highest(all, copies);
  demand(most > 0, of,
         "no thread copies asynchronously: expected copies that are on their way during other tiles");
  for (const acts& one : all) {
    if (count(one, copies) < most) continue;
    const int reads = count(one, reads_shared), covered = reads_under_way(one, most / tiles * ahead);
    demand(covered * tiles >= reads * (tiles - ahead), of,
           "during %d of %d reads of shared memory by a thread its copies of fewer than %d of the next tiles "
           "are "
           "on their way: expected that only of the last tiles",
           reads - covered, reads, ahead);
  }
}

// Ticks that a kernel took for one tile, and for so many; `ahead` are to be on their way at a time. Told as a
// ratio: a tick of this clock, whose loads come from memory, is none of trace's.
inline void in_time(const std::string& of, unsigned long one, unsigned long all, int tiles, int ahead) {
  const int trips = (tiles + ahead - 1) / ahead;
  demand(
      one > 0, of,
      "no thread waits for a copy on its way: expected tiles that are copied while the threads do something "
      "else");
  demand(static_cast<double>(all) < static_cast<double>(one) * (trips + 0.15 * tiles), of,
         "%d tiles took %.1f times as long as one. With %d on their way at a time about %d times suffices: "
         "a thread waits too early",
         tiles, static_cast<double>(all) / static_cast<double>(one), ahead, trips);
}

// C = A·B of small integers, exact in float.
struct product {
  int m, n, k;
  std::vector<float> a = numbers<float>(static_cast<std::size_t>(m * k), 1);
  std::vector<float> b = numbers<float>(static_cast<std::size_t>(k * n), 2);
  std::string name() const { return text("M x N x K = %d x %d x %d", m, n, k); }
  float operator()(int i) const {
    float sum = 0;
    for (int x = 0; x < k; ++x)
      sum += a[static_cast<std::size_t>(i / n * k + x)] * b[static_cast<std::size_t>(x * n + i % n)];
    return sum;
  }
  int blocks(int tile) const { return (n + tile - 1) / tile * ((m + tile - 1) / tile); }
  // `launch` is called with a grid, A, B and C.
  template <class F> void run(int tile, F launch) const {
    const array<float> on_a(a), on_b(b), c(static_cast<std::size_t>(m * n));
    launch(dim3((n + tile - 1) / tile, (m + tile - 1) / tile), on_a, on_b, c);
    cudaDeviceSynchronize();
    same(name(), c, *this);
  }
};

}  // namespace lab
