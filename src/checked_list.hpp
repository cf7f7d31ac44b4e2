// Kernels compiled for the checker live in a library of their own; what links it enters them here.
#pragma once
#include <antiphase/core/error.hpp>
#include <vector>

namespace antiphase {

// Empty until somebody has entered something. Entering comes before the first use (checker_detail::enter_checked_kernels).
template <class Instance> std::vector<Instance>& checked_list() {
  static std::vector<Instance> list;
  return list;
}
template <class Instance> const std::vector<Instance>& require_checked_list() {
  if (checked_list<Instance>().empty())
    throw not_supported("the kernels for the checker are not part of this program: link antiphase::checker");
  return checked_list<Instance>();
}

}  // namespace antiphase
