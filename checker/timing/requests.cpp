// SPDX-License-Identifier: Apache-2.0
#include "requests.hpp"

#include <algorithm>
#include <bit>

namespace antiphase::checker_detail {
namespace {

constexpr std::uint32_t banks = 32, word_bytes = 4, sector_bytes = 32;

// Distinct numbers, of at most four words or two sectors for each lane.
class distinct {
 public:
  void add(std::uint64_t n) { all_[count_++] = n; }
  template <class F> void for_each(F f) {
    std::sort(all_.begin(), all_.begin() + count_);
    std::for_each(all_.begin(), std::unique(all_.begin(), all_.begin() + count_), f);
  }

 private:
  std::array<std::uint64_t, 128> all_;
  std::ptrdiff_t count_ = 0;
};

template <class F> void for_lanes(std::uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(static_cast<std::uint32_t>(std::countr_zero(lanes)));
}

// Whether each active lane wants the address of the lane whose number differs in `bit`, if that is active.
bool paired(const warp_request& r, std::uint32_t bit) {
  bool all = true;
  for_lanes(r.lanes, [&](std::uint32_t lane) {
    const std::uint32_t other = lane ^ bit;
    if ((r.lanes >> other & 1) != 0 && r.address[lane] != r.address[other]) all = false;
  });
  return all;
}

}  // namespace

request_cost wavefronts(const warp_request& r) {
  std::uint32_t together = r.bytes <= word_bytes ? 32 : 128 / r.bytes;
  if (together < 32 && (paired(r, 1) || paired(r, 2))) together *= 2;
  request_cost cost;
  for (std::uint32_t first = 0; first < 32; first += together) {
    const std::uint32_t lanes = r.lanes & (~0u >> (32 - together) << first);
    if (lanes == 0) continue;
    distinct words;
    for_lanes(lanes, [&](std::uint32_t lane) {
      const std::uint64_t end = r.address[lane] + r.bytes;
      for (std::uint64_t w = r.address[lane] / word_bytes; w * word_bytes < end; ++w) words.add(w);
    });
    std::array<std::uint64_t, banks> in_bank{};
    words.for_each([&](std::uint64_t w) { ++in_bank[w % banks]; });
    cost.units += *std::max_element(in_bank.begin(), in_bank.end());
    ++cost.ideal;
  }
  return cost;
}

request_cost sectors(const warp_request& r) {
  distinct all, starts;
  for_lanes(r.lanes, [&](std::uint32_t lane) {
    starts.add(r.address[lane]);
    const std::uint64_t first = r.address[lane] / sector_bytes,
                        last = (r.address[lane] + r.bytes - 1) / sector_bytes;
    all.add(first);
    if (last != first) all.add(last);
  });
  request_cost cost;
  all.for_each([&](std::uint64_t) { ++cost.units; });
  starts.for_each([&](std::uint64_t) { cost.ideal += r.bytes; });
  cost.ideal = (cost.ideal + sector_bytes - 1) / sector_bytes;
  return cost;
}

}  // namespace antiphase::checker_detail
