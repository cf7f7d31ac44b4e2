// The table of temporary files and the signal handler that reads it.
#include "tool/interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "tool/errors.hpp"

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

void on_interrupt(int signal) {
  remove_registered_files();
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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
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

removed_on_signal::~removed_on_signal() { slots[slot_].state.store(slot_state::free); }

}  // namespace antiphase::tool
