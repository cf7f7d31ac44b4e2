// SPDX-License-Identifier: Apache-2.0
// The table of temporary files, the last words, and the signal handlers that use them.
#include "tool/files/interrupt.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "tool/base/errors.hpp"

namespace antiphase::tool {
namespace {

// A handler may access only lock-free atomics and memory that they guard, and may not allocate: hence slots
// of fixed size.
enum class slot_state { free, filling, armed };
struct slot {
  std::atomic<slot_state> state{slot_state::free};
  char path[PATH_MAX];
};
constexpr int slot_count = 8;
slot slots[slot_count];
static_assert(std::atomic<slot_state>::is_always_lock_free);

void remove_registered_files() {
  for (const slot& s : slots)
    if (s.state.load() == slot_state::armed) unlink(s.path);
}

// Whoever exchanges the pointer for null owns its target: a handler, which may run on any thread, or the
// object that set it.
struct words {
  std::string output, message;
};
std::atomic<words*> current{nullptr};
static_assert(std::atomic<words*>::is_always_lock_free);

// Writes to the end, but gives up when no process reads for 5 s. poll() bounds the wait: a pipe that is ready
// takes PIPE_BUF bytes without blocking.
void write_patiently(int descriptor, std::string_view text) {
  constexpr int patience_ms = 5000;
  constexpr std::size_t at_once = PIPE_BUF;
  while (!text.empty()) {
    pollfd wanted{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (poll(&wanted, 1, patience_ms) <= 0) return;
    const ssize_t put = write(descriptor, text.data(), std::min(text.size(), at_once));
    if (put < 0 && errno != EINTR && errno != EAGAIN) return;
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
}

void say_last_words() {
  const words* const last = current.exchange(nullptr);
  if (last == nullptr) return;
  write_patiently(STDOUT_FILENO, last->output);
  write_patiently(STDERR_FILENO, last->message);
}

// The first signal ends the program. A second one (`timeout` sends several) may reach another thread
// meanwhile and must not interrupt the first one's handler.
std::atomic_flag is_ending = ATOMIC_FLAG_INIT;

void on_interrupt(int signal) {
  while (is_ending.test_and_set()) pause();
  remove_registered_files();
  if (line_is_open.load()) write_patiently(STDERR_FILENO, blank_line);
  say_last_words();
  _exit(128 + signal);
}

void on_lost_mapping(int) {
  constexpr char message[] = "antiphase: an input file became shorter while it was being read\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
  remove_registered_files();
  _exit(3);
}

void (*pipe_before)(int) = SIG_DFL;
void (*size_before)(int) = SIG_DFL;

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    action.sa_handler = on_interrupt;
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
  }
  action.sa_handler = on_lost_mapping;
  sigaction(SIGBUS, &action, nullptr);
  pipe_before = std::signal(SIGPIPE, SIG_IGN);
  size_before = std::signal(SIGXFSZ, SIG_IGN);
}

void restore_signals() {
  std::signal(SIGPIPE, pipe_before);
  std::signal(SIGXFSZ, size_before);
}

removed_on_signal::removed_on_signal(std::string_view path) : slot_{0} {
  if (path.size() >= sizeof slot::path)
    throw output_failed{fmt::format("the path of a temporary file has {} bytes, expected less than {}",
                                    path.size(), sizeof slot::path)};
  for (slot_state expected = slot_state::free;
       !slots[slot_].state.compare_exchange_strong(expected, slot_state::filling);
       expected = slot_state::free)
    if (++slot_ == slot_count)
      throw output_failed{fmt::format("more than {} files are being written at once", slot_count)};
  std::memcpy(slots[slot_].path, path.data(), path.size());
  slots[slot_].path[path.size()] = '\0';
  slots[slot_].state.store(slot_state::armed);
}

namespace {

// Replaces the old words. If a handler has taken them, it is about to end the program on some thread: then
// wait for that.
void exchange_words(words* next, bool armed) {
  const words* const before = current.exchange(next);
  while (armed && before == nullptr) {
    current.exchange(nullptr);
    pause();
  }
  delete before;
}

}  // namespace

void last_words::set(std::string output, std::string message) {
  exchange_words(new words{std::move(output), std::move(message)}, armed_);
  armed_ = true;
}

void last_words::withdraw() {
  if (armed_) exchange_words(nullptr, true);
  armed_ = false;
}

removed_on_signal::~removed_on_signal() { slots[slot_].state.store(slot_state::free); }

}  // namespace antiphase::tool
