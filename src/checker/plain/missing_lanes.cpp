// SPDX-License-Identifier: Apache-2.0
#include "missing_lanes.hpp"

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

constexpr unsigned char usual = 0xFF;             // NaN, -1
constexpr int longest = 20'000;                   // milliseconds to wait for another process
constexpr unsigned char others[] = {0x7A, 0xFA};  // very large and very small numbers in every format

}  // namespace

void missing_lanes::bring(checker_detail::model& m, checker_detail::place_number at, void* value,
                          std::size_t bytes, const std::string& mask_of) {
  if (!is_other() && left_ > 0 && std::ranges::find(readings_, at, &reading::at) == readings_.end()) {
    --left_;
    reading& r = readings_.emplace_back(
        reading{at,
                m.side_here(at, "a shuffle from a lane that does not take part, whose value is used"),
                mask_of,
                {}});
    for (const unsigned char byte : others)
      if (!is_other()) begin(r, byte);
  }
  std::memset(value, is_other() && at == place_ ? byte_ : usual, bytes);
}

void missing_lanes::begin(reading& r, unsigned char byte) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t other = fork();
  if (other != 0) {
    close(ends[1]);
    if (other > 0)
      r.others.emplace_back(other, ends[0]);
    else
      close(ends[0]);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int shown : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, shown);
  answer_ = ends[1];
  byte_ = byte;
  place_ = r.at;
}

void missing_lanes::launch_ended(checker_detail::model& m, const std::string& kernel,
                                 const std::function<std::uint64_t()>& outcome) {
  if (is_other()) {
    const std::uint64_t mine = outcome();
    _exit(write(answer_, &mine, sizeof mine) == sizeof mine ? 0 : 1);
  }
  if (readings_.empty()) return;
  const std::uint64_t mine = outcome();
  for (const reading& r : readings_) {
    bool used = false;
    for (const auto& [process, answer] : r.others) {
      std::uint64_t theirs = 0;
      pollfd until{.fd = answer, .events = POLLIN, .revents = 0};
      const bool told =
          poll(&until, 1, longest) == 1 && read(answer, &theirs, sizeof theirs) == sizeof theirs;
      int status = 0;
      if (!told && waitpid(process, &status, WNOHANG) == 0) kill(process, SIGKILL);
      waitpid(process, &status, 0);
      close(answer);
      used |=
          told ? theirs != mine : WIFEXITED(status);  // no answer, but a normal exit: it ended differently
    }
    if (used)
      m.findings.note(
          finding_kind::barrier_misuse, kernel, r.at, r.by, "",
          std::string("the lane in the mask and at the shuffle, or a mask and a condition that leave the "
                      "value out: what it brings is undefined") +
              (r.mask_of.empty() ? ""
                                 : ". The mask is that of __activemask() in " + r.mask_of +
                                       ", which names lanes that happen to be there"));
  }
  readings_.clear();
}

void missing_lanes::launch_failed() {
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
