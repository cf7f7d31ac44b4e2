// SPDX-License-Identifier: Apache-2.0
// Streams, events and host functions.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

namespace {
struct stream_state {
  std::uintptr_t created = 0;
  std::set<cudaStream_t> destroyed;
  std::set<std::pair<const void*, checker_detail::block_number>> queries;  // and the next block
  checker_detail::thread_model* host_function = nullptr;                   // in progress
  std::optional<host_work> ordinary;                                       // memory of the host
};
stream_state streams;
}  // namespace

checker_detail::thread_model* host_function_thread() { return streams.host_function; }
host_work* ordinary_memory() { return streams.ordinary ? &*streams.ordinary : nullptr; }
void follow_ordinary_memory(checker_detail::model& m) {
  streams.ordinary.emplace(m);
  m.host_finds_old = found_by_host;
  m.host_reads_atomically = [](const void* p) {
    if (on_host_thread()) ordinary_memory()->read_atomically(p);
  };
}
std::optional<std::uint64_t> found_by_host(const void* p, std::size_t bytes) {
  if (!on_host_thread()) return {};
  return ordinary_memory()->old_value(p, bytes, seed() % 2 == 0);
}

bool in_host_function(const char* what, place where) {
  if (host_function_thread() == nullptr) return false;
  misused(where, fmt::format("{} in a host function on a stream", what),
          "the call in main, or in an order of the stream: a host function may not call CUDA",
          cudaErrorNotPermitted);
  return true;
}
// True for work that is not done now: it goes into a graph, or is an error.
bool put_off(cudaGraphNodeType type, const char* what, cudaStream_t on, returns when, const stream_work& work,
             place where) {
  if (in_host_function(what, where)) return true;
  if (!any_capture()) return false;
  return when == returns::when_done ? disturbs_capture(on, waits_for::all, what, where)
                                    : captured(on, type, work, where);
}
void wait_for_stream(cudaStream_t on) {
  if (on == nullptr)
    followed().launches.synchronize_default();
  else
    followed().launches.synchronize(on);
}
cudaError_t synchronize(cudaStream_t on, waits_for what, place where) {
  only_by_main("a stream is waited for", where);
  if (in_host_function("a wait", where) || disturbs_capture(on, what, "a wait", where))
    return cudaErrorStreamCaptureUnsupported;
  if (is_capturing(on))
    return misused(where, "a wait for a stream that is captured", "cudaStreamEndCapture() before it",
                   cudaErrorStreamCaptureUnsupported);
  if (what == waits_for::stream && is_gone(on, "a wait", where)) return cudaErrorInvalidResourceHandle;
  if (what == waits_for::stream)
    wait_for_stream(on);
  else
    followed().launches.synchronize(on);
  return cudaSuccess;
}
namespace {
// Work is done when it is asked for, so a query would always find it done. Under every other seed the first
// one since the last launch or copy does not, unless the host has waited.
bool looks_under_way(const void* of, const checker_detail::past& work) {
  return !any_capture() && host_function_thread() == nullptr && seed() % 2 == 0 &&
         !followed().launches.has_waited(work) &&
         streams.queries.emplace(of, followed().clocks.next_block()).second;
}
}  // namespace

cudaError_t query(cudaStream_t on, place where) {
  if (looks_under_way(on, followed().launches.recorded(on))) return cudaErrorNotReady;
  return synchronize(on, waits_for::stream, where);
}
cudaError_t query(cudaEvent_t e, place where) {
  if (e != nullptr && e->kernel == nullptr && looks_under_way(e, e->after)) return cudaErrorNotReady;
  return synchronize(e, where);
}

bool has_streams() { return streams.created > 0; }
cudaError_t create_stream(cudaStream_t* s, unsigned flags) {
  only_by_main("a stream is created");
  *s = reinterpret_cast<cudaStream_t>(64 * ++streams.created);
  if ((flags & cudaStreamNonBlocking) != 0) followed().launches.apart_from_default(*s);
  return cudaSuccess;
}
unsigned flags_of(cudaStream_t s) {
  return followed().launches.is_apart(s) ? cudaStreamNonBlocking : cudaStreamDefault;
}
cudaError_t create_event(cudaEvent_t* e) {
  only_by_main("an event is created");
  *e = new antiphase_plain_event;
  return cudaSuccess;
}
bool is_gone(cudaStream_t on, const char* what, place where) {
  if (!streams.destroyed.contains(on)) return false;
  misused(where, fmt::format("{} on a stream that has been destroyed", what),
          "cudaStreamDestroy() after its last use", cudaErrorInvalidResourceHandle);
  return true;
}
// An event lives on for those who use it when it has been destroyed.
bool is_gone(cudaEvent_t e, const char* what, place where) {
  if (e == nullptr) return fails(cudaErrorInvalidResourceHandle) != cudaSuccess;
  if (!e->destroyed) return false;
  misused(where, fmt::format("{} an event that has been destroyed", what),
          "cudaEventDestroy() after its last use", cudaErrorInvalidResourceHandle);
  return true;
}
namespace {
// A wait for an event that has not been recorded is no error, and no wait.
void waits(cudaEvent_t e, place where) {
  const auto line = [](place at) {
    return fmt::format("{}:{}", checker_detail::shown(at.file_name()), at.line());
  };
  auto& findings = followed().findings;
  if (!e->recorded && findings.unrecorded_wait.empty()) findings.unrecorded_wait = line(where);
  e->waited_for = true;
  for (checker_detail::past& before : std::exchange(e->replaced, {}))
    findings.replaced_records.push_back({std::move(before), line(e->recorded_at), line(where)});
}
}  // namespace

