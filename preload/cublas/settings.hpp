// SPDX-License-Identifier: Apache-2.0
// The interposer's settings, read once from the environment.
#pragma once
#include <antiphase.h>

#include <cstdint>
#include <optional>
#include <string>

namespace antiphase::cublas {

// What is reported at the end of the program, and where.
struct telling {
  std::optional<bool> reports;  // ANTIPHASE_REPORT: one line; unset: if something was computed
  std::string log_file;         // ANTIPHASE_LOG_FILE: gets the line and all products; %p: process number
  bool profiles = false;        // ANTIPHASE_PROFILE: take nothing, list the products
  std::string profile_json;     // ANTIPHASE_PROFILE_JSON: the list as JSON

  bool lists() const { return profiles || !log_file.empty(); }  // products, one by one
  bool is_asked_for() const { return reports.value_or(false) || lists(); }
};
// From the environment as it is now. Warnings about bad values come from said().
telling telling_of_environment();

struct settings : telling {
  bool disabled = false;  // ANTIPHASE_DISABLE: all calls are passed on
  // ANTIPHASE_LEAST: take products with (m n k)^(1/3) of this or more, whatever is predicted
  std::optional<double> least;
  // ANTIPHASE_DEVICE=cpu: operands are in host memory, for tests without a GPU
  int device = ANTIPHASE_CURRENT_DEVICE;
  int precision = ANTIPHASE_PRECISION_FP32;  // ANTIPHASE_PRECISION=strict
  // ANTIPHASE_TF32=take: takes products that ask for TF32, in FP32
  bool takes_tf32 = false;
  // ANTIPHASE_BATCH_INVARIANT: takes all products, also of 16 bits, with bits that do not depend on a batch
  bool batch_invariant = false;
  // ANTIPHASE_WORKSPACE_LIMIT: most bytes of workspace for one product
  std::uint64_t most_workspace = UINT64_MAX;
  // ANTIPHASE_VERIFY: one in this many computed products is computed by cuBLAS too; 0: none
  std::uint64_t verified = 0;
};
// The first call warns about bad values, on stderr.
const settings& said();

}  // namespace antiphase::cublas
