// SPDX-License-Identifier: Apache-2.0
// The library's kernels, as the registries have them, and the cases that launch them.
#include <fmt/format.h>

#include "checker/cases/cases.hpp"
#include "checker/cases/custom_kernels.hpp"
#include "checker/runs/lists.hpp"
#include "library/scan/request.hpp"

namespace antiphase {
namespace {

// One function for every type of instance that a registry has: a list of another type does not compile
// without one.
std::string text(gemms::contiguous along) {
  return along == gemms::contiguous::k       ? "along k"
         : along == gemms::contiguous::outer ? "along its lines"
                                             : "anyhow";
}
void add(std::vector<library_kernel>& all, const gemms::instance& i) {
  const bool computes_only = i.policy.run == gemms::parts::compute_only;
  const char* const part = computes_only                             ? ", computes only"
                           : i.policy.run == gemms::parts::load_only ? ", loads only"
                                                                     : "";
  all.push_back({fmt::format("gemm/{}", i.step),
                 fmt::format("{} x {} x {}, {} stages, A {} by {}, B {} by {}{}", i.policy.tile.m,
                             i.policy.tile.n, i.policy.tile_k, i.policy.stages, text(i.policy.a.along),
                             i.policy.a.copy_width, text(i.policy.b.along), i.policy.b.copy_width, part),
                 i.code,
                 computes_only
                     ? "it multiplies shared memory that was never written, to be timed without the loads"
                     : ""});
}
void add(std::vector<library_kernel>& all, const gemms::tensor_core_instance& i) {
  all.push_back({fmt::format("gemm/{}", i.step), "", i.code});
}
void add(std::vector<library_kernel>& all, const gemms::product_instance& i) {
  all.push_back({checker_detail::case_of(i.policy),
                 fmt::format("clusters of {}, {} stages", i.policy.cluster, i.policy.stages), i.code});
}
void add(std::vector<library_kernel>& all, const gemms::split_pass_instance& i) {
  all.push_back({"gemm/fp16-pass",
                 fmt::format("{} threads, {} pieces{}", i.policy.threads, i.policy.pieces,
                             i.policy.clusters ? ", clusters" : ""),
                 i.kernel});
}
void add(std::vector<library_kernel>& all, const gemms::short_instance& i) {
  all.push_back({"gemm/fp64-short", i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const gemms::dots_instance& i) {
  all.push_back({"gemm/fp64-dots", i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const gemms::finish_instance& i) {
  all.push_back({"gemm/finish", "", i.code});
}
void add(std::vector<library_kernel>& all, const gemms::fp64_instance& i) {
  all.push_back({checker_detail::case_of(i.policy), i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const gemms::tf32_instance& i) {
  all.push_back({checker_detail::case_of(i.policy), i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const scans::instance& i) {
  for (const kernel& k : {i.kernels.totals, i.kernels.scan})
    all.push_back(
        {fmt::format("scan/{}", i.step), fmt::format("{} of {}", scans::name(i.operation), name(i.type)), k});
}
void add(std::vector<library_kernel>& all, const scans::single_pass_instance& i) {
  const char* const lines = i.over == scans::lines_kind::segments ? "-rows" : i.in != i.out ? "-wide" : "";
  all.push_back({fmt::format("scan/{}{}", i.step, lines),
                 fmt::format("{} of {} into {}", scans::name(i.operation), name(i.in), name(i.out)), i.code});
}
void add(std::vector<library_kernel>& all, const scans::wave_instance& i) {
  all.push_back({"scan/one-wave",
                 fmt::format("{} of {}, {} warps, {} rows", scans::name(i.operation), name(i.type),
                             i.policy.warps, i.policy.rows),
                 i.code});
}
void add(std::vector<library_kernel>& all, const scans::columns_instance& i) {
  all.push_back({"scan/columns",
                 fmt::format("{} of {} into {}", scans::name(i.operation), name(i.in), name(i.out)), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::naive_instance& i) {
  all.push_back({"attention/naive", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::tiled_instance& i) {
  all.push_back({i.policy.buffers == 1 ? "attention/tiled" : "attention/double-buffered",
                 fmt::format("depth {}", i.policy.depth), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::dots_instance& i) {
  all.push_back({"attention/gradients", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::softmax_instance& i) {
  all.push_back({"attention/gradients", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::backward_instance& i) {
  all.push_back({"attention/gradients", fmt::format("depth {}", i.policy.depth), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::split_instance& i) {
  all.push_back({"attention/antiphase", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::contract_instance& i) {
  all.push_back({"attention/antiphase", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::forward_instance& i) {
  all.push_back({i.policy.biased || i.policy.hidden ? "attention/biased"
                 : i.policy.groups == 1             ? "attention/roles"
                                                    : "attention/antiphase",
                 fmt::format("depth {}", i.policy.depth), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::short_instance& i) {
  all.push_back({"attention/short", fmt::format("depth {}", i.policy.columns), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::short_gradient_instance& i) {
  all.push_back({"attention/short-gradients", i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const attentions::few_keys_instance& i) {
  all.push_back({"attention/antiphase", "", i.code});
}
void add(std::vector<library_kernel>& all, const attentions::gradient_split_instance& i) {
  all.push_back({"attention/gradients-fp16", fmt::format("depth {}", i.depth), i.code});
}
void add(std::vector<library_kernel>& all, const attentions::gradient_instance& i) {
  all.push_back({"attention/gradients-fp16", i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const linears::tile_instance& i) {
  all.push_back({i.policy.of_bf16 ? "linear/bf16" : "linear/f16", i.code.name, i.code});
}
void add(std::vector<library_kernel>& all, const linears::mma_instance& i) {
  all.push_back({"linear/mma", i.code.name, i.code});
}
template <class Instance>
void add_all(std::vector<library_kernel>& all, const std::vector<Instance>& instances) {
  for (const Instance& i : instances) add(all, i);
}

}  // namespace

std::vector<library_kernel> library_kernels() {
  std::vector<library_kernel> all;
#define AP_ADD_LIST(type, list) add_all(all, gemms::checked::list());
  AP_GEMM_LISTS(AP_ADD_LIST)
#undef AP_ADD_LIST
#define AP_ADD_LIST(type, list) add_all(all, attentions::checked::list());
  AP_ATTENTION_LISTS(AP_ADD_LIST)
#undef AP_ADD_LIST
#define AP_ADD_LIST(type, list) add_all(all, linears::checked::list());
  AP_LINEAR_LISTS(AP_ADD_LIST)
#undef AP_ADD_LIST
#define AP_ADD_LIST(type, list) add_all(all, scans::checked::list());
  AP_SCAN_LISTS(AP_ADD_LIST)
#undef AP_ADD_LIST
  for (const checker_detail::custom_scan& s : checker_detail::checked::custom_scans())
    for (std::size_t i = 0; i < s.kernels.size(); ++i) all.push_back({s.cases[i], s.about, s.kernels[i]});
  const checker_detail::transformed_scan transformed = checker_detail::checked::transformed_scans();
  for (std::size_t i = 0; i < transformed.kernels.size(); ++i)
    all.push_back({transformed.cases[i], "sums of squares of bytes", transformed.kernels[i]});
  return all;
}

const std::vector<checked_case>& library_cases() {
  static const std::vector<checked_case> all = [] {
    checker_detail::enter_checked_kernels();
    std::vector<checked_case> cases;
#define AP_ADD_CASES(family) \
  for (checked_case & c : checker_detail::family()) cases.push_back(std::move(c));
    AP_CASE_FAMILIES(AP_ADD_CASES)
#undef AP_ADD_CASES
    return cases;
  }();
  return all;
}

}  // namespace antiphase
