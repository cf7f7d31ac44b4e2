// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/runtime/memory/undefined_values.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace antiphase::plain {
namespace {

constexpr unsigned char usual = 0xFF;  // NaN, -1
constexpr int longest = 20'000;        // milliseconds to wait for another process

}  // namespace

undefined_values::others undefined_values::extreme() {  // very large and very small numbers in every format
  others all{};
  all[0].fill(0x7A);
  all[1].fill(0xFA);
  return all;
}

bool undefined_values::follows(checker_detail::place_number at) const {
  return left_ > 0 || std::ranges::find(readings_, at, &reading::place) != readings_.end();
}

void undefined_values::bring(checker_detail::place_number at, void* value, std::size_t bytes,
                             const others& instead, const std::function<finding()>& if_used,
                             const std::function<finding()>& if_unused) {
  // The other processes count readings as this one does, so that the same is left to them.
  if (left_ > 0 && std::ranges::find(readings_, at, &reading::place) == readings_.end()) {
    --left_;
    decided_.insert(at);
    reading& r = readings_.emplace_back(reading{at, if_used(), {}, {}, {}});
    if (if_unused) r.if_unused = if_unused();
    for (const bytes_of_value& other : instead)
      if (!is_other() && begin(r)) value_ = other, place_ = at;
  }
  if (is_other() && at == place_)
    std::memcpy(value, value_.data(), bytes);
  else
    std::memset(value, usual, bytes);
}

bool undefined_values::parts(checker_detail::place_number at, const finding& if_other,
                             const finding& if_same) {
  if (is_other()) return false;
  has_parted_ = begin(readings_.emplace_back(reading{at, if_other, if_same, {}, {}}));
  return has_parted_;
}

bool undefined_values::begin(reading& r) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t other = fork();
  if (other != 0) {
    close(ends[1]);
    if (other > 0)
      r.others.emplace_back(other, ends[0]);
    else
      close(ends[0]);
    return false;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int shown : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, shown);
  answer_ = ends[1];
  return true;
}

void undefined_values::launch_ended(checker_detail::model& m, const std::string& kernel,
                                    const std::function<std::uint64_t(bool)>& outcome) {
  if (is_other()) {
    const std::uint64_t mine = outcome(has_parted_);
    _exit(write(answer_, &mine, sizeof mine) == sizeof mine ? 0 : 1);
  }
  if (readings_.empty()) return;
  for (const reading& r : readings_) {
    const std::uint64_t mine = outcome(r.if_same.has_value());
    bool used = false, same = false;
    for (const auto& [process, answer] : r.others) {
      std::uint64_t theirs = 0;
      pollfd until{.fd = answer, .events = POLLIN, .revents = 0};
      const bool told =
          poll(&until, 1, longest) == 1 && read(answer, &theirs, sizeof theirs) == sizeof theirs;
      int status = 0;
      if (!told && waitpid(process, &status, WNOHANG) == 0) kill(process, SIGKILL);
      waitpid(process, &status, 0);
      close(answer);
      if (r.if_same.has_value()) {
        const bool is_decided = told && theirs != 0 && mine != 0;
        used |= is_decided && theirs != mine;
        same |= is_decided && theirs == mine;
      } else {  // no answer, but a normal exit: it ended differently
        used |= told ? theirs != mine : WIFEXITED(status);
      }
    }
    if (used || same || r.if_unused) {
      finding f = used ? r.if_used : same ? *r.if_same : *r.if_unused;
      f.kernel = kernel;
      m.findings.note(std::move(f), r.place);
    }
  }
  readings_.clear();
}

void undefined_values::launch_failed() {
  if (is_other()) _exit(1);
  for (const reading& r : readings_)
    for (const auto& [process, answer] : r.others) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
      close(answer);
    }
  readings_.clear();
}

}  // namespace antiphase::plain
