// SPDX-License-Identifier: Apache-2.0
// The reader of PTX modules: what it makes of their directives, labels, registers and places.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/plain_cuda.hpp>
#include <string>

#include "checker/plain/ptx/flow.hpp"
#include "checker/plain/ptx/launch_file.hpp"
#include "checker/plain/ptx/module.hpp"

namespace {

using namespace antiphase::plain::ptx_module;
using antiphase::bad_request;
using antiphase::bad_source;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

constexpr const char* head = ".version 8.5\n.target sm_90\n.address_size 64\n";

module_text module_of(const std::string& text) { return read(head + text, "k.ptx"); }
std::string unit(const std::string& text) { return unit_of(module_of(text), 0); }
std::string in_kernel(const std::string& body) {
  return unit(".visible .entry k() {\n" + body + "\nret;\n}\n");
}
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t k = 0; (k = text.find(part, k)) != text.npos; k += part.size()) ++n;
  return n;
}

TEST(ptx_module, labels_belong_to_their_scope) {
  const std::string out =
      in_kernel("{ L: bra L; }\n{ L: bra L; }\n{ { bra OUT; } OUT: }\nbra OUT; OUT: membar.gl;");
  EXPECT_EQ(count(out, "goto ap_l_L_1;"), 1u);
  EXPECT_EQ(count(out, "goto ap_l_L_2;"), 1u);
  EXPECT_EQ(count(out, "goto ap_l_OUT_3;"), 1u) << "the inner scope's jump";
  EXPECT_EQ(count(out, "goto ap_l_OUT_0;"), 1u);
}

TEST(ptx_module, numbers_of_a_vector_that_nothing_reads_are_not_loaded) {
  const std::string use = "st.shared .u32 [b], r; st.shared.u32 [b+4], s; st.shared.u32 [b+8], t;";
  const auto loads = [&](const std::string& how) {
    return count(in_kernel(".reg .b32 r, s, t, u, a, b;\n" + how + use), "load<unsigned, 1>(ap_p");
  };
  EXPECT_EQ(loads("ld.shared.v4.u32 {r, s, t, u}, [a];"), 3u);
  EXPECT_EQ(loads("ld.shared.v4.u32 {r, s, t, u}, [a]; st.shared.u32 [b], u;"), 0u) << "one access";
  EXPECT_EQ(loads("ld.volatile.shared.v4.u32 {r, s, t, u}, [a];"), 0u) << "as it is written";
}

TEST(ptx_module, registers_of_a_range_are_declared_when_they_are_used) {
  const std::string out =
      in_kernel(".reg .b32 %r<4000>; .reg .pred %p<3>;\nmov.u32 %r3999, 7;\nsetp.eq.s32 %p2, %r3999, 7;");
  EXPECT_EQ(count(out, "_r3999 = 0"), 1u);
  EXPECT_EQ(count(out, "_p2 = 0"), 1u);
  EXPECT_THAT(out, Not(HasSubstr("_r3998")));
  EXPECT_THAT(in_kernel(".reg .b32 %r<4>;\nmov.u32 %r4, 7;"), HasSubstr("refused(\"k.ptx:6: PTX '%r4'"));
}

TEST(ptx_module, registers_of_an_inner_scope_hide_those_outside) {
  const std::string out =
      in_kernel(".reg .b32 x; mov.b32 x, 1; { .reg .b64 x; mov.b64 x, 2; } mov.b32 x, 3;");
  EXPECT_THAT(out, HasSubstr("unsigned ap_r0_x = 0"));
  EXPECT_THAT(out, HasSubstr("unsigned long ap_r1_x = 0"));
  EXPECT_EQ(count(out, "put(ap_r0_x"), 2u);
  EXPECT_EQ(count(out, "put(ap_r1_x"), 1u);
}

TEST(ptx_module, a_place_is_the_innermost_one_of_the_user) {
  const char* const files =
      ".file 1 \"/home/me/my.py\"\n.file 2 \"/usr/lib/site-packages/triton/language/standard.py\"\n"
      ".file 3 \"/usr/local/cuda/include/sm_30_intrinsics.hpp\"\n.file 4 \"/home/me\" \"helper.cuh\"\n";
  places p(files);
  EXPECT_EQ(p.follow(" 1 10 3"), (source_line{"/home/me/my.py", 10}));
  EXPECT_EQ(p.follow(" 2 99 1, function_name $L__info_string0, inlined_at 1 10 3"),
            (source_line{"/home/me/my.py", 10}));
  EXPECT_EQ(p.follow(" 3 5 1, function_name $L__info_string1, inlined_at 2 99 1"),
            (source_line{"/home/me/my.py", 10}))
      << "through two calls";
  EXPECT_EQ(p.follow(" 4 8 1, function_name $L__info_string2, inlined_at 1 12 3"),
            (source_line{"/home/me/helper.cuh", 8}))
      << "the user's own function, inlined";
  EXPECT_EQ(p.follow(" 1 0 0"), source_line{}) << "line 0 is no place";
  EXPECT_EQ(p.follow(" 1 20 0"), source_line{})
      << "nor is a line without a column, as CuTe DSL's compiler adds it";
  EXPECT_EQ(p.follow(" 1 20 0", true), (source_line{"/home/me/my.py", 20}))
      << "except for a function's first one";
}

