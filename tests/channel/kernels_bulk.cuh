// SPDX-License-Identifier: Apache-2.0
// The tested bulk copy kernels: one to five stages, both ways to store.
#include <antiphase/device/kernel.cuh>
#include "examples/bulk_copy.cuh"
#include "tests/channel/bulk_copy_case.hpp"

namespace antiphase::test {
inline namespace AP_TARGET {

using examples::bulk_copy_policy;
using examples::store_by;

template <bulk_copy_policy P> bulk_copy_case case_of(const char* name) {
  return {P, kernel_of<examples::bulk_copy<P>>(name)};
}

std::vector<bulk_copy_case> bulk_copies() {
  return {case_of<bulk_copy_policy{1, 1, 64}>("bulk-copy-1"),
          case_of<bulk_copy_policy{2, 3, 96}>("bulk-copy-2"),
          case_of<bulk_copy_policy{3, 4, 1024}>("bulk-copy-3"),
          case_of<bulk_copy_policy{4, 2, 256}>("bulk-copy-4"),
          case_of<bulk_copy_policy{5, 7, 4096}>("bulk-copy-5"),
          case_of<bulk_copy_policy{1, 2, 64, store_by::copy_engine}>("bulk-copy-store-1"),
          case_of<bulk_copy_policy{2, 1, 128, store_by::copy_engine}>("bulk-copy-store-2"),
          case_of<bulk_copy_policy{3, 4, 1024, store_by::copy_engine}>("bulk-copy-store-3"),
          case_of<bulk_copy_policy{4, 3, 100, store_by::copy_engine}>("bulk-copy-store-4"),
          case_of<bulk_copy_policy{5, 8, 2048, store_by::copy_engine}>("bulk-copy-store-5")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::test
