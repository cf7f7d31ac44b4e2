// SPDX-License-Identifier: Apache-2.0
// What the environment says of the interposer, read once.
#pragma once
#include <antiphase.h>

#include <cstdint>
#include <optional>
#include <string>

namespace antiphase::cublas {

// What is told when the program ends, and where.
struct telling {
  std::optional<bool> reports;  // ANTIPHASE_REPORT: one line; not said: if something was computed
  std::string log_file;         // ANTIPHASE_LOG_FILE: the line, and all products, go there; %p is the process
  bool profiles = false;        // ANTIPHASE_PROFILE: take nothing, list the products
  std::string profile_json;     // ANTIPHASE_PROFILE_JSON: there too

  bool lists() const { return profiles || !log_file.empty(); }  // products, one by one
  bool is_asked_for() const { return reports.value_or(false) || lists(); }
};
// As the environment says now; settings complain of what makes no sense.
telling telling_of_environment();

struct settings : telling {
  bool disabled = false;  // ANTIPHASE_DISABLE: all calls are passed on
  // ANTIPHASE_LEAST: take products with (m n k)^(1/3) of this or more, whatever is predicted
  std::optional<double> least;
  // ANTIPHASE_DEVICE=cpu: the operands are the host's, for tests without a GPU
  int device = ANTIPHASE_CURRENT_DEVICE;
  int precision = ANTIPHASE_PRECISION_FP32;  // ANTIPHASE_PRECISION=strict
  // ANTIPHASE_TF32=take: products that ask for TF32, as if they had not
  bool takes_tf32 = false;
  // ANTIPHASE_WORKSPACE_LIMIT: bytes that one product may take for itself
  std::uint64_t most_workspace = UINT64_MAX;
  // ANTIPHASE_VERIFY: every so manyth product that is taken is computed by cuBLAS too
  std::uint64_t verified = 0;
};
// At the first call values that make no sense are complained of on stderr.
const settings& said();

}  // namespace antiphase::cublas