TEST(ptx_module, of_several_callers_the_one_named_last_is_meant) {
  places p(".file 1 \"my.cu\"\n.file 2 \"/usr/local/cuda/include/cuda_pipeline.h\"\n");
  for (const char* line : {"12", "13"}) {
    p.follow(fmt::format(" 2 100 9, function_name $L0, inlined_at 1 {} 5", line));
    EXPECT_EQ(p.follow(" 2 190 23, function_name $L1, inlined_at 2 100 9"),
              (source_line{"my.cu", std::stoi(line)}));
  }
  p.follow(" 1 12 5");
  EXPECT_EQ(p.follow(" 2 190 23, function_name $L1, inlined_at 2 100 9"), (source_line{"my.cu", 12}))
      << "without another directive for the function between";
}

TEST(ptx_module, a_kernel_in_a_package_has_the_places_of_its_package) {
  places p(".file 1 \"/x/site-packages/kernels/sum.py\"\n.file 2 \"/x/site-packages/other/add.py\"\n");
  p.follow(" 1 30 1");
  EXPECT_EQ(p.follow(" 2 5 1, function_name $L0, inlined_at 1 30 1"),
            (source_line{"/x/site-packages/kernels/sum.py", 30}));
}

TEST(ptx_module, lines_within_inline_asm_are_those_of_the_statement) {
  const module_text m = module_of(
      ".visible .entry k() {\n.loc 1 7 0\nmembar.gl;\n// begin inline asm\n.loc 1 9 0\nmembar.cta;\n// end "
      "inline asm\n"
      ".loc 1 8 0\nmembar.sys;\nret;\n}\n.file 1 \"my.cu\"\n");
  ASSERT_EQ(m.functions.size(), 1u);
  const auto& body = m.functions[0].body;
  ASSERT_EQ(body.size(), 4u);
  EXPECT_EQ(body[0].place, (source_line{"my.cu", 7}));
  EXPECT_EQ(body[1].place, (source_line{"my.cu", 7}));
  EXPECT_EQ(body[2].place, (source_line{"my.cu", 8}));
}

TEST(ptx_module, variables_have_their_initial_values) {
  const std::string out = unit(
      ".global .align 4 .b8 text[3] = {72, 105, 0};\n.visible .global .align 4 .f32 scale = 0f3F800000;\n"
      ".global .align 8 .u64 table[2] = {generic(text), text+1};\n.const .align 4 .s32 rows[2][2] = {{1, "
      "-2}, {3, 4}};\n"
      ".extern .shared .align 16 .b8 all[];\n.visible .entry k() { .reg .b32 %r<2>; mov.u32 %r0, all; ret; "
      "}\n");
  EXPECT_THAT(out, HasSubstr("unsigned char text[3] = {static_cast<unsigned char>((72l)), "));
  EXPECT_THAT(out,
              HasSubstr("float scale[1] = {static_cast<float>(__builtin_bit_cast(float, 0x3F800000u))}"));
  EXPECT_THAT(out, HasSubstr("reinterpret_cast<unsigned long>(text) + (1l)"));
  EXPECT_THAT(out, HasSubstr("__constant__ __attribute__((aligned(4))) int rows[4] = "
                             "{static_cast<int>((1l)), static_cast<int>((-2l))"));
  EXPECT_THAT(out, HasSubstr("extern __shared__ __align__(16) unsigned char all[];"));
}

TEST(ptx_module, functions_are_called_with_the_addresses_of_their_parameters) {
  const std::string out = unit(
      ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a]; add.s32 %r0, "
      "%r0, %r0;\n"
      "st.param.b32 [r], %r0; ret; }\n.visible .entry k() { .reg .b32 %r<2>; { .param .b32 p; .param .b32 "
      "q;\n"
      "st.param.b32 [p], %r0; call.uni (q), twice, (p); ld.param.b32 %r1, [q]; } ret; }\n");
  EXPECT_THAT(out, HasSubstr("void ap_f_twice(unsigned char* ap_x0, unsigned char* ap_x1)"));
  EXPECT_THAT(out, HasSubstr("ap_f_twice(ap_a1_q, ap_a0_p)"));
}

TEST(ptx_module, attributes_say_how_a_kernel_is_launched) {
  const std::string out = unit(
      ".visible .entry k(.param .u64 a, .param .align 8 .b8 b[24]) .explicitcluster\n"
      ".reqnctapercluster 2, 1, 1 .maxntid 64, 2, 1 .minnctapersm 1 { ret; }");
  EXPECT_THAT(out, HasSubstr("__launch_bounds__(128)"));
  EXPECT_THAT(out, HasSubstr("register_cluster(\"k\", 2, 1, 1)"));
  EXPECT_THAT(
      out,
      HasSubstr("ptx::word ap_x0, const __grid_constant__ ::antiphase::plain::ptx::bytes<24, 8> ap_x1)"));
}