cudaError_t destroy_event(cudaEvent_t e, place where) {
  if (is_gone(e, "cudaEventDestroy() of", where)) return cudaErrorInvalidResourceHandle;
  e->destroyed = true;
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t s, place where) {
  if (is_gone(s, "cudaStreamDestroy()", where)) return cudaErrorInvalidResourceHandle;
  if (s != nullptr) streams.destroyed.insert(s);
  return cudaSuccess;
}
cudaError_t elapsed(float* ms, cudaEvent_t from, cudaEvent_t to, place where) {
  for (cudaEvent_t const e : {from, to}) {
    if (is_gone(e, "a time of", where)) return cudaErrorInvalidResourceHandle;
    if (e->kernel == nullptr && looks_under_way(e, e->after)) return cudaErrorNotReady;
  }
  *ms = 1;  // nothing is measured
  return cudaSuccess;
}
void record_now(cudaEvent_t e, cudaStream_t on) {
  e->after = followed().launches.recorded(on);
  e->kernel = nullptr;
}
void wait_now(cudaStream_t on, cudaEvent_t e) {
  if (e->kernel != nullptr)
    followed().launches.overlap_with(on, e->kernel);
  else
    followed().launches.order_after(on, e->after);
}
cudaError_t record(cudaEvent_t e, cudaStream_t on, event_of what, place where) {
  only_by_main("an event is recorded", where);
  if (is_gone(e, "cudaEventRecord() of", where) || is_gone(on, "cudaEventRecord()", where))
    return cudaErrorInvalidResourceHandle;
  constexpr std::size_t most = 16;
  if (e->recorded && !e->waited_for && e->replaced.size() < most) e->replaced.push_back(e->after);
  e->recorded = true;
  e->waited_for = false;
  e->recorded_at = where;
  if (!captured_record(e, on, what, where)) record_now(e, on);
  return cudaSuccess;
}
cudaError_t wait_for(cudaStream_t on, cudaEvent_t e, event_of what, place where) {
  only_by_main("a stream is made to wait", where);
  if (is_gone(e, "a wait for", where) || is_gone(on, "a wait", where)) return cudaErrorInvalidResourceHandle;
  waits(e, where);
  if (!captured_wait(on, e, what, where)) wait_now(on, e);
  return cudaSuccess;
}
cudaError_t synchronize(cudaEvent_t e, place where) {
  only_by_main("an event is waited for", where);
  if (is_gone(e, "a wait for", where)) return cudaErrorInvalidResourceHandle;
  if (in_host_function("a wait", where)) return cudaErrorNotPermitted;
  waits(e, where);
  followed().launches.synchronize(e->after);
  return cudaSuccess;
}
void call_host_now(cudaStream_t on, const std::function<void()>& f, place where) {
  model& m = followed();
  m.host_place = where;
  model::stream_work work = m.begin_stream_work("host function", on);
  streams.host_function = &work.thread;
  ordinary_memory()->begin(work.thread.block, __builtin_frame_address(0));
  f();
  streams.host_function = nullptr;
  m.end_stream_work(work);
  ordinary_memory()->end(m.launches.recorded(on));
  m.host_place = {};
}
namespace {
cudaError_t call_host(cudaStream_t on, const std::function<void()>& f, place where) {
  if (is_gone(on, "a host function", where)) return cudaErrorInvalidResourceHandle;
  const auto work = [f, where](cudaStream_t s) { call_host_now(s, f, where); };
  if (!put_off(cudaGraphNodeTypeHost, "a host function", on, returns::at_once, work, where)) work(on);
  return cudaSuccess;
}
}  // namespace

cudaError_t call_host(cudaStream_t on, cudaHostFn_t f, void* with, place where) {
  return call_host(
      on, [=] { f(with); }, where);
}
cudaError_t call_host(cudaStream_t on, cudaStreamCallback_t f, void* with, place where) {
  return call_host(
      on, [=] { f(on, cudaSuccess, with); }, where);
}
}  // namespace antiphase::plain
