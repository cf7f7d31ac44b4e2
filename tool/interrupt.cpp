// The table of temporary files, the last words, and the signal handlers that read them.
#include "tool/interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "tool/errors.hpp"
#include "tool/file_handle.hpp"

namespace antiphase::tool {
namespace {

// A handler may only look at lock-free atomics and memory that they guard, and may not allocate: hence fixed slots.
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

// Whoever exchanges the pointer for null owns what it points to: a handler, which may run on any thread, or the object that set it.
struct words {
  std::string output, message;
};
std::atomic<words*> current{nullptr};
static_assert(std::atomic<words*>::is_always_lock_free);

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP};

void say_last_words() {
  const words* const last = current.exchange(nullptr);
  if (last == nullptr) return;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : interrupts) {
    sigaddset(&set, signal);
    std::signal(signal, SIG_DFL);  // a second one ends the program, whoever does not read
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  write_fully(STDOUT_FILENO, std::as_bytes(std::span{last->output}));
  write_fully(STDERR_FILENO, std::as_bytes(std::span{last->message}));
}

void on_interrupt(int signal) {
  remove_registered_files();
  say_last_words();
  _exit(128 + signal);
}

void on_lost_mapping(int) {
  constexpr char message[] = "antiphase: an input file became shorter while it was being read\n";
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
  remove_registered_files();
  _exit(3);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  for (const int signal : interrupts) {
    struct sigaction before {};
    action.sa_handler = on_interrupt;
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  action.sa_handler = on_lost_mapping;
  sigaction(SIGBUS, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

removed_on_signal::removed_on_signal(std::string_view path) : slot_{0} {
  if (path.size() >= sizeof slot::path)
    throw output_failed{fmt::format("the path of a temporary file has {} bytes, expected less than {}", path.size(), sizeof slot::path)};
  for (slot_state expected = slot_state::free; !slots[slot_].state.compare_exchange_strong(expected, slot_state::filling);
       expected = slot_state::free)
    if (++slot_ == slot_count) throw output_failed{fmt::format("more than {} files are being written at once", slot_count)};
  std::memcpy(slots[slot_].path, path.data(), path.size());
  slots[slot_].path[path.size()] = '\0';
  slots[slot_].state.store(slot_state::armed);
}

namespace {

// Puts new words in the place of the old ones. A handler that has taken those is about to end the program; then there is nothing to do but
// wait for it, on whichever thread it runs.
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
