// SPDX-License-Identifier: Apache-2.0
// Scans with a user-defined type and operator, for bench scan.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <antiphase/core/error.hpp>
#include <cstring>

#include "tool/base/parallel.hpp"
#include "tool/commands/bench/bench_scan.hpp"
#include "tool/measure/scans/custom_scan.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

custom_scan custom_scan_on(target kind) {
#if ANTIPHASE_HAS_CUDA
  if (kind == target::cuda) return cuda::custom_scan_kernels();
#endif
  static_cast<void>(kind);
  return cpu::custom_scan_kernels();
}

template <class Word, int N> turn<Word, N> random_element(turn<Word, N>, std::size_t position) {
  turn<Word, N> element{};
  const std::uint64_t bits = random_bits(5, position);
  element.flips = static_cast<Word>(-(bits & 1));
  for (int i = 0; i < N; ++i) element.offset[i] = static_cast<Word>(bits >> (1 + 8 * i));
  return element;
}

template <class T> class custom_array final : public scan_subject {
 public:
  custom_array(const context& where, std::int64_t count)
      : where_(where),
        host_(static_cast<std::size_t>(count)),
        in_(where, host_.size()),
        out_(where, host_.size()) {
    in_parallel(host_.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) host_[i] = random_element(T{}, i);
    });
    in_.copy_from(host_);
  }

  std::string policy() override { return custom_scan_on(where_.kind()).policy(where_, sizeof(T), count()); }
  double bytes() const override { return 2. * sizeof(T) * static_cast<double>(host_.size()); }
  launch_counts run(stream on) override {
    return custom_scan_on(where_.kind()).run(where_, sizeof(T), input(), out_.data(), count(), on);
  }
  verdict assess(const work& by) override {
    out_.copy_from(all_wrong());
    where_.runs_on().milliseconds(by, nullptr);
    const std::size_t wrong = wrong_elements(out_.to_host());
    return {.error = host_.empty() ? 0 : static_cast<double>(wrong) / static_cast<double>(host_.size()),
            .verified = wrong == 0};
  }
  std::vector<rival> rivals() override {
    return {cub_custom_scan(where_, sizeof(T), input(), out_.data(), count())};
  }
  rival copy() override { return device_copy(where_, out_.data(), input(), host_.size() * sizeof(T)); }

 private:
  context where_;
  std::vector<T> host_;
  device_array<T> in_, out_;

  std::int64_t count() const { return static_cast<std::int64_t>(host_.size()); }
  const T* input() const { return in_.data(); }
  // Flips are 0 or all bits, so no result can equal these elements.
  std::vector<T> all_wrong() const {
    T wrong;
    std::memset(static_cast<void*>(&wrong), 0x77, sizeof wrong);
    return std::vector<T>(host_.size(), wrong);
  }
  std::size_t wrong_elements(const std::vector<T>& results) const {
    std::size_t wrong = 0;
    T expected{};
    for (std::size_t i = 0; i < host_.size(); ++i) {
      expected = i == 0 ? host_[0] : one_turn_after_the_other{}(expected, host_[i]);
      if (!(results[i] == expected)) ++wrong;
    }
    return wrong;
  }
};

}  // namespace

std::unique_ptr<scan_subject> custom_scan_of(const context& where, int size, std::int64_t count) {
  return with_custom_element(size, [&]<class T>() -> std::unique_ptr<scan_subject> {
    return std::make_unique<custom_array<T>>(where, count);
  });
}

std::vector<int> custom_sizes_of(const scan_request& r) {
  std::vector<int> sizes;
  for (const std::string& text : r.own) {
    if (text == "all") {
      sizes.insert(sizes.end(), std::begin(custom_sizes), std::end(custom_sizes));
      continue;
    }
    std::vector<std::string> known;
    for (const int size : custom_sizes) known.push_back(std::to_string(size));
    known.emplace_back("all");
    sizes.push_back(custom_sizes[choice_of("--own", text, known)]);
  }
  return sizes;
}

}  // namespace antiphase::tool