TEST(ptx_module, sums_of_a_wgmma_are_one_array_in_the_order_of_its_operands) {
  const std::string out = in_kernel(
      ".reg .f32 %f<9>; .reg .b64 %d<2>;\nmov.f32 %f4, 0f00000000;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f4, %f3, %f2, %f1}, %d0, %d1, 1, 1, 1, 0, 0;");
  EXPECT_THAT(out, HasSubstr("float ap_sums0[4] = {};"));
  EXPECT_THAT(out, HasSubstr("put(ap_sums0[0], "));
  EXPECT_THAT(out, HasSubstr("ap_sums0[0], ap_sums0[1], ap_sums0[2], ap_sums0[3])"));
}

TEST(ptx_module, the_first_value_of_a_sum_is_set_before_the_fence_of_an_asm_statement) {
  const std::string
      moves = "$L: mov.f32 %f3, 0f3F800000;\nmov.f32 %f1, %f3;\n",
      product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2}, %d0, %d1, 1, 1, 1, 0, 0;";
  const auto order = [&](const std::string& fence, const std::string& between) {
    const std::string out =
        in_kernel(".reg .f32 %f<9>; .reg .b64 %d<2>;\n" + fence + between + moves + product);
    EXPECT_EQ(count(out, "put(ap_sums0[0], "), 1u);
    return out.find("put(ap_sums0[0], ") < out.find("warpgroup_fence");
  };
  const std::string fence = "wgmma.fence.sync.aligned;\n",
                    of_asm = "// begin inline asm\n" + fence + "// end inline asm\n";
  EXPECT_TRUE(order(of_asm, ""));
  EXPECT_FALSE(order(fence, "")) << "in PTX as it was written";
  EXPECT_FALSE(order(of_asm, "mov.b64 %d0, 0;\nadd.f32 %f2, %f1, %f1;\n")) << "its old value is used before";
  EXPECT_FALSE(order(of_asm, "bar.sync 0;\n"));
  const std::string packed =
      in_kernel(".reg .b16 %s<3>; .reg .b32 %r<2>; .reg .f32 %f<9>; .reg .b64 %d<2>;\n" + of_asm +
                "mov.u16 %s1, 1;\nmov.b32 %r1, {%s1, %s2};\ncvt.u64.u32 %d0, %r1;\n" + product);
  EXPECT_LT(packed.find("warpgroup_fence"), packed.find("packed<unsigned>")) << "of what is set after it";
}

TEST(ptx_module, rounds_of_loops_and_copies_of_one_barrier_are_told_apart) {
  const std::string out = in_kernel(
      ".reg .b32 %r<3>; .reg .pred %p<3>;\n@%p0 bra ELSE; bar.sync 0; bra JOIN; ELSE: bar.sync 0; JOIN:\n"
      "OUTER: mov.u32 %r0, 0;\nINNER: bar.sync 0; @%p1 bra INNER;\n@%p2 bra OUTER;");
  EXPECT_EQ(count(out, "ap_rounds.meet("), 3u);
  EXPECT_EQ(count(out, "ap_rounds.next("), 2u) << "a jump back begins the next round";
  EXPECT_EQ(count(out, "u, {0u, 1u});"), 1u) << "the third barrier is in two loops";
  const std::size_t first = out.find("ap_rounds.meet("), second = out.find("ap_rounds.meet(", first + 1);
  EXPECT_NE(out.substr(first, 21), out.substr(second, 21)) << "each copy has a number of its own";
}

TEST(ptx_module, textures_and_wmma_are_what_their_headers_have) {
  const std::string out = in_kernel(
      ".reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %d<3>;\n"
      "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}];\n"
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%r9], "
      "%r10;");
  EXPECT_THAT(out, HasSubstr("tex"));
  EXPECT_THAT(out, HasSubstr("wmma"));
  EXPECT_THAT(out, Not(HasSubstr("refused(")));
  EXPECT_THAT(in_kernel(".reg .b32 %r<9>;\nwmma.load.e.sync.aligned.row.m16n16k16.f16 {%r0}, [%r9], %r1;"),
              HasSubstr("refused("));
}

TEST(ptx_module, an_instance_with_clusters_says_so_when_host_code_launches_it) {
  const std::string out =
      unit_of(module_of(".visible .entry _Z1kILi1EEvv() { ret; }\n"
                        ".visible .entry _Z1kILi2EEvv() .reqnctapercluster 2, 1, 1 { ret; }"),
              0, launched_by::host_part, "ap_anonymous_0");
  EXPECT_THAT(out, HasSubstr("tells_cluster(1)) return; _Z1kILi1EEvv("));
  EXPECT_THAT(out, HasSubstr("tells_cluster(2, 1, 1)) return; _Z1kILi2EEvv("));
  EXPECT_THAT(out, HasSubstr("register_cluster(\"k\", 0)"));
}

