// SPDX-License-Identifier: Apache-2.0
// Results of bench gemm for a list of products: records, table, geometric means.
#pragma once
#include <antiphase/gemm.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/commands/common/record.hpp"
#include "tool/measure/products/accuracy.hpp"
#include "tool/measure/products/product_list.hpp"
#include "tool/measure/products/roofline.hpp"

namespace antiphase::tool {

// Outcome of the same product, computed in another way.
struct other_outcome {
  gemm_choice chosen = {};
  accuracy error = {};
  timing time = {};
};

struct product_outcome {
  listed_product product;
  gemm_choice chosen = {};
  accuracy error = {};
  std::int64_t sample = 0;  // outputs compared with FP64
  std::uint64_t recomputed = 0;
  timing time = {};
  struct opponent {
    tool::rival rival;
    accuracy error;
    timing time;
  };
  std::vector<opponent> rivals = {};
  std::optional<other_outcome> invariant = {};  // with reproducibility::batch_invariant
  std::vector<std::string> code = {};           // of the kernels that ran

  bool verified() const {
    return error.within(chosen.bound.units) &&
           (!invariant || invariant->error.within(invariant->chosen.bound.units));
  }
  const opponent* fastest_rival() const;  // null if there is none
};

// "LU, rank 64: 4096 x 4096 x 64 nn + C", "64 of 512^3 nn"
std::string text_of(const listed_product& p);

json records_of_products(const std::vector<product_outcome>& all, const std::string& set,
                         const device_roofline* roofline, bool timed);
json rivals_of_products(const std::vector<product_outcome>& all);  // without duplicates
json summary_of_products(const std::vector<product_outcome>& all, const device_roofline* roofline);
std::string text_of_products(const std::vector<product_outcome>& all, const device_roofline* roofline,
                             bool timed);
// Throws verification_failed, naming the wrong products.
void require_verified(const std::vector<product_outcome>& all);

}  // namespace antiphase::tool
