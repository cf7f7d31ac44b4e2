// SPDX-License-Identifier: Apache-2.0
// Errors of CUDA's calls, and the findings and refusals that come with them.
#include <fmt/format.h>

#include <utility>

#include "checker/order/places.hpp"
#include "run.hpp"

namespace antiphase::plain {
namespace {
cudaError_t last = cudaSuccess;
}  // namespace

cudaError_t fails(cudaError_t e) {
  if (e != cudaSuccess) last = e;
  return e;
}

void refuse_launch(const char* name, place where, std::string what, std::string instead, cudaError_t e) {
  followed().findings.note(finding_kind::bad_launch, name, followed().places.number_of(where),
                           std::move(what), "", std::move(instead));
  fails(e);
}
cudaError_t misused(place where, std::string what, std::string instead, cudaError_t e) {
  refuse_launch("", where, std::move(what), std::move(instead), e);
  return e;
}
void refuse(place where, const std::string& what, const std::string& instead) {
  const std::string at =
      where.line() == 0 ? "" : fmt::format("{}:{}: ", checker_detail::shown(where.file_name()), where.line());
  end_run_with(not_supported(fmt::format("{}{} is not supported here: use {}", at, what, instead)));
}
cudaError_t bad_copy(place where, std::string what, std::string memory, std::string instead, cudaError_t e) {
  followed().findings.note(finding_kind::bad_copy, "", followed().places.number_of(where), std::move(what),
                           std::move(memory), std::move(instead));
  return fails(e);
}
cudaError_t last_error(bool forget) { return forget ? std::exchange(last, cudaSuccess) : last; }
void refuse_use(const char* what, const char* instead) { refuse({}, what, instead); }
}  // namespace antiphase::plain