TEST(ptx_module, a_barrier_of_cuda_memcpy_async_is_fenced_when_it_is_initialized) {
  const auto out = [](const std::string& folder) {
    return unit(
        ".visible .entry k() {\n.reg .b32 %r<5>; .reg .b64 %d<2>;\n.loc 1 3 1\n.loc 2 4 1, function_name "
        "$L0, inlined_at 1 3 1\nmbarrier.init.shared.b64 [%r0], 32;\n.loc 3 5 1, function_name $L1, "
        "inlined_at 1 8 1\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], "
        "[%d0], %r2, [%r0];\nret;\n}\n.file 1 \"my.cu\"\n.file 2 "
        "\"/usr/local/cuda/include/cccl/cuda/__barrier/barrier_block_scope.h\"\n.file 3 "
        "\"/usr/local/cuda/include/cccl/cuda/" +
        folder + "/a.h\"\n");
  };
  EXPECT_THAT(out("__memcpy_async"), HasSubstr("mbarrier_fence"));
  EXPECT_THAT(out("__ptx"), Not(HasSubstr("mbarrier_fence")));
}

TEST(ptx_module, variables_of_a_module_and_of_a_function_may_have_one_name) {
  const std::string out = unit(
      ".extern .shared .align 16 .b8 part[];\n.visible .entry k() {\n.reg .b32 %r<2>;\n.shared .align 4 .b8 "
      "_ZZ4turnvE4part[8];\nmov.u32 %r0, part;\nmov.u32 %r1, _ZZ4turnvE4part;\nret;\n}\n");
  EXPECT_EQ(count(out, "unsigned char part["), 1u);
  EXPECT_EQ(count(out, "unsigned char ap_a0_part["), 1u);
}

TEST(ptx_module, libraries_load_by_the_read_only_path_what_they_write_in_place) {
  const auto loads = [](const std::string& file) {
    return count(
        unit(".visible .entry k() {\n.reg .b32 %r<2>; .reg .b64 %d<2>;\n.loc 1 3 1\nld.global.nc.u32 "
             "%r0, [%d0];\nst.global.u32 [%d1], %r0;\nret;\n}\n.file 1 \"" +
             file + "\"\n"),
        "load_constant");
  };
  EXPECT_EQ(loads("my.cu"), 1u);
  EXPECT_EQ(loads("/usr/local/cuda/include/cccl/cub/agent.cuh"), 0u);
}

std::set<std::size_t> polls(const std::string& body) {
  return polling_waits(module_of(".entry k() {\n" + body + "\nret;\n}\n").functions[0]);
}
TEST(ptx_flow, a_loop_that_only_polls_waits) {
  EXPECT_THAT(polls("W: mbarrier.try_wait.parity.shared.b64 p, [a], 0; @!p bra.uni W;"), ElementsAre(1));
  EXPECT_THAT(polls("{ W: mbarrier.try_wait.shared.b64 p, [a], 0; @p bra DONE; bra W; DONE: }"),
              ElementsAre(2));
  EXPECT_THAT(
      polls(
          "W: mbarrier.test_wait.shared.b64 p, [a], s; selp.u32 r, 1, 0, p; setp.eq.s32 q, r, 0; @q bra W;"),
      ElementsAre(1));
  EXPECT_THAT(polls("W: mbarrier.try_wait.shared.b64 p, [a], 0; st.shared.u32 [b], 1; @!p bra W;"),
              ElementsAre())
      << "it does something else";
  EXPECT_THAT(
      polls("mbarrier.try_wait.shared.b64 p, [a], 0; @!p bra ELSE; bra W; ELSE: st.shared.u32 [b], 1; W:"),
      ElementsAre())
      << "no loop";
}

auto dropped(const std::string& body) {
  std::map<std::size_t, std::string> all;
  for (const auto& [k, conditions] :
       conditional_loads(module_of(".entry k() {\n" + body + "\nret;\n}\n").functions[0]))
    all[k] = fmt::format("{}", fmt::join(conditions.at(0).predicates, " "));
  return all;
}
TEST(ptx_flow, a_load_whose_value_a_selection_drops_depends_on_it) {
  EXPECT_THAT(dropped("setp.eq.s32 p, t, 0; ld.shared.u32 r, [a]; selp.b32 d, r, 0, p;"),
              ElementsAre(Pair(1, "p")));
  EXPECT_THAT(dropped("setp.eq.s32 p, t, 0; ld.shared.u32 r, [a]; add.s32 s, r, 1; selp.b32 d, 0, s, p;"),
              ElementsAre(Pair(1, "!p")));
  EXPECT_THAT(
      dropped(
          "setp.eq.s32 p, t, 0; ld.shared.u32 r, [a]; setp.gt.s32 q, r, v; and.pred c, p, q; @c bra L; L:"),
      ElementsAre(Pair(1, "p")));
  EXPECT_THAT(
      dropped("setp.eq.s32 p, t, 0; ld.shared.u32 r, [a]; selp.b32 d, r, 0, p; st.shared.u32 [b], r;"),
      ElementsAre())
      << "it is used besides";
  EXPECT_THAT(dropped("ld.shared.u32 r, [a]; setp.eq.s32 p, t, 0; selp.b32 d, r, 0, p;"), ElementsAre())
      << "the predicate is not known yet";
}

