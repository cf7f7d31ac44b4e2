// SPDX-License-Identifier: Apache-2.0
// Operations of libraries as kernels of one thread.
#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "checker/runs/executor.hpp"
#include "run.hpp"

#include <antiphase/plain/libraries.h>

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

namespace {
checker_detail::place_number called_at = 0;  // the operation in progress
void run_library_now(const char* name, cudaStream_t on, std::size_t bytes, void (*body)(const void*),
                     const void* params, checker_detail::place_number at) {
  begin_schedule();
  count_launch();
  model& m = followed();
  coverage.misled = coverage.sampled;
  running_launch.kernel = name;
  running_launch.grid = running_launch.block = {};
  running_launch.together = false;
  forget_threads();
  called_at = at;
  const kernel k{.name = name,
                 .threads = 1,
                 .shared_bytes = 0,
                 .shared = shared_kind::dynamic,
                 .blocks = residency::any,
                 .cluster = 1,
                 .params_bytes = bytes,
                 .body = body};
  checker_detail::choose_blocks(device(), {}, 0);
  m.host.runs_library = true;
  try {
    device().launch(k, {1, 1, 1}, params, on);
    m.host.runs_library = false;
    undefined_results().launch_ended(m, name, outcome_as_number);
  } catch (...) {
    m.host.runs_library = false;
    end_run(std::current_exception());
  }
}
// True for an operation that is not done now: it goes into a graph, or is an error.
bool puts_off(const char* name, cudaStream_t on, after_it then, const kept_operation& keep, const void* f,
              std::size_t bytes, void (*body)(const void*), checker_detail::place_number at) {
  const auto wrong = [&](const char* where, const char* instead) {
    followed().findings.note(finding_kind::bad_launch, "", at, fmt::format("{} {}", name, where), "",
                             instead);
    return fails(cudaErrorStreamCaptureUnsupported) != cudaSuccess;
  };
  if (host_function_thread() != nullptr)
    return wrong("in a host function on a stream",
                 "the call in main, or in an order of the stream: a host function may not call CUDA");
  if (!is_capturing(on)) return false;
  if (then == after_it::host_waits)
    return wrong("waits for its stream, which is captured", "cudaStreamEndCapture() before it");
  if (keep == nullptr) {
    const code_place line = followed().places.first_line(at);
    end_run_with(not_supported(
        fmt::format("{}:{}: {} in a captured stream is not supported here: use a kernel of the program",
                    checker_detail::shown(line.file), line.line, name)));
  }
  return captured(on, cudaGraphNodeTypeGraph,
                  [name, bytes, body, at, own = keep(f)](cudaStream_t s) {
                    run_library_now(name, s, bytes, body, own.get(), at);
                  },
                  {});
}
}  // namespace

void run_library(const char* name, cudaStream_t on, after_it then, std::size_t bytes,
                 void (*body)(const void*), const void* params, kept_operation keep) {
  const void* const code = __builtin_return_address(0);
  // Not inlined into host code of nvcc, which calls it in C.
  const place caller = has_host_of_nvcc() ? place_of_host(code) : place{};
  auto& places = followed().places;
  const checker_detail::place_number at =
      caller.line() != 0 ? places.number_of(caller) : places.number_of_code(code);
  if (puts_off(name, on, then, keep, params, bytes, body, at)) return;
  run_library_now(name, on, bytes, body, params, at);
  if (then == after_it::host_waits) wait_for_stream(on);
}
bool in_library() noexcept { return is_followed() && followed().host.runs_library; }
namespace {
// Host memory is none of the operation's arguments, though its code may use it.
void check_for_library(const void* p, std::size_t bytes, access_kind kind) {
  if (bytes == 0) return;
  model& m = followed();
  if (m.clocks.log != nullptr && m.memory.follows(p, bytes))
    m.write_down(kind == access_kind::read ? event_kind::read : event_kind::write, p, bytes, called_at);
  const checker_detail::address_range own = std::exchange(m.host.stack, {});
  m.history.visit({.thread = *m.current(), .kind = kind, .place = called_at, .bytes = bytes}, p, bytes);
  m.host.stack = own;
}
}  // namespace

void library_reads(const void* p, std::size_t bytes) { check_for_library(p, bytes, access_kind::read); }
void library_writes(const void* p, std::size_t bytes) { check_for_library(p, bytes, access_kind::write); }
void library_load(void* to, const void* from, std::size_t bytes) {
  library_reads(from, bytes);
  std::memcpy(to, from, bytes);
}
void library_store(void* to, const void* from, std::size_t bytes) {
  library_writes(to, bytes);
  std::memcpy(to, from, bytes);
}
}  // namespace antiphase::plain
