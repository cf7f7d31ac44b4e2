// SPDX-License-Identifier: Apache-2.0
// The subcommands that run programs, in a build without the checker.
#include <antiphase/core/error.hpp>

#include "tool/commands/check/check.hpp"
#include "tool/commands/check/trace/trace_waits.hpp"
#include "tool/commands/common/count_requests.hpp"

namespace antiphase::tool {

namespace {

[[noreturn]] void refuse() {
  throw not_supported(
      "this build has no checker: it needs g++, libdw (libdw-dev), and a build without other sanitizers");
}

}  // namespace

void run_check(const check_request&) { refuse(); }
void run_check_plain(const check_request&) { refuse(); }
void run_count(const program_request&) { refuse(); }
lab_verdict check_one_lab(const lab_request&) { refuse(); }
std::vector<timed_kernel> timed_program(const program_request&, const trace_options&) { refuse(); }
request_totals count_requests(const std::function<void(const context&)>&) { refuse(); }
std::vector<taken_wait> waits_taken_from(std::span<const timeline>, const common_options&) { refuse(); }
void show_dialect(const check_request&) { refuse(); }

}  // namespace antiphase::tool