TEST(ptx_flow, a_load_for_a_store_depends_on_the_store_s_predicate) {
  const auto loads = [](const std::string& body) {
    std::map<std::size_t, std::pair<std::string, std::vector<std::size_t>>> all;
    for (const auto& [k, conditions] : conditional_loads(
             module_of(".entry k() {\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\n" + body + "\nret;\n}\n")
                 .functions[0])) {
      const load_condition& load = conditions.at(0);
      all[k] = {fmt::format("{}{}", fmt::join(load.predicates, " "), load.of_warp ? " of the warp" : ""),
                load.computed_by};
    }
    return all;
  };
  const std::string first = "mov.u32 %r1, %tid.x; setp.eq.b32 %p1, %r1, 0; ";
  const auto found =
      loads("ld.global.b32 { %r2 }, [a]; add.s32 %r3, %r2, 1; " + first + "@%p1 st.global.b32 [a], { %r3 };");
  ASSERT_EQ(found.size(), 1U);
  const auto& [load, known] = *found.begin();
  EXPECT_EQ(known.first, "%p1");
  EXPECT_THAT(known.second, ElementsAre(load + 2, load + 3));
  EXPECT_THAT(loads("ld.global.b32 %r2, [a]; " + first + "@!%p1 st.global.b32 [a], %r2;"),
              ElementsAre(Pair(testing::_, Pair("!%p1", testing::_))));
  EXPECT_THAT(loads(first + "setp.lt.s32 %p2, %r1, 9; ld.global.b32 %r2, [a]; @%p1 st.global.b32 [a], %r2; "
                            "@%p2 st.global.b32 [b], %r2;"),
              ElementsAre(Pair(testing::_, Pair("%p1 %p2", testing::_))));
  // The address of a store that is not executed does not matter either.
  EXPECT_THAT(loads(first + "ld.global.b32 %r2, [a]; @%p1 st.global.b32 [%r2], %r1;"),
              ElementsAre(Pair(testing::_, Pair("%p1", testing::_))));
  // One part of a conjunction is enough: a loop's counter is not known.
  EXPECT_THAT(loads(first + "L: ld.global.b32 %r2, [a]; setp.lt.s32 %p2, %r5, 9; and.pred %p3, %p2, %p1; "
                            "@%p3 st.global.b32 [a], %r2; add.s32 %r5, %r5, 1; @%p2 bra L;"),
              ElementsAre(Pair(testing::_, Pair("%p1", testing::_))));
  // Debug information puts labels everywhere.
  EXPECT_THAT(loads(first + "ld.global.b32 %r2, [a]; T: shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; "
                            "add.f32 %r4, %r2, %r3; @%p1 st.global.b32 [a], %r4;"),
              ElementsAre(Pair(testing::_, Pair("%p1 of the warp", testing::_))));
  for (const std::string other :
       {"ld.global.b32 %r2, [a]; @%p1 st.global.b32 [a], %r2; st.global.b32 [b], %r2;",
        "ld.global.b32 %r2, [a]; shfl.sync.bfly.b32 %r3, %r2, 1, 31, 7; @%p1 st.global.b32 [a], %r3;",
        "ld.global.b32 %r2, [a]; @%p1 bra L; shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; L: @%p1 st.global.b32 "
        "[a], %r2;",
        "ld.global.b32 %r2, [a]; setp.eq.s32 %p2, %r2, 0; @%p2 bra L; L: @%p1 st.global.b32 [a], %r2;",
        "ld.volatile.global.b32 %r2, [a]; @%p1 st.global.b32 [a], %r2;",
        "ld.global.b32 %r2, [a]; setp.lt.s32 %p2, %r2, 9; and.pred %p3, %p2, %p4; @%p3 st.global.b32 [a], "
        "%r1;",
        "ld.global.b32 %r2, [a]; setp.eq.b32 %p1, %r1, 1; @%p1 st.global.b32 [a], %r2;"})
    EXPECT_THAT(loads(first + other), ElementsAre()) << other;
}

std::pair<int, int> past(const std::string& body) {
  const auto lines =
      barriers_gone_past(module_of(".entry k() {\n" + body + "\nret;\n}\n.file 1 \"k.cu\"\n").functions[0]);
  return lines ? std::pair(lines->first.line, lines->end) : std::pair(0, 0);
}
TEST(ptx_flow, rounds_are_those_of_loops_that_are_entered_at_their_first_statement) {
  const auto loops = [](const std::string& body) {
    return loops_around_barriers(module_of(".entry k() {\n" + body + "\nret;\n}\n").functions[0]).size();
  };
  EXPECT_EQ(loops("LOOP: bar.sync 0; @p bra LOOP;"), 1u);
  EXPECT_EQ(loops("A: LOOP: bar.sync 0; @p bra LOOP; @q bra A;"), 2u);
  EXPECT_EQ(loops("bra LOOP; LOAD: ld.volatile.global.u32 r, [a]; LOOP: bar.sync 0; @p bra OUT; @q bra LOOP; "
                  "bra LOAD; OUT:"),
            0u)
      << "lanes that load and those that do not go around one loop";
}

