// SPDX-License-Identifier: Apache-2.0
// Basics of all scan tests: devices, guarded memory, and an obviously correct scan.
#pragma once
#include <gtest/gtest.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <antiphase/scan.hpp>
#include <antiphase/scan/detail/passes.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::scan_test {

// A test on the device named by its parameter; skipped where that is a missing GPU.
class on_device : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (is_cuda() && cuda_devices(&why).empty()) GTEST_SKIP() << "no GPU: " << why;
  }
  bool is_cuda() const { return std::string_view(GetParam()).starts_with("cuda"); }
  target where() const { return is_cuda() ? target::cuda : target::cpu; }
  context any() const { return context::on(is_cuda() ? "cuda" : "cpu"); }
  // On the CPU: several schedules and copy landings.
  std::vector<context> several() const {
    if (is_cuda()) return {any()};
    return {context(make_cpu_executor({.seed = 1, .copies = landing::late, .workers = 1})),
            context(make_cpu_executor({.seed = 77, .copies = landing::early, .workers = 1})),
            context(make_cpu_executor({.seed = 4242, .copies = landing::mixed}))};
  }
};
#define AP_ON_BOTH_DEVICES(suite)                               \
  INSTANTIATE_TEST_SUITE_P(Cpu, suite, testing::Values("cpu")); \
  INSTANTIATE_TEST_SUITE_P(Cuda, suite, testing::Values("cuda"))

// The text with which the policy refuses a problem; empty if it takes it.
inline std::string refusal_by(const char* policy, const context& where, const scans::problem& p) {
  try {
    scan(where, p, {.policy = policy});
  } catch (const not_supported& e) {
    return e.what();
  }
  return {};
}

// `size` elements on a device, `offset` elements past an aligned address, between guards that must stay
// unchanged.
template <class T> class guarded {
 public:
  static constexpr std::size_t guard = 64;

  // always_after: with a guard after it where memory there cannot be touched, too.
  guarded(const context& where, const std::vector<T>& host, std::size_t offset = 0, bool always_after = false)
      : size_(host.size()),
        before_(guard + offset),
        // on the CPU executor memory after it cannot be touched
        after_(always_after || where.kind() == target::cuda ? guard : 0),
        host_((before_ + size_ + after_) * sizeof(T)),
        device_(where, host_.size()) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<unsigned char>(i * 37 + 11);
    if (size_ > 0) std::memcpy(at_elements(host_), host.data(), size_ * sizeof(T));
    device_.copy_from(host_);
  }
  T* data() { return reinterpret_cast<T*>(device_.data()) + before_; }
  bool guards_intact() const { return intact(device_.to_host()); }
  std::vector<T> to_host() const {
    std::vector<unsigned char> now = device_.to_host();
    const T* first = reinterpret_cast<const T*>(at_elements(now));
    EXPECT_TRUE(intact(now)) << "something outside the output was written";
    return std::vector<T>(first, first + size_);
  }

 private:
  template <class Bytes> auto at_elements(Bytes& bytes) const { return bytes.data() + before_ * sizeof(T); }
  bool intact(const std::vector<unsigned char>& now) const {
    const std::size_t end = (before_ + size_) * sizeof(T);
    return std::memcmp(now.data(), host_.data(), before_ * sizeof(T)) == 0 &&
           std::memcmp(now.data() + end, host_.data() + end, after_ * sizeof(T)) == 0;
  }

  std::size_t size_, before_, after_;
  std::vector<unsigned char> host_;
  device_array<unsigned char> device_;
};

// Every line, or every tile of every line, scanned sequentially. An exclusive scan starts with the initial
// value.
template <class T, class Op> std::vector<T> expected_scan(const std::vector<T>& in, const scans::lines& over,
                                                          scan_kind kind, const T& initial, Op op,
                                                          std::int64_t tile = 0) {
  std::vector<T> out = in;
  for (std::int64_t line = 0; line < over.outer * over.inner; ++line) {
    const std::int64_t start = line / over.inner * over.length * over.inner + line % over.inner;
    T running = initial;
    for (std::int64_t i = 0; i < over.length; ++i) {
      const bool first = tile > 0 ? i % tile == 0 : i == 0;
      const std::int64_t logical = over.direction == scan_direction::forward ? i : over.length - 1 - i;
      const auto at = static_cast<std::size_t>(start + logical * over.inner);
      if (kind == scan_kind::exclusive) {
        out[at] = first ? initial : running;
        running = first ? static_cast<T>(op(initial, in[at])) : static_cast<T>(op(running, in[at]));
      } else {
        running = first ? in[at] : static_cast<T>(op(running, in[at]));
        out[at] = running;
      }
    }
  }
  return out;
}

// Runs the passes of a scan over whole lines. `most_blocks`, if not 0, makes every block take several tiles.
template <class T> void run(const context& where, const scans::kernel_pair& kernels,
                            const scans::arguments<T>& all, unsigned most_blocks = 0) {
  device_array<std::byte> workspace(where, scans::workspace_bytes<T>(kernels.tile, all.over));
  for (scans::launchable& l : scans::passes(kernels, all, workspace.data())) {
    if (most_blocks > 0) l.grid.x = std::min(l.grid.x, most_blocks);
    where.runs_on().launch(l.code, l.grid, l.arguments.data(), nullptr);
  }
  where.runs_on().synchronize(nullptr);
}
// Every tile by itself.
template <class T>
void run_tiles(const context& where, const scans::kernel_pair& kernels, const scans::arguments<T>& all) {
  const scans::launchable l = scans::launch_of(kernels.scan, kernels.tile, all);
  where.runs_on().launch(l.code, l.grid, l.arguments.data(), nullptr);
  where.runs_on().synchronize(nullptr);
}

inline void PrintTo(const scans::lines& over, std::ostream* out) {
  *out << over.outer << " x " << over.length << " x " << over.inner
       << (over.direction == scan_direction::reverse ? " reverse" : "");
}

}  // namespace antiphase::scan_test
