// SPDX-License-Identifier: Apache-2.0
// The PTX instructions that may be used under the checker: one table of rows, for whoever reads PTX.
#include <algorithm>

#include "checker/plain/ptx/instructions/ptx_families.hpp"
#include "checker/plain/ptx/ptx.hpp"

namespace antiphase::plain {

using namespace ptx_code;

namespace {

struct row {
  const char* head;  // first words of the instruction; the longest match counts
  text (*code)(instruction&);
};
struct group {
  supported support;
  const char* about;
  std::vector<row> rows;
};
#define AP_ROW(code) [](instruction& i) -> text { return code; }
const std::vector<group>& table() {
  using enum supported;
  static const std::vector<group> all{
      {yes,
       "weak, volatile, relaxed, acquire and release, in global, shared and generic memory, vectors too; "
       "what ld.global.nc reads may not be written in the launch; other hints for caches are passed over",
       {{"ld", load}, {"st", store}}},
      {yes,
       "of every order and scope; integers, f32, f64, and sums of f16, bf16 and their pairs",
       {{"atom", AP_ROW(update(i, true))}, {"red", AP_ROW(update(i, false))}}},
      {yes, "what it leaves is undefined", {{"discard", discard}}},
      {partly,
       "textures and surfaces of one to three dimensions, by their objects; tex.v4 of s32, u32 and f32",
       {{"tex", fetch_texel}, {"suld", AP_ROW(surface(i, true))}, {"sust", AP_ROW(surface(i, false))}}},
      {yes,
       "do nothing here",
       {{"prefetch", nothing},
        {"prefetchu", nothing},
        {"applypriority", nothing},
        {"createpolicy", new_policy},
        {"cp.async.bulk.prefetch", nothing},
        {"pmevent", nothing},
        {"brkpt", nothing}}},
      {yes,
       "with sizes of the source, or a predicate that ignores it",
       {{"cp.async", copy_async},
        {"cp.async.commit_group", commit_copies},
        {"cp.async.wait_group", wait_copies},
        {"cp.async.wait_all", wait_all_copies},
        {"cp.async.mbarrier.arrive", copies_arrive}}},
      {partly,
       "between global memory and shared memory, multicast too, and to other blocks of the cluster; tensors "
       "of 1 to 5 dimensions, in tiles, by maps of cuTensorMapEncodeTiled, or that a kernel makes of zeros; "
       "their address, extents, strides, box, rank, element type and swizzle may be replaced; the fence "
       "after it "
       "is not checked",
       {{"cp.async.bulk", bulk_copy},
        {"cp.async.bulk.tensor", AP_ROW(tensor_copy(i, false))},
        {"cp.reduce.async.bulk.tensor", AP_ROW(tensor_copy(i, true))},
        {"cp.reduce.async.bulk", bulk_reduction},
        {"cp.async.bulk.commit_group", commit_bulk},
        {"cp.async.bulk.wait_group", wait_bulk},
        {"tensormap.replace.tile", replace_in_map},
        {"tensormap.cp_fenceproxy", copy_map}}},
      {partly,
       "of every order and scope; in the block's own shared memory; arrivals at those of other blocks of the "
       "cluster too",
       {{"mbarrier.init", AP_ROW(mbarrier(i, "init"))},
        {"mbarrier.inval", AP_ROW(mbarrier(i, "inval"))},
        {"mbarrier.arrive", AP_ROW(mbarrier(i, "arrive"))},
        {"mbarrier.arrive_drop", AP_ROW(mbarrier(i, "arrive_drop"))},
        {"mbarrier.expect_tx", AP_ROW(mbarrier(i, "expect_tx"))},
        {"mbarrier.try_wait", AP_ROW(mbarrier(i, "try_wait"))},
        {"mbarrier.test_wait", AP_ROW(mbarrier(i, "test_wait"))}}},
      {yes,
       "",
       {{"membar", membar},
        {"fence", fence},
        {"fence.proxy", proxy_fence},
        {"fence.proxy.tensormap::generic", map_fence},
        {"fence.mbarrier_init", barrier_fence},
        {"bar.sync", AP_ROW(block_barrier(i, true, true))},
        {"bar.arrive", AP_ROW(block_barrier(i, false, true))},
        {"barrier.sync", AP_ROW(block_barrier(i, true))},
        {"barrier.arrive", AP_ROW(block_barrier(i, false))},
        {"bar.cta.sync", AP_ROW(block_barrier(i, true, true))},
        {"bar.cta.arrive", AP_ROW(block_barrier(i, false, true))},
        {"barrier.cta.sync", AP_ROW(block_barrier(i, true))},
        {"barrier.cta.arrive", AP_ROW(block_barrier(i, false))},
        {"bar.warp.sync", warp_sync}}},
      {yes,
       "as on the device",
       {{"bar.red", AP_ROW(voting_barrier(i, true))},
        {"bar.cta.red", AP_ROW(voting_barrier(i, true))},
        {"barrier.red", AP_ROW(voting_barrier(i))},
        {"barrier.cta.red", AP_ROW(voting_barrier(i))}}},
      {yes,
       "",
       {{"shfl.sync", shuffle},
        {"vote", vote},
        {"match", match},
        {"redux.sync", redux},
        {"elect.sync", elect},
        {"activemask", active_mask}}},
      {yes,
       "of 1, 2 or 4 matrices; movmatrix of one",
       {{"ldmatrix.sync", AP_ROW(matrices(i, true))},
        {"stmatrix.sync", AP_ROW(matrices(i, false))},
        {"movmatrix.sync", transpose_matrix}}},
      {partly,
       "dense, of f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4 and u4, in all shapes from m8n8k4 (of f64) to "
       "m16n8k64, but not m8n8k4 of f16; with a sparse A of f16, bf16, tf32, e4m3, e5m2, s8 and u8; floating "
       "numbers "
       "are added up in float",
       {{"mma.sync", AP_ROW(multiply(i, false))},
        {"mma.sp", AP_ROW(multiply(i, true))},
        {"mma.sp::ordered_metadata", AP_ROW(multiply(i, true))}}},
      {partly,
       "in modules, and with <mma.h>; of f16, bf16, tf32, f64, s8 and u8",
       {{"wmma.load", wmma_load}, {"wmma.store", wmma_store}, {"wmma.mma", wmma_multiply}}},
      {partly,
       "of f16, bf16, tf32, e4m3, e5m2, s8 and u8, with sums in f32, f16 or s32 that are one array of the "
       "thread's, A in shared memory or registers, dense or sparse. What becomes of A's registers before the "
       "wait is not looked at",
       {{"wgmma.mma_async", AP_ROW(warpgroup_multiply(i, false))},
        {"wgmma.mma_async.sp", AP_ROW(warpgroup_multiply(i, true))},
        {"wgmma.fence", AP_ROW(warpgroup(i, "fence"))},
        {"wgmma.commit_group", AP_ROW(warpgroup(i, "commit"))},
        {"wgmma.wait_group", AP_ROW(warpgroup(i, "wait"))}}},
      {partly,
       "of one block or a pair; products of all kinds but sparse ones; loads and stores of all shapes, whose "
       "order is followed by 8 columns; tcgen05.cp does not convert",
       {{"tcgen05.alloc", tensor_allocate},
        {"tcgen05.dealloc", tensor_deallocate},
        {"tcgen05.relinquish_alloc_permit", tensor_relinquish},
        {"tcgen05.ld", tensor_load},
        {"tcgen05.st", tensor_store},
        {"tcgen05.wait::ld", AP_ROW(tensor_wait(i, "load"))},
        {"tcgen05.wait::st", AP_ROW(tensor_wait(i, "store"))},
        {"tcgen05.mma", tensor_multiply},
        {"tcgen05.cp", tensor_copy_to},
        {"tcgen05.shift", tensor_shift},
        {"tcgen05.commit", tensor_commit},
        {"tcgen05.fence::before_thread_sync", [](instruction&) { return tensor_fence("before"); }},
        {"tcgen05.fence::after_thread_sync", [](instruction&) { return tensor_fence("after"); }}}},
      {yes,
       "a launch of a block or cluster that has not begun is canceled",
       {{"clusterlaunchcontrol.try_cancel", cancel_launch},
        {"clusterlaunchcontrol.query_cancel.is_canceled", is_canceled},
        {"clusterlaunchcontrol.query_cancel.get_first_ctaid", AP_ROW(canceled_block(i, ""))},
        {"clusterlaunchcontrol.query_cancel.get_first_ctaid::x", AP_ROW(canceled_block(i, "x"))},
        {"clusterlaunchcontrol.query_cancel.get_first_ctaid::y", AP_ROW(canceled_block(i, "y"))},
        {"clusterlaunchcontrol.query_cancel.get_first_ctaid::z", AP_ROW(canceled_block(i, "z"))}}},
      {yes, "all warps of the warpgroup set the same number", {{"setmaxnreg", set_registers}}},
      {partly,
       "of kernels with __cluster_dims__; ld and st of shared::cluster too",
       {{"barrier.cluster.arrive", AP_ROW(cluster_barrier(i, false))},
        {"barrier.cluster.wait", AP_ROW(cluster_barrier(i, true))},
        {"mapa", map_address},
        {"getctarank", rank_of},
        {"st.async", async_store}}},
      {partly,
       "of integers, f32, f64, f16, bf16 and their pairs (cvt: of tf32, pairs of e4m3, e5m2, e3m2, e2m3, "
       "e2m1 and "
       "ue8m0 too); "
       "approximations "
       "are as exact as the others",
       {{"mov", move},
        {"cvt", convert},
        {"cvta", to_space},
        {"setp", compare},
        {"set", compare_to_word},
        {"slct", select_by_sign},
        {"testp", test_property},
        {"isspacep", is_in_space},
        {"selp", select},
        {"add", AP_ROW(arithmetic(i, "add", 2))},
        {"sub", AP_ROW(arithmetic(i, "sub", 2))},
        {"mul", AP_ROW(arithmetic(i, "mul", 2))},
        {"mad", AP_ROW(arithmetic(i, "mad", 3))},
        {"fma", AP_ROW(arithmetic(i, "fma", 3))},
        {"div", AP_ROW(arithmetic(i, "div", 2))},
        {"rem", AP_ROW(arithmetic(i, "rem", 2))},
        {"min", AP_ROW(arithmetic(i, "min", 2))},
        {"max", AP_ROW(arithmetic(i, "max", 2))},
        {"abs", AP_ROW(arithmetic(i, "abs", 1))},
        {"neg", AP_ROW(arithmetic(i, "neg", 1))},
        {"and", AP_ROW(arithmetic(i, "bit_and", 2))},
        {"or", AP_ROW(arithmetic(i, "bit_or", 2))},
        {"xor", AP_ROW(arithmetic(i, "bit_xor", 2))},
        {"not", AP_ROW(arithmetic(i, "bit_not", 1))},
        {"shl", AP_ROW(shift(i, "shl"))},
        {"shr", AP_ROW(shift(i, "shr"))},
        {"popc", AP_ROW(arithmetic(i, "popc", 1))},
        {"clz", AP_ROW(arithmetic(i, "clz", 1))},
        {"brev", AP_ROW(arithmetic(i, "brev", 1))},
        {"bfind", highest_bit},
        {"bmsk", bit_mask},
        {"fns", nth_bit},
        {"addc", AP_ROW(arithmetic(i, "addc", 2))},
        {"subc", AP_ROW(arithmetic(i, "subc", 2))},
        {"madc", AP_ROW(arithmetic(i, "madc", 3))},
        {"mul24", AP_ROW(arithmetic(i, "mul24", 2))},
        {"mad24", AP_ROW(arithmetic(i, "mad24", 3))},
        {"sad", AP_ROW(arithmetic(i, "sad", 3))},
        {"dp4a", AP_ROW(dot_of_bytes(i, 1))},
        {"dp2a", AP_ROW(dot_of_bytes(i, 2))},
        {"vabsdiff2", AP_ROW(differences(i, 2))},
        {"vabsdiff4", AP_ROW(differences(i, 4))},
        {"copysign", AP_ROW(arithmetic(i, "copysign", 2))},
        {"sin", AP_ROW(arithmetic(i, "sin", 1))},
        {"cos", AP_ROW(arithmetic(i, "cos", 1))},
        {"lop3", logic3},
        {"bfe", AP_ROW(bits(i, "bfe"))},
        {"bfi", AP_ROW(bits(i, "bfi"))},
        {"prmt", permute},
        {"shf.l", AP_ROW(funnel(i, "l"))},
        {"shf.r", AP_ROW(funnel(i, "r"))},
        {"rcp", AP_ROW(arithmetic(i, "rcp", 1))},
        {"sqrt", AP_ROW(arithmetic(i, "sqrt", 1))},
        {"rsqrt", AP_ROW(arithmetic(i, "rsqrt", 1))},
        {"ex2", AP_ROW(approximated(i, "ex2"))},
        {"lg2", AP_ROW(arithmetic(i, "lg2", 1))},
        {"tanh", AP_ROW(approximated(i, "tanh"))}}},
      {yes,
       "who waits for whom is checked: launches follow each other here",
       {{"griddepcontrol.wait", AP_ROW((void(i), "::antiphase::machine::wait_for_previous_grid()"))},
        {"griddepcontrol.launch_dependents", AP_ROW((void(i), "::antiphase::machine::start_next_grid()"))}}},
      {yes,
       "",
       {{"trap", AP_ROW((void(i), fmt::format("::antiphase::machine::trap(\"trap\", {})", here)))},
        {"nanosleep", AP_ROW((i.take("u32"), fmt::format("::antiphase::machine::yield({})", here)))}}},
      {no,
       "the instructions above; nor is the rest of PTX known",
       {{"red.async", nullptr}, {"multimem.ld_reduce", nullptr}, {"multimem.red", nullptr}}}};
  return all;
}
#undef AP_ROW

}  // namespace

std::string special_register(std::string_view name) {
  constexpr const char* all[] = {"laneid",
                                 "warpid",
                                 "nwarpid",
                                 "smid",
                                 "nsmid",
                                 "gridid",
                                 "clock",
                                 "clock_hi",
                                 "clock64",
                                 "globaltimer",
                                 "globaltimer_lo",
                                 "tid.x",
                                 "tid.y",
                                 "tid.z",
                                 "ntid.x",
                                 "ntid.y",
                                 "ntid.z",
                                 "ctaid.x",
                                 "ctaid.y",
                                 "ctaid.z",
                                 "nctaid.x",
                                 "nctaid.y",
                                 "nctaid.z",
                                 "lanemask_eq",
                                 "lanemask_lt",
                                 "lanemask_le",
                                 "lanemask_gt",
                                 "lanemask_ge",
                                 "cluster_ctarank",
                                 "cluster_nctarank",
                                 "cluster_ctaid.x",
                                 "cluster_ctaid.y",
                                 "cluster_ctaid.z",
                                 "cluster_nctaid.x",
                                 "cluster_nctaid.y",
                                 "cluster_nctaid.z",
                                 "clusterid.x",
                                 "clusterid.y",
                                 "clusterid.z",
                                 "nclusterid.x",
                                 "nclusterid.y",
                                 "nclusterid.z",
                                 "is_explicit_cluster",
                                 "dynamic_smem_size"};
  if (!name.starts_with("%")) return {};
  // Numbers that the system's own code uses, and memory that is never reserved here.
  for (const view zero : {"envreg", "reserved_smem"})
    if (name.substr(1).starts_with(zero)) return "::antiphase::plain::ptx::special_nothing()";
  for (const char* one : all)
    if (name.substr(1) == one) {
      text function = one;
      std::replace(function.begin(), function.end(), '.', '_');
      return fmt::format("::antiphase::plain::ptx::special_{}()", function);
    }
  return {};
}

std::string code_of(std::string_view name, std::string_view operands, const names& meanings) {
  const row* best = nullptr;
  std::size_t length = 0;
  for (const group& g : table())
    for (const row& r : g.rows) {
      const view head = r.head;
      const bool fits = name.starts_with(head) && (name.size() == head.size() || name[head.size()] == '.');
      if (fits && head.size() >= length) {
        best = &r;
        length = head.size();
      }
    }
  instruction i(name, operands, meanings);
  if (best == nullptr || best->code == nullptr) i.refuse();
  i.skip_head(split(best->head, '.').size());
  const text code = best->code(i);
  if (!i.done()) i.refuse();
  return code;
}

std::vector<dialect_entry> ptx_dialect() {
  static const std::vector<text> heads = [] {
    std::vector<text> all;
    for (const group& g : table()) {
      text& names = all.emplace_back();
      for (const row& r : g.rows) names += (names.empty() ? "" : " ") + text(r.head);
    }
    return all;
  }();
  std::vector<dialect_entry> all;
  for (std::size_t g = 0; g < heads.size(); ++g)
    all.push_back({table()[g].support, heads[g], table()[g].about});
  return all;
}

}  // namespace antiphase::plain