TEST(ptx_flow, sums_of_integers_may_be_set_before_a_fence_too) {
  const auto moves = [](const std::string& type, const char* value) {
    const auto f = module_of(fmt::format(
        ".entry k() {{\n// begin inline asm\nwgmma.fence.sync.aligned;\n// end inline asm\nmov.{} %r1, {};\n"
        "// begin inline asm\nwgmma.mma_async.sync.aligned.m64n8k32.s32.e5m2.u8 {{%r1}}, %d1, %d2, 1;\n// "
        "end "
        "inline asm\nret;\n}}\n",
        type, value));
    return moves_before_fence(f.functions[0], 0);
  };
  EXPECT_THAT(moves("f32", "0f3F800000"), ElementsAre(1));
  EXPECT_THAT(moves("u32", "5"), ElementsAre(1)) << "a number is no register that another instruction names";
}

TEST(ptx_flow, a_barrier_in_a_branch_is_gone_past_but_not_by_an_early_return) {
  EXPECT_EQ(past(".loc 1 5 0\n@p bra JOIN;\nbar.sync 0;\nJOIN: st.global.u32 [a], 1;"), std::pair(5, 6));
  EXPECT_EQ(past(".loc 1 5 0\n@p bra OUT;\nbar.sync 0;\nst.global.u32 [a], 1;\nOUT:"), std::pair(0, 0));
  EXPECT_EQ(past(".loc 1 5 0\n@p ret;\nbar.sync 0;\nst.global.u32 [a], 1;"), std::pair(0, 0));
  EXPECT_EQ(past(".loc 1 5 0\nLOOP: bar.sync 0;\n@p bra LOOP;\nst.global.u32 [a], 1;"), std::pair(5, 6))
      << "threads that leave the loop before others";
  EXPECT_EQ(past(".loc 1 5 0\nLOOP: @p bra AFTER;\nbar.sync 0;\nbra LOOP;\nAFTER: st.global.u32 [a], 1;"),
            std::pair(5, 6))
      << "a loop that some threads leave";
  EXPECT_EQ(
      past(".loc 1 5 0\n@p bra JOIN;\nbar.sync 0;\nJOIN: st.global.u32 [a], 1;\n@q bra OUT;\nbar.sync 0;\n"
           "st.global.u32 [a], 1;\nOUT:"),
      std::pair(0, 0))
      << "both on one line";
  EXPECT_EQ(past(".loc 1 5 0\n@p bra JOIN;\nbar.warp.sync -1;\nJOIN: st.global.u32 [a], 1;"),
            std::pair(5, 6));
  EXPECT_EQ(
      past(".loc 1 5 0\n@p bra JOIN;\nbar.sync 0;\nJOIN:\n.loc 1 7 0\nbar.sync 0;\nst.global.u32 [a], 1;"),
      std::pair(5, 8))
      << "one after the other";
}

