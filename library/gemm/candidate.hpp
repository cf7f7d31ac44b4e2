// SPDX-License-Identifier: Apache-2.0
// The table of policies of matrix products. To add a policy: a folder with its kernels, its plan and a file
// candidate.cpp that defines its row; its name in AP_PRODUCT_POLICIES.
#pragma once
#include <antiphase/executor/machine.hpp>
#include <antiphase/gemm/bound.hpp>
#include <antiphase/gemm/policies.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "library/choice/candidate.hpp"
#include "library/choice/choose.hpp"
#include "library/gemm/operands/cost_terms.hpp"
#include "library/gemm/request.hpp"

namespace antiphase::gemms {

using candidate = choices::candidate<request>;
using misfit = choices::misfit<request>;
using plan_or_misfit = choices::plan_or_misfit<request>;

inline double extent(std::int64_t e) { return static_cast<double>(e); }  // for products that would overflow

// Reproducibility: whether a row of C has the same bits whatever other rows and members there are, as sums
// have one order of k. Which policy runs must then not depend on M, N or the batch, so auto has those for any
// K only.
enum class row_bits { vary, keep_if_asked, keep };

// One way of a policy to divide the work, of which its kernels run one: its name, such as "fp64/32x8-8/2/1",
// its predicted seconds, and its plan for a product without epilogue, if a kernel takes it. For fitting cost
// models to measured times.
struct way {
  std::string name;
  std::function<double(const costs::models&)> seconds;
  std::function<std::optional<choices::plan>(const request&)> plan_for;
};
// All ways of all policies, on that device.
std::vector<way> ways_of(const product_shape& p, const device_limits& device, const costs::models& l);

// The columns that products alone have.
struct product_traits {
  std::optional<gemm_sums> sums = {};  // policy_info::sums
  tensor_work work = {};               // policy_info::work
  std::string_view why = {};           // the reason that explain() gives if auto takes it
  row_bits rows = row_bits::vary;
  // True if auto takes it where rows' bits are kept: by K, the device and the kind of call.
  bool (*keeps)(const request&) = nullptr;
  bool batches = false;   // takes a batch in one launch; else there is a launch for each member
  bool pointers = false;  // takes arrays of pointers
  // Whether its kernel applies the epilogue; else a finishing pass does.
  bool (*finishes)(const request&) = [](const request&) { return false; };
  // The workspace that is offered, in bytes, which grows with the problem's size; null: that of the plan.
  std::size_t (*offer)(const request&) = nullptr;
  bool offers_always = false;  // since auto may take it for larger products where not for this one
  // Adds its ways to divide such a product.
  void (*ways)(const product_shape&, const device_limits&, const costs::models&, std::vector<way>&) = nullptr;
};

// A row for each policy next to the ladder, in the order in which auto considers them.
#define AP_PRODUCT_POLICIES(ROW) ROW(fp64_short) ROW(fp64) ROW(fp64_dots) ROW(tf32) ROW(fp16) ROW(fp16_mma)
#define AP_DECLARE_ROW(name) extern const candidate name;
namespace rows {
AP_PRODUCT_POLICIES(AP_DECLARE_ROW)
extern const candidate ladder;  // of any step: without name, summary, needs and step
}  // namespace rows
#undef AP_DECLARE_ROW

std::span<const candidate> candidates();  // in the order of policies()
std::span<const candidate> policies_next_to_ladder();

// Policies with a property, as a text, for misfits: "fp64, fp64-dots and fp64-short".
std::string names_with(bool product_traits::*property);

// Sentences of misfits that policies share.
std::string no_kernel(const candidate&, const request&, const kernel&);
std::string does_not_fit(const candidate&, const request& r, const kernel& code);
std::string many_tiles(const candidate&, const request& r, const kernel&);

// What policies of warpgroups need: their operands come in clusters.
inline constexpr device_features needs_of_wgmma{
    .bulk_copies = true, .clusters = true, .wgmma = true, .sm_90a = true};

// Considered by policies with a certificate, which never holds for lines with up to four products, so that
// every output would be recomputed.
bool is_certain(const candidate&, const request& r);
bool finishes_all(const request&);

// True if auto multiplies by tf32 where rows have the same bits whatever the batch; false: by fp64.
bool is_for_tf32_rows(const request& r);

// Adds a sentence about clusters and parts that share a tile.
void describe_shares(choices::description& text);

}  // namespace antiphase::gemms
