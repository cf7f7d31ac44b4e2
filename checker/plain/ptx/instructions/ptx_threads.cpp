// SPDX-License-Identifier: Apache-2.0
// mbarriers, fences, barriers, clusters and exchanges within a warp of PTX.
#include "checker/plain/ptx/instructions/ptx_families.hpp"

namespace antiphase::plain::ptx_code {

// mbarriers

text mbarrier(instruction& i, view what) {
  const bool relaxed = i.take("relaxed");
  if (!relaxed) i.take(what.starts_with("arrive") ? "release" : "acquire");
  const text how = fmt::format("{{{}, {}}}", relaxed, i.scope("cta"));
  i.take("b64");
  const bool of_cluster = what == "arrive" && i.take("shared::cluster");
  if (of_cluster) {
    if (i.operand(0) != "_") i.refuse();
    const text at = i.barrier(1, "in_shared");
    if (i.take("expect_tx")) return call("mbarrier_arrive_at", at, "1", i.get("int", 2), here, how);
    if (i.count() > 2) return call("mbarrier_arrive_at", at, i.get("int", 2), "0", here, how);
    return call("mbarrier_arrive_in_cluster", at, how, here);
  }
  if (what == "expect_tx" && i.take("shared::cluster"))
    return call("mbarrier_expect_at", i.barrier(0, "in_shared"), i.get("int", 1), here);
  const text space = i.space();
  if (what == "init")
    return fmt::format("::antiphase::machine::mbarrier_init({}, {}, {})", i.barrier(0, space),
                       i.get("int", 1), here);
  if (what == "inval")
    return fmt::format("::antiphase::machine::mbarrier_inval({}, {})", i.barrier(0, space), here);
  if (what == "expect_tx")
    return fmt::format("::antiphase::machine::mbarrier_expect({}, {}, {})", i.barrier(0, space),
                       i.get("int", 1), here);
  if (what == "arrive_drop" || what == "arrive") {
    const text state =
        i.operand(0) == "_"
            ? ""
            : i.put(0, fmt::format("::antiphase::machine::mbarrier_parity({})", i.barrier(1, space))) + "; ";
    if (what == "arrive_drop" && !i.take("expect_tx"))
      return state + fmt::format("::antiphase::machine::mbarrier_arrive_and_drop({}, {}, {}, {})",
                                 i.barrier(1, space), i.count() > 2 ? i.get("int", 2) : "1", here, how);
    if (what == "arrive_drop") i.refuse();
    if (i.take("expect_tx"))
      return state + fmt::format("::antiphase::machine::mbarrier_arrive({}, {}, {}, {})", i.barrier(1, space),
                                 i.get("int", 2), here, how);
    return state + fmt::format("::antiphase::machine::mbarrier_arrive_many({}, {}, {}, {})",
                               i.barrier(1, space), i.count() > 2 ? i.get("int", 2) : "1", here, how);
  }
  i.take("parity");          // the state from `arrive` is the phase's parity
  if (i.take("ap::polled"))  // in a loop that does nothing else
    return fmt::format("::antiphase::machine::mbarrier_wait({}, {} & 1, {}, {}); ", i.barrier(1, space),
                       i.get("unsigned", 2), here, how) +
           i.put(0, "true");
  return i.put(0, call("mbarrier_test_wait", i.barrier(1, space), i.get("unsigned", 2), how, here));
}

// fences and barriers

text membar(instruction& i) {
  const view level = i.take_one({"cta", "gl", "sys"});
  if (level.empty()) i.refuse();
  return fmt::format("::antiphase::plain::fence(::antiphase::scope::{})", level == "cta"   ? "block"
                                                                          : level == "sys" ? "system"
                                                                                           : "device");
}
text fence(instruction& i) {
  const view how = i.take_one({"sc", "acq_rel", "acquire", "release"});
  const text reach = i.scope_for(true);
  return how == "sc" ? fmt::format("::antiphase::plain::fence({})", reach)
                     : fmt::format("::antiphase::plain::fence({}, {})", reach,
                                   order_of(how.empty() ? "acq_rel" : how));
}
text proxy_fence(instruction& i) {
  if (!i.take("async")) i.refuse();
  const bool global = i.take("global"),
             shared = !i.take_one({"shared::cta", "shared::cluster", "shared::{cta,cluster}"}).empty();
  return fmt::format("::antiphase::machine::proxy_fence(::antiphase::machine::proxy::{})", global   ? "global"
                                                                                           : shared ? "shared"
                                                                                                    : "both");
}
text map_fence(instruction& i) {  // an acquire names the map
  const view how = i.take_one({"acquire", "release"});
  if (how.empty()) i.refuse();
  return fmt::format("::antiphase::plain::fence({}, {})", i.scope_for(true), order_of(how));
}
text barrier_fence(instruction& i) {
  i.skip({"release", "cluster"});
  return "::antiphase::machine::mbarrier_fence()";
}
text block_barrier(instruction& i, bool waits, bool aligned) {  // bar is barrier.aligned
  i.take("cta");
  aligned |= i.take("aligned");
  if (i.take("warp")) i.refuse();
  const text threads = i.count() > 1 ? i.get("int", 1) : "0";
  return fmt::format("::antiphase::machine::barrier({}, {}, {{{}, {}}}, {})", i.get("int", 0), threads, waits,
                     aligned, here);
}
text voting_barrier(instruction& i, bool aligned) {  // bar.red
  i.take("cta");
  aligned |= i.take("aligned");
  const view how = i.take_one({"popc", "and", "or"});
  i.skip({"u32", "pred"});
  if (how.empty() || i.count() < 3) i.refuse();
  if (i.operand(1) != "0" || i.count() != 3)
    return i.put(
        0, fmt::format("::antiphase::plain::barrier_votes({}, {}, {}, {}, {}).{}", i.get("int", 1),
                       i.count() == 4 ? i.get("int", 2) : "0", i.get("bool", i.count() - 1), aligned, here,
                       how == "popc" ? "yes"
                       : how == "or" ? "yes != 0"
                                     : "no == 0"));
  return i.put(
      0, fmt::format("__syncthreads_{}({}, {})", how == "popc" ? "count" : how, i.get("bool", 2), here));
}
text cluster_barrier(instruction& i, bool waits) {
  const bool relaxed = !waits && i.take("relaxed");
  const bool aligned = i.take("aligned");
  i.skip({waits ? "acquire" : "release"});
  return fmt::format(
      "{}::antiphase::machine::cluster_{}({})",
      aligned ? fmt::format("::antiphase::machine::require_aligned({}, {}); ", waits, here) : "",
      waits     ? "wait"
      : relaxed ? "arrive_relaxed"
                : "arrive",
      here);
}
text async_store(instruction& i) {
  i.skip({"weak"});
  if (!i.take("mbarrier::complete_tx::bytes") || !i.take("shared::cluster")) i.refuse();
  const int n = vector_of(i);
  const text type = i.type();
  if (static_cast<int>(i.list(1).size()) != n) i.refuse();
  return fmt::format("const {} ap_v[] = {{{}}}; ", type, i.gets(type, 1)) +
         call("store_async", i.pointer(0, "in_shared"), "ap_v", "sizeof ap_v", i.barrier(2, "in_shared"),
              here);
}
text rank_of(instruction& i) {
  const text space = i.take("shared::cluster") ? "in_shared" : "generic";
  i.skip({"u32", "u64"});
  return i.put(0, call("rank_of", call(space, i.get("unsigned long", 1)), here));
}
text map_address(instruction& i) {
  const bool of_shared = i.take("shared::cluster");
  i.skip({"u64", "u32"});
  if (of_shared)  // an address alone: its use shows whether there is such a block
    return i.put(
        0, fmt::format("{} % ::antiphase::plain::bytes_of_rank + {} * ::antiphase::plain::bytes_of_rank",
                       i.get("unsigned", 1), i.get("unsigned", 2)));
  return i.put(0, fmt::format("reinterpret_cast<unsigned long>(::antiphase::plain::in_block({}, {}, {}))",
                              call("generic", i.get("unsigned long", 1)), i.get("int", 2), here));
}
text set_registers(instruction& i) {
  i.skip({"inc", "dec", "sync", "aligned", "u32"});
  return fmt::format("::antiphase::machine::set_registers({}, {})", i.get("int", 0), here);
}
text warp_sync(instruction& i) {
  return fmt::format("::antiphase::machine::warp_exchange({}, nullptr, 0, {})", i.get("unsigned", 0), here);
}

// warps

namespace {
// d or d|p
text put_both(const instruction& i, const text& what) {
  const auto both = split(i.operand(0), '|');
  text code = fmt::format("const auto ap_v = {}; {}", what, call("put", i.value(both[0]), "ap_v.value"));
  if (both.size() > 1) code += "; " + call("put", i.value(both[1]), "ap_v.valid");
  return code;
}
}  // namespace
text shuffle(instruction& i) {
  const view mode = i.take_one({"idx", "up", "down", "bfly"});
  i.take("b32");
  if (mode.empty() || i.count() < 5) i.refuse();
  return put_both(i, call(fmt::format("shuffle_{}", mode), i.get("unsigned", 4), i.get("unsigned", 1),
                          i.get("unsigned", 2), i.get("unsigned", 3), here));
}
text vote(instruction& i) {  // vote.sync.ballot, and the other order of the words
  if (!i.take("sync")) i.refuse();
  const view how = i.take_one({"all", "any", "uni", "ballot"});
  i.skip({"pred", "b32"});
  if (how.empty()) i.refuse();
  return i.put(0, call(fmt::format("vote_{}", how), i.get("unsigned", 2), i.get("bool", 1), here));
}
text match(instruction& i) {
  const view how = i.take_one({"any", "all"});
  if (how.empty() || !i.take("sync")) i.refuse();
  const text type = i.type();
  if (how == "all") return put_both(i, call("match_all", i.get("unsigned", 2), i.get(type, 1), here));
  return i.put(0, fmt::format("__match_any_sync({}, {}, {})", i.get("unsigned", 2), i.get(type, 1), here));
}
text redux(instruction& i) {
  const view how = i.take_one({"add", "min", "max", "and", "or", "xor"});
  const bool absolute = i.take("abs"), nan = i.take("NaN");
  i.take("sync");
  const text type = i.type();
  const auto yes = [](bool b) { return b ? "true" : "false"; };
  if (type == "float" && (how == "min" || how == "max"))
    return i.put(0, call("reduced", i.get("unsigned", 2), i.get(type, 1), yes(how == "min"), yes(absolute),
                         yes(nan), here));
  if (how.empty() || absolute || nan || (type != "unsigned" && type != "int")) i.refuse();
  return i.put(0,
               fmt::format("__reduce_{}_sync({}, {}, {})", how, i.get("unsigned", 2), i.get(type, 1), here));
}
text elect(instruction& i) { return put_both(i, call("elect", i.get("unsigned", 1), here)); }
text active_mask(instruction& i) {
  i.take("b32");
  return i.put(0, "__activemask()");
}

}  // namespace antiphase::plain::ptx_code