// Nothing but bad_source may be thrown.
std::string refusal(const std::string& text) {
  try {
    unit_of(read(text, "k.ptx"), 0);
  } catch (const bad_source& e) {
    return e.what();
  }
  return "none";
}
TEST(ptx_module, text_that_is_no_module_is_refused_with_its_line) {
  EXPECT_EQ(refusal("int main() {}"), "k.ptx is not a PTX module: expected a .version directive first");
  EXPECT_EQ(refusal(std::string(head) + ".visible .entry k() {\nret;\n"),
            "k.ptx:6: the body of k does not end: expected a }");
  EXPECT_EQ(refusal(std::string(head) + "bar.sync 0;\n"),
            "k.ptx:4: expected a function or a variable of the module, not 'bar.sync'");
  EXPECT_EQ(refusal(std::string(head) + ".entry k() {\nbar.sync 0\n}\n"),
            "k.ptx:6: expected a semicolon after 'bar.sync 0'");
  EXPECT_EQ(refusal(" // nothing\n"), "k.ptx is empty: expected a PTX module");
  EXPECT_EQ(refusal(".version 9.9\n"), "k.ptx:1: PTX of version 9.9 is not supported: expected at most 9.5");
  for (const std::string line : {".version", ".version 8", ".version 8.x", ".version -8.5"})
    EXPECT_EQ(refusal(line + "\n"),
              "k.ptx:1: '" + line + "' names no version: expected one such as .version 8.5");
  EXPECT_EQ(refusal(".version 9.5\n.target sm_120f, debug\n"), "none");
  for (const std::string one : {"sm_901", "sm_90b", "sm_", "gfx942", ""})
    EXPECT_THAT(refusal(".version 8.5\n.target " + one + "\n"),
                HasSubstr("k.ptx:2: '" + one + "' is no target that is known: expected one of sm_20, "));
  EXPECT_EQ(refusal(".version 8.5\n.target sm_90\n.address_size 32\n"),
            "k.ptx:3: '.address_size 32' is not supported: expected .address_size 64");
}
TEST(ptx_module, a_module_that_is_cut_off_anywhere_is_refused_in_a_sentence) {
  const std::string rest =
      ".file 1 \"/home/me\" \"a.cu\"\n.extern .shared .align 4 .b8 s[];\n.global .align 4 .u32 t[2] = {1, "
      "2};\n"
      ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.param .b32 r) f(.param .b32 a) {\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\n"
      "st.param.b32 [r], %r1;\nret;\n}\n"
      ".visible .entry k(.param .u64 .ptr .align 4 p, .param .align 8 .b8 q[16]) .reqntid 64, 1, 1 {\n"
      ".loc 1 5 0\n.reg .pred %p<2>;\n/* asm */ { .reg .b32 x; L: @!%p1 bra L; }\n"
      "L: .branchtargets A, B;\nA: B: brx.idx %r1, L;\n"
      "{ .param .b32 x; call.uni (x), f, (x); }\nld.shared.v2.u32 {%r1, %r2}, [s+4]; // end\nret;\n}\n"
      ".section .debug_str {\n.b8 104, 0\n}\n";
  const std::string all = head + rest;
  std::size_t refused = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    std::string said;
    EXPECT_NO_THROW(said = refusal(all.substr(0, n))) << all.substr(0, n);
    refused += said == "none" ? 0 : 1;
  }
  EXPECT_EQ(refusal(all), "none");
  EXPECT_GT(refused, all.size() - std::string(head).size() - 120) << "complete are a few";
}

