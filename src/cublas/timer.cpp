// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/timer.hpp"

#include <deque>
#include <mutex>

#include "src/cublas/driver.hpp"
#include "src/cublas/settings.hpp"
#include "src/per_process.hpp"

namespace antiphase::cublas {
namespace {

struct pending {
  driver::event begin, end;
  listed_product product;
  outcome became;
};
struct queue {
  std::mutex change;
  std::deque<pending> all;
};
constinit lasting<per_process<queue>> of_process;
queue& waiting() { return of_process.value.get(); }

// Lists finished products at the front of the queue, which is locked.
void list_done(const driver& d, std::deque<pending>& all) {
  const undisturbing now(d);
  while (!all.empty() && d.query_event(all.front().end) == 0) {
    const pending& p = all.front();
    if (float time = 0; d.milliseconds(&time, p.begin, p.end) == 0)
      list_time(p.product, p.became, 1e-3 * static_cast<double>(time));
    d.destroy_event(p.begin), d.destroy_event(p.end);
    all.pop_front();
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
  if (d != nullptr && !d->captures(on)) begin_ = recorded(*d, on);
}
timing::~timing() {
  if (begin_ != nullptr) driver_of_process()->destroy_event(begin_);
}
void timing::ends_with(const listed_product& p, outcome what) noexcept try {
  if (begin_ == nullptr) return;
  const driver& d = *driver_of_process();
  const driver::event end = recorded(d, on_);
  if (end == nullptr) return;
  auto& [change, all] = waiting();
  const std::scoped_lock lock(change);
  all.push_back({begin_, end, p, what});
  begin_ = nullptr;
  list_done(d, all);
} catch (...) {  // out of memory
}

void finish_timing() noexcept try {
  auto& [change, all] = waiting();
  const std::scoped_lock lock(change);
  if (!all.empty()) list_done(*driver_of_process(), all);
} catch (...) {
}

}  // namespace antiphase::cublas
