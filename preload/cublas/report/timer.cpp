// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/report/timer.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>

#include "core/per_process.hpp"
#include "preload/cublas/interpose/driver.hpp"
#include "preload/cublas/report/program_time.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

struct pending {
  driver::event begin, end;
  bool drained;
  double issued, profiled;
  call_kind kind;
  listed_product product;
  outcome became;
  prediction predicted;
};
struct queue {
  std::mutex change;
  std::deque<pending> all;
  // An event whose time is known by the host's clock: the begin of a call for which the GPU waited.
  driver::event anchor = nullptr;
  double anchored = 0;
  program_time time;
};
constinit lasting<per_process<queue>> of_process;
queue& waiting() { return of_process.value.get(); }

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double seconds_between(const driver& d, driver::event from, driver::event to) {
  float time = 0;
  return d.milliseconds(&time, from, to) == 0 ? 1e-3 * static_cast<double>(time) : -1;
}

void list_measured(const driver& d, queue& q, const pending& p) {
  const double between = seconds_between(d, p.begin, p.end), theirs = p.predicted.cublas_seconds;
  if (between < 0) return;
  // Time between the events contains the host's until the launch where the GPU was idle.
  const double each = p.drained && theirs > 0 ? std::min(between, theirs) : between;
  const bool takes = p.became == outcome::computed && theirs > 0;
  const double saved = takes ? each * (1 - p.predicted.seconds / theirs) : 0;
  if (is_of_cublas(p.kind))
    list_time(p.product, p.became, each);
  else
    list_others(p.kind, each, each - saved);
  const double since = p.begin == q.anchor ? 0 : seconds_between(d, q.anchor, p.begin);
  if (since < 0) return;  // on another device
  const double begin = q.anchored + since;
  q.time.add({.issued = p.issued,
              .begin = begin,
              .end = begin + between,
              .drained = p.drained,
              .profiled = p.profiled,
              .gpu_saved = saved,
              .host_saved = takes ? p.predicted.host_saved : 0});
  list_saved(q.time.gpu_saved(), q.time.saved());
}

// Lists finished products at the front of the queue, which is locked.
void list_done(const driver& d, queue& q) {
  const undisturbing others(d);
  while (!q.all.empty() && d.query_event(q.all.front().end) == 0) {
    const pending& p = q.all.front();
    const bool anchors = p.drained || q.anchor == nullptr;
    if (anchors) {
      if (q.anchor != nullptr) d.destroy_event(q.anchor);
      q.anchor = p.begin, q.anchored = p.issued;
    }
    list_measured(d, q, p);
    if (!anchors) d.destroy_event(p.begin);
    d.destroy_event(p.end);
    q.all.pop_front();
  }
}

driver::event recorded(const driver& d, antiphase_stream on) {
  driver::event e = nullptr;
  if (d.create_event(&e, 0) != 0) return nullptr;
  if (d.record_event(e, on) == 0) return e;
  d.destroy_event(e);
  return nullptr;
}

}  // namespace

timing::timing(antiphase_stream on) noexcept : on_(on) {
  const driver* const d = said().device == ANTIPHASE_CPU ? nullptr : driver_of_process();
  if (d == nullptr || d->captures(on)) return;
  const double before = now();
  {
    const undisturbing others(*d);
    drained_ = d->query_stream(on) == 0;
  }
  issued_ = now();
  begin_ = recorded(*d, on);
  profiled_ = now() - before;
}
timing::~timing() {
  if (begin_ != nullptr) driver_of_process()->destroy_event(begin_);
}
bool timing::ends_with(call_kind kind, const listed_product& p, outcome what,
                       const prediction& predicted) noexcept try {
  if (begin_ == nullptr) return false;
  const double before = now();
  const driver& d = *driver_of_process();
  const driver::event end = recorded(d, on_);
  if (end == nullptr) return false;
  queue& q = waiting();
  const std::scoped_lock lock(q.change);
  q.all.push_back({begin_, end, drained_, issued_, profiled_, kind, p, what, predicted});
  begin_ = nullptr;
  pending& last = q.all.back();
  last.profiled += now() - before;
  list_done(d, q);
  return true;
} catch (...) {  // out of memory
  return false;
}

void finish_timing() noexcept try {
  queue& q = waiting();
  const std::scoped_lock lock(q.change);
  if (q.all.empty() && q.anchor == nullptr) return;
  const driver& d = *driver_of_process();
  list_done(d, q);
  if (q.all.empty()) d.destroy_event(q.anchor), q.anchor = nullptr;
} catch (...) {
}

}  // namespace antiphase::cublas