std::string launch_refusal(const std::string& json) {
  const module_text m =
      module_of(".visible .entry _Z3sumPfij(.param .u64 a, .param .u32 n, .param .f32 s) { ret; }");
  try {
    return driver_of(json, "l.json", std::span(&m, 1));
  } catch (const bad_request& e) {
    return e.what();
  }
}
TEST(ptx_launch, finds_a_kernel_by_its_name_in_the_source) {
  const std::string driver = launch_refusal(
      R"({"kernel": "sum", "grid": [2, 3], "block": 64, "arguments": [{"array": "f32", "count": 8}, 5, 0.5]})");
  EXPECT_THAT(driver, HasSubstr("cudaLaunchKernelEx(&ap_how, _Z3sumPfij, ap_a0, 5ul, (0.5 * 1.0));"));
  EXPECT_THAT(driver, HasSubstr("gridDim = dim3(2, 3), ap_how.blockDim = dim3(64);"));
}
TEST(ptx_launch, makes_a_struct_of_its_members) {
  const module_text m = module_of(".visible .entry k(.param .align 8 .b8 a[16]) { ret; }");
  const auto driver = [&](const std::string& members) {
    return driver_of(
        R"({"kernel": "k", "grid": 1, "block": 1, "arguments": [{"struct": [)" + members + "]}]}", "l.json",
        std::span(&m, 1));
  };
  const std::string word = R"({"scalar": "i32", "value": 5})", array = R"({"array": "f32", "count": 8})";
  EXPECT_THAT(
      driver(word + ", " + array),
      HasSubstr("put_member(ap_all.data(), ap_at, static_cast<int>(5ul)); ::antiphase::driver::put_member("
                "ap_all.data(), ap_at, static_cast<const void*>(ap_a0.data())); return ap_all;"));
  EXPECT_THROW(driver(array + ", " + array + ", " + word), bad_request);
}
TEST(ptx_launch, an_address_is_that_of_an_array_before_or_after) {
  EXPECT_THAT(launch_refusal(R"({"kernel": "sum", "grid": 1, "block": 1, "arguments": [)"
                             R"({"address": 1, "offset": 8}, {"array": "f32", "count": 8}, 1]})"),
              HasSubstr("argument 1 is an array: expected a scalar"));
  const module_text m = module_of(".visible .entry k(.param .u64 a, .param .u64 b) { ret; }");
  EXPECT_THAT(driver_of(R"({"kernel": "k", "grid": 1, "block": 1, "arguments": [)"
                        R"({"address": 1, "offset": -8}, {"array": "f32", "count": 8}]})",
                        "l.json", std::span(&m, 1)),
              HasSubstr("k, (reinterpret_cast<unsigned long>(ap_a0.data()) + "
                        "static_cast<long>(18446744073709551608ul)), ap_a0);"));
}
TEST(ptx_launch, says_in_one_sentence_what_is_wrong) {
  const auto with = [](const std::string& arguments, const std::string& more = "") {
    return launch_refusal(R"({"kernel": "sum", "grid": 1, "block": 64, "arguments": [)" + arguments + "]" +
                          more + "}");
  };
  const std::string array = R"({"array": "f32", "count": 8})";
  EXPECT_EQ(launch_refusal("{\n\"kernel\": sum}"),
            "l.json: line 2 is not JSON: expected an object with kernel, grid, block and arguments");
  EXPECT_EQ(
      launch_refusal("[1]"),
      "l.json: the launch is [1]: expected an object with kernel, grid, block, cluster, shared, arguments");
  EXPECT_EQ(launch_refusal(R"({"kernel": "add", "grid": 1, "block": 1})"),
            "l.json: there is no kernel 'add': expected one of _Z3sumPfij");
  EXPECT_EQ(launch_refusal(R"({"kernel": "sum", "block": 1, "arguments": [null, 1, 1]})"),
            "l.json: \"grid\" is missing: expected 1 to 3 numbers");
  EXPECT_EQ(with(array), "l.json: \"arguments\" has 1: expected 3, as _Z3sumPfij has parameters");
  EXPECT_EQ(with(array + ", 1, 1", ", \"shard\": 1"),
            "l.json: the launch has 'shard': expected kernel, grid, block, cluster, shared, arguments");
  EXPECT_EQ(with(array + ", 1.5, 1"),
            "l.json: argument 1 is 1.5, and the kernel's parameter is .u32: expected a whole "
            "number, or {\"scalar\": \"f32\", \"value\": 1.5}");
  EXPECT_EQ(with(array + ", " + array + ", 1"),
            "l.json: argument 1 is an array: expected a scalar, as the kernel's parameter is .u32");
  EXPECT_EQ(with(R"({"array": "f31", "count": 8}, 1, 1)"),
            "l.json: \"array\" of argument 0 is \"f31\": expected one of f16, bf16, f32, f64, i8, i16, i32, "
            "i64, u8, u16, "
            "u32, u64");
  EXPECT_EQ(with(R"({"array": "f32"}, 1, 1)"),
            "l.json: \"count\" of argument 0 is null: expected a whole number from 1 on");
  EXPECT_EQ(with(R"({"array": "f32", "count": 2, "data": [1]}, 1, 1)"),
            "l.json: \"data\" of argument 0 has 1 values: expected 2");
  EXPECT_EQ(
      with(R"({"array": "f32", "count": 2, "data": "one"}, 1, 1)"),
      "l.json: \"data\" of argument 0 is \"one\": expected zeros, iota, random, none, or a list of 2 values");
  EXPECT_EQ(with(R"({"scalar": "f32", "value": 1}, 1, 1)"),
            "l.json: argument 0 is f32 of 4 bytes: expected 8, as the kernel's parameter .u64 has");
  EXPECT_EQ(with(array + ", 5000000000, 1"),
            "l.json: argument 1 has 5000000000: expected a number of 32 bits");
  EXPECT_EQ(with(R"({"array": "i8", "count": 1, "data": [-129]}, 1, 1)"),
            "l.json: \"data\" of argument 0 has -129: expected a number of 8 bits");
  EXPECT_EQ(
      with(R"({"array": "f32", "count": 2000000000}, 1, 1)"),
      "l.json: \"count\" of argument 0 is 2000000000: expected at most 1073741824, as the simulated device "
      "allocates up to 4 GiB");
  EXPECT_EQ(with(R"({"array": "f32", "count": 1, "output": "none/there"}, 1, 1)"),
            "l.json: \"output\" of argument 0 is \"none/there\": expected a file in a folder that exists");
  EXPECT_EQ(with(array + R"(, {"bytes": [1, 2]}, 1)"),
            "l.json: \"bytes\" of argument 1 has 2 values: expected 4");
  EXPECT_EQ(with(array + ", null, 1"),
            "l.json: argument 1 is null: expected a scalar, as the kernel's parameter is .u32");
  EXPECT_EQ(with(array + R"(, {"address": 0}, 1)"),
            "l.json: argument 1 is an address: expected a scalar, as the kernel's parameter is .u32");
  EXPECT_EQ(
      with(R"({"address": 2}, 1, 1)"),
      "l.json: \"address\" of argument 0 is 2: expected the number of an argument, from 0 on, that is an "
      "array");
  EXPECT_EQ(with(array + ", 1, 1e400"), "l.json: a number is larger than any number of 64 bits");
  EXPECT_EQ(with(R"({"array": "f32", "count": 1, "tolerance": "small"}, 1, 1)"),
            "l.json: \"tolerance\" of argument 0 is \"small\": expected a number from 0 on");
  EXPECT_EQ(with(R"({"array": "f32", "count": 1, "data": "random", "seed": 4294967296}, 1, 1)"),
            "l.json: \"seed\" of argument 0 is 4294967296: expected a whole number from 0 to 4294967295");
  EXPECT_EQ(with(array + ", 1, 1", R"(, "grid": 0)"),
            "l.json: \"grid\" has 0: expected a whole number from 1 on");
  EXPECT_EQ(with(R"("x", 1, 1)"),
            "l.json: argument 0 is \"x\": expected a number, null, or an object with \"array\", \"address\", "
            "\"scalar\" or \"bytes\"");
}

}  // namespace
