// SPDX-License-Identifier: Apache-2.0
// Sums for bench scan: of whole arrays, of rows, by key, in wider types.
#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/scan.hpp>

#include "tool/base/parallel.hpp"
#include "tool/commands/bench/bench_scan.hpp"
#include "tool/files/npy/npy_header.hpp"
#include "tool/measure/scans/scan_data.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

// Combinations of input and sum type that are measured: the type itself and some wider ones.
template <class T, class Out>
constexpr bool is_measured = std::is_same_v<T, Out> || (scans::accumulates(element_of<T>, element_of<Out>) &&
                                                        std::is_signed_v<T> == std::is_signed_v<Out>);

template <class T, class Out> class sums final : public scan_subject {
 public:
  sums(const scan_request& r, const context& where, std::int64_t count)
      : request_(r),
        arrays_(where, count),
        keys_(where, r.segment > 0 ? keys_of(r, count) : std::vector<std::int32_t>{}) {}

  std::string policy() override {
    if (request_.policy != "auto") return request_.policy;
    if (request_.segment > 0) return explain(arrays_.context, problem(), {.data = keys_.data()}).kernel;
    return explain(arrays_.context, problem()).kernel;
  }
  double bytes() const override {
    return static_cast<double>(count()) *
           (sizeof(T) + sizeof(Out) + (request_.segment > 0 ? sizeof(std::int32_t) : 0));
  }
  launch_counts run(stream on) override {
    const scan_options options{.policy = request_.policy, .stream = on};
    if (request_.segment > 0) return scan_by_key(arrays_.context, problem(), {.data = keys_.data()}, options);
    return scan(arrays_.context, problem(), options);
  }
  verdict assess(const work& by) override {
    return arrays_.assess(by, request_.segment > 0 ? request_.segment : count() / request_.rows);
  }
  std::vector<rival> rivals() override { return {cub(), cub_run_to_run()}; }
  rival copy() override {
    const auto half = static_cast<std::size_t>(bytes() / 2);
    if (half == arrays_.host.size() * sizeof(T))
      return device_copy(arrays_.context, arrays_.out.data(), input(), half);
    for (int i = 0; i < 2; ++i)
      copied_.emplace_back(arrays_.context, std::vector<std::byte>(half, std::byte{1}));
    return device_copy(arrays_.context, copied_[1].data(), copied_[0].data(), half);
  }

 private:
  const scan_request& request_;
  scan_arrays<T, Out> arrays_;
  device_array<std::int32_t> keys_;
  // source and destination of the copy, if the call moves other bytes than the input's size
  std::vector<device_array<std::byte>> copied_;

  std::int64_t count() const { return arrays_.count(); }
  const void* input() const { return arrays_.in.data(); }
  static std::vector<std::int32_t> keys_of(const scan_request& r, std::int64_t count) {
    std::vector<std::int32_t> keys(static_cast<std::size_t>(count));
    in_parallel(keys.size(), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        keys[i] = static_cast<std::int32_t>(i / static_cast<std::size_t>(r.segment));
    });
    return keys;
  }
  scans::problem problem() {
    scans::problem p = arrays_.problem();
    p.outer = request_.rows;
    p.length = count() / request_.rows;
    return p;
  }
  rival cub() {
    if (!std::is_same_v<T, Out>) return {.name = "CUB", .why_not = "its sums are of the elements' type"};
    if (request_.rows > 1) return {.name = "CUB", .why_not = "it scans one line"};
    if (request_.segment > 0)
      return cub_sums_by_key(arrays_.context, element_of<T>, keys_.data(), input(), arrays_.out.data(),
                             count());
    return cub_sums(arrays_.context, element_of<T>, input(), arrays_.out.data(), count());
  }
  rival cub_run_to_run() {
    if (!std::is_same_v<T, Out> || request_.rows > 1 || request_.segment > 0) return {};
    return cub_sums_run_to_run(arrays_.context, element_of<T>, input(), arrays_.out.data(), count());
  }
};

}  // namespace

std::unique_ptr<scan_subject> sums_of(const scan_request& r, const context& where, element type,
                                      std::int64_t count) {
  std::unique_ptr<scan_subject> made;
  with_element(type, [&]<class T>() {
    if (r.accumulate.empty()) {
      made = std::make_unique<sums<T, T>>(r, where, count);
      return;
    }
    with_element(parse_type("--accumulate", r.accumulate, types_to_calculate_with), [&]<class Out>() {
      if constexpr (is_measured<T, Out>)
        made = std::make_unique<sums<T, Out>>(r, where, count);
      else
        throw bad_request(fmt::format(
            "--accumulate {}: sums of {} are measured in wider types of the same kind, of 32 bits or more",
            r.accumulate, numpy_name(type)));
    });
  });
  return made;
}

}  // namespace antiphase::tool
