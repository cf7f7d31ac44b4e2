// SPDX-License-Identifier: Apache-2.0
// Expected duration of work on the CPU executor, and a progress line for the terminal.
#include "tool/program/text/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <stop_token>

#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

constexpr double worth_a_line = 3;  // seconds of expected time

expected_time now() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return {
      .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(),
      .processor_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9};
}

void show_until(const std::stop_token& stop, double whole) {
  using namespace std::chrono_literals;
  const stop_watch watch;
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!woken.wait_for(lock, stop, 500ms, [&] { return stop.stop_requested(); })) {
    const expected_time so_far = watch.so_far();
    const double share = std::clamp(so_far.processor_seconds / whole, 0.001, 0.99);
    show_progress(fmt::format("{:2.0f} %, about {} left", std::floor(share * 100),
                              time_text(so_far.seconds * (1 / share - 1))));
  }
}

}  // namespace

stop_watch::stop_watch() : start_(now()) {}
expected_time stop_watch::so_far() const {
  const expected_time end = now();
  return {end.seconds - start_.seconds, end.processor_seconds - start_.processor_seconds};
}

std::string time_text(double seconds) {
  if (seconds >= 7200) return fmt::format("{:.0f} hours", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.0f} minutes", seconds / 60);
  return seconds < 1.5 ? "1 second" : fmt::format("{:.0f} seconds", seconds);
}

progress_line::progress_line(const common_options& options, const expected_time& whole) {
  if (whole.seconds >= worth_a_line && who_watches(options) == audience::person)
    shows_ =
        std::jthread([whole](const std::stop_token& stop) { show_until(stop, whole.processor_seconds); });
}

progress_line::~progress_line() {
  if (!shows_.joinable()) return;
  shows_.request_stop();
  shows_.join();
  end_progress();
}

}  // namespace antiphase::tool
