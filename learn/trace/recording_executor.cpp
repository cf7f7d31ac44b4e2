// SPDX-License-Identifier: Apache-2.0
#include "learn/trace/recording_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "learn/trace/spans.hpp"
#include "learn/trace/twins/launch_twin.hpp"

namespace antiphase {
namespace {

// Room for a warp's spans: in a step (a scan has four waits and a commit), and besides.
constexpr int spans_of_step = 6, spans_besides = 16;

// A context that owns nothing.
context on_borrowed(const executor& e) {
  return context(std::shared_ptr<const executor>(std::shared_ptr<void>(), &e));
}

// Offset of the log in a twin's params: after those of the kernel, aligned.
constexpr std::size_t log_at(std::size_t params_bytes) {
  return (params_bytes + alignof(span_log) - 1) / alignof(span_log) * alignof(span_log);
}

}  // namespace

recording_executor::recording_executor(const executor& on, const std::vector<twin>& twins,
                                       const trace_options& options, const recorded_work& work, mode how)
    : forwarding_executor(on),
      limits_(on.limits()),
      bytes_(work.bytes),
      multiprocessors_(std::max(1, work.multiprocessors)),
      twins_(twins),
      options_(options),
      capacity_(spans_of_step * options.steps + spans_besides),
      spans_(on_borrowed(on), static_cast<std::size_t>(most_warps) * static_cast<std::size_t>(capacity_)),
      counts_(on_borrowed(on), std::vector<std::int32_t>(most_warps, 0)),
      how_(how) {
  if (on.kind() != target::cuda && work.multiprocessors > 0)
    limits_.multiprocessors = std::min(limits_.multiprocessors, work.multiprocessors);
}

launch_counts recording_executor::launch(const kernel& k, extent3 grid, const void* params, stream s) const {
  const auto found = std::ranges::find(twins_, std::string_view(k.name),
                                       [](const twin& t) { return std::string_view(t.kernel_name); });
  launched_.push_back(k.name);
  if (recorded_ != nullptr || found == twins_.end() || grid.count() == 0)
    return forwarding_executor::launch(k, grid, params, s);
  blocks_ = grid.count();
  if (options_.block >= blocks_)
    throw bad_request(fmt::format("block {} does not exist: the grid has {} blocks, numbered from 0",
                                  options_.block, blocks_));
  std::vector<std::byte> all(found->code.params_bytes);
  const span_log log{const_cast<span_record*>(spans_.data()), const_cast<std::int32_t*>(counts_.data()),
                     capacity_, options_.block};
  std::memcpy(all.data(), params, k.params_bytes);
  std::memcpy(all.data() + log_at(k.params_bytes), &log, sizeof log);
  kernel code = found->code;
  code.cluster = k.cluster;  // chosen by the host
  recorded_ = &*found;
  const kernel& what = how_ == mode::timed_as_is ? k : code;
  const void* with = how_ == mode::timed_as_is ? params : all.data();
  if (how_ == mode::record)
    return launch_twin(
        to(), limits(),
        {.code = what, .grid = grid, .params = with, .bytes = bytes_, .multiprocessors = multiprocessors_},
        options_);
  launch_counts done;
  milliseconds_ = forwarding_executor::milliseconds(
      [&](stream queue) { done = forwarding_executor::launch(what, grid, with, queue); }, s);
  return done;
}

std::optional<timeline> recording_executor::take(timeline t) const {
  if (recorded_ == nullptr) return std::nullopt;
  const twin& by = *recorded_;
  t.device = device_of(to(), options_);
  t.runs_on = to().kind();
  t.unit = to().kind() == target::cuda ? "cycles" : "ticks";
  t.stages = by.stages;
  t.warps = by.code.threads / 32;
  t.block = options_.block;
  t.step_is = by.step_is;
  t.phases = by.phases;
  t.rings = by.rings;
  t.roles = by.roles;
  t.step_bytes = by.step_bytes;
  t.step_work = by.step_work;
  const std::vector<std::int32_t> counts = counts_.to_host();
  collect(t, spans_.to_host(), counts, capacity_);
  if (by.spans_are == twin::spans::complete)
    number_complete_spans(t, counts);
  else
    complete_from_verbs(t, counts);
  keep_steps(t, options_.steps);
  return t;
}

}  // namespace antiphase
