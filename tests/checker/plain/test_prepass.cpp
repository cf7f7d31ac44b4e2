// SPDX-License-Identifier: Apache-2.0
// The pre-pass of plain CUDA: its rewriting of launches and variables; everything else keeps its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <antiphase/plain_cuda.hpp>
#include <fstream>
#include <sstream>

#include "src/checker/plain/prepass.hpp"
#include "src/checker/plain/tokens.hpp"

namespace antiphase::test {
namespace {

using plain::translation;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

translation translated(const std::string& source) {
  int numbers = 0;
  return plain::translate(source, numbers);
}
std::string text(const std::string& source) { return translated(source).text; }
std::string squeezed(const std::string& s) {
  std::string out;
  for (const char c : s)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  return out;
}

TEST(prepass, launches_become_calls) {
  EXPECT_EQ(text("void f() { k<<<g, b>>>(x, 1); }"),
            "void f() { ::antiphase::plain::go(k, \"k\", ::antiphase::plain::config(g, b), "
            "::antiphase::plain::place::current())(x, 1); }");
  EXPECT_THAT(text("void f() { a::b::k<<<1, 2, 3, s>>>(); }"),
              HasSubstr("go(a::b::k, \"k\", ::antiphase::plain::config(1, 2, 3, s)"));
  EXPECT_THAT(text("void f() { k<float, 4><<<1, 2>>>(); }"), HasSubstr("go(k<float, 4>, \"k\""));
}

TEST(prepass, launches_may_have_blanks) {
  EXPECT_THAT(squeezed(text("void f() { k << <g, b >> > (x); k<int> <<< 1, 2>> >(x); }")),
              testing::AllOf(HasSubstr("go(k , \"k\", ::antiphase::plain::config(g, b "),
                             HasSubstr("go(k<int> , \"k\", ")));
  for (const char* same : {"friend s& operator<< <T>(s&, const T&);", "friend s& operator<<<>(s&, const T&);",
                           "int x = a << b;"})
    EXPECT_EQ(text(same), same);
}

TEST(prepass, configurations_may_hold_templates_and_shifts) {
  EXPECT_THAT(text("void f() { k<<<dim3(n >> 2, m << 1), size<pair<int, int>>(), v[a > b]>>>(p); }"),
              HasSubstr("config(dim3(n >> 2, m << 1), size<pair<int, int>>(), v[a > b]), "
                        "::antiphase::plain::place::current())(p)"));
  EXPECT_THAT(text("void f() { k<vec<int>><<<1, 2>>>(p); }"), HasSubstr("go(k<vec<int>>, \"k\""));
}

TEST(prepass, templates_are_called_with_what_they_get) {
  const std::string out = text(
      "template <class T> __global__ void k(T* p) {}\nvoid f() { k<<<1, 2>>>(p); k<int><<<1, 2>>>(__null); "
      "}");
  EXPECT_THAT(out, HasSubstr("go_any([](auto... ap_a) { k(ap_a...); }, \"k\""));
  EXPECT_THAT(out, HasSubstr("{ k<int>(ap_a...); }"));
  EXPECT_THAT(out, HasSubstr("(nullptr)"));
}

TEST(prepass, default_arguments_and_overloads_too) {
  EXPECT_THAT(text("__global__ void k(int a, int b = 2) {} void f() { k<<<1, 2>>>(1); }"),
              HasSubstr("go_any("));
  EXPECT_THAT(text("__global__ void k(int) {} __global__ void k(float) {} void f() { k<<<1, 2>>>(1); }"),
              HasSubstr("go_any("));
  EXPECT_THAT(text("__global__ void __launch_bounds__(256, 2) k(int); __global__ void k(int) {} void f() { "
                   "k<<<1, 2>>>(1); }"),
              HasSubstr("go(k, "));
}

TEST(prepass, shifts_and_comparisons_are_left_alone) {
  for (const char* same : {"int x = a << b >> c;", "std::cout << a << \"<<<\" << b;",
                           "bool b = x < y && y > z;", "auto t = f<g<h<int>>>(1);"})
    EXPECT_EQ(text(same), same);
}

TEST(prepass, strings_and_characters_stay) {
  for (const char* same :
       {"const char* s = \"__shared__ int x; k<<<1, 2>>>()\";",
        "char c = '\\''; const char* s = \"\\\"__global__\";",
        "auto s = R\"x(__device__ \" )\" k<<<1,1>>>())x\"; int y;", "auto n = 1'000'000 + 0x1p-3;"})
    EXPECT_EQ(text(same), same);
}

TEST(prepass, shared_variables_are_references) {
  EXPECT_EQ(squeezed(text("void f() { __shared__ float a[8][9], b; }")),
            "void f() { auto& a = ::antiphase::plain::shared<float [(8)][(9)], 1, 0>(\"a\"); auto& b = "
            "::antiphase::plain::shared<float , "
            "1, 1>(\"b\"); }");
  EXPECT_THAT(text("void f() { __shared__ __align__(16) std::array<int, 4> a[N]; }"),
              HasSubstr("shared<std :: array < int , 4 > [(N)], 16, 0>"));
  EXPECT_THAT(text("void f() { static volatile __shared__ int x; }"),
              HasSubstr("shared<volatile int , 1, 0>"));
}

TEST(prepass, declarators_of_shared_variables_are_their_own) {
  EXPECT_EQ(squeezed(text("void f() { __shared__ float *a, b, **c[2], d[n << 1][3 > 2 ? 4 : 5]; }")),
            "void f() { auto& a = ::antiphase::plain::shared<float * , 1, 0>(\"a\"); auto& b = "
            "::antiphase::plain::shared<float , 1, "
            "1>(\"b\"); auto& c = ::antiphase::plain::shared<float * * [(2)], 1, 2>(\"c\"); auto& d = "
            "::antiphase::plain::shared<float [(n << 1)][(3 > 2 ? 4 : 5)], 1, 3>(\"d\"); }");
}

TEST(prepass, dynamic_shared_memory_is_a_pointer) {
  EXPECT_EQ(text("void f() { extern __shared__ float s[]; s[0] = 1; }"),
            "void f() { auto* const s = ::antiphase::plain::dynamic_shared<float>(); s[0] = 1; }");
  const std::string out =
      text("extern __shared__ __align__(16) char s[];\nvoid f() { use(&s[4], o.s, o->s); }");
  EXPECT_THAT(out, HasSubstr("use(&(::antiphase::plain::dynamic_shared<char>())[4], o.s, o->s)"));
}

TEST(prepass, variables_of_the_device_go_to_their_sections) {
  EXPECT_THAT(text("__device__ int n = 3;"), HasSubstr("__attribute__((section(\"ap_device\"))) int n = 3;"));
  EXPECT_THAT(text("static __device__ volatile unsigned n[4];"), HasSubstr("ap_device"));
  EXPECT_THAT(text("__constant__ float w[5];"), HasSubstr("ap_constant"));
  EXPECT_THAT(text("__device__ __managed__ int n;"), HasSubstr("ap_managed"));
  EXPECT_EQ(squeezed(text("__device__ int f(int n) { return n; }")), "int f(int n) { return n; }");
  EXPECT_EQ(squeezed(text("__host__ __device__ inline T operator()(T a) const;")),
            "inline T operator()(T a) const;");
  EXPECT_THAT(text("__device__ std::pair<int, int> f(int n);"), Not(HasSubstr("section")));
  EXPECT_THAT(text("__device__ const float c = 2;"), Not(HasSubstr("section")));
  EXPECT_THAT(text("auto f = [=] __device__(int i) { return i; };"), Not(HasSubstr("section")));
}

TEST(prepass, lines_stay) {
  const std::string source =
      "# 1 \"a.cu\"\n__global__\nvoid\nk(int);\nvoid f() {\n  k<<<1,\n      2>>>\n      (3);\n  __shared__ "
      "int\n    a[2],\n    b;\n  int "
      "here;\n}\n";
  const std::string out = text(source);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n'));
  const auto line_of = [](const std::string& s, const char* what) {
    return std::count(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.find(what)), '\n');
  };
  EXPECT_EQ(line_of(out, "int here"), line_of(source, "int here"));
  EXPECT_EQ(line_of(out, "(3)"), line_of(source, "(3)"));
}

TEST(prepass, headers_of_the_system_are_not_looked_at) {
  const std::string source =
      "# 1 \"/usr/include/x.h\" 1 3 4\nvoid f() { __attribute__((__noinline__)) asm(\"nop\"); }\n# 2 "
      "\"a.cu\" 2\n__global__ void k();\n";
  const translation t = translated(source);
  EXPECT_THAT(t.text, HasSubstr("asm(\"nop\")"));
  EXPECT_THAT(t.text, Not(HasSubstr("__global__")));
  EXPECT_TRUE(t.refused.empty());
}

TEST(prepass, what_is_not_supported_is_named_with_its_place) {
  const translation t = translated(
      "# 7 \"my.cu\"\nint x;\ntexture<int> t;\nvoid g() { v = __shfl_down(v, 1); o.texture = 1; "
      "}\n__global__ void k() { k<<<1, 1>>>(); "
      "}\n");
  ASSERT_EQ(t.refused.size(), 3u);
  EXPECT_EQ(to_text(t.refused[0]).substr(0, 40), "my.cu:8: texture is not supported here: ");
  EXPECT_THAT(to_text(t.refused[1]),
              HasSubstr("my.cu:9: __shfl_down is not supported here: use the form with _sync"));
  EXPECT_EQ(to_text(t.refused[2]),
            "my.cu:10: a launch by a kernel is not supported here: use launches by the host, as kernels "
            "cannot launch kernels here");
}

TEST(prepass, launches_that_overlap_are_not_followed) {
  constexpr const char* rest =
      " is not supported here: use launches that follow each other: those that overlap are not followed";
  for (const char* name :
       {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion",
        "inline PTX 'griddepcontrol.wait'", "inline PTX 'griddepcontrol.launch_dependents'"}) {
    const std::string what = name;
    const std::size_t quote = what.find('\'') + 1;
    const translation t =
        translated("# 1 \"my.cu\"\n__global__ void k() {\n" +
                   (quote > 0 ? "asm volatile(\"" + what.substr(quote, what.size() - quote - 1) + ";\");"
                              : what + "();") +
                   "\n}\n");
    ASSERT_EQ(t.refused.size(), 1u) << name;
    EXPECT_EQ(to_text(t.refused[0]), "my.cu:2: " + what + rest);
  }
  EXPECT_THAT(translated("auto id = cudaLaunchAttributeProgrammaticStreamSerialization;").refused,
              testing::SizeIs(1));
}

// Rewritten text of an asm statement within a function, on one line and without the braces around it.
std::string of_asm(const std::string& statement) {
  const std::string out = text("# 1 \"my.cu\"\nvoid f() { " + statement + " }\n");
  const std::size_t from = out.find("{ { ") + 4;
  return out.substr(from, out.find("}\n# 1 ", from) - from);
}
std::string refusal_of_asm(const std::string& statement) {
  const translation t = translated("# 1 \"my.cu\"\nvoid f() {\n" + statement + "\n}\n");
  return t.refused.size() == 1 ? to_text(t.refused[0]) : std::to_string(t.refused.size()) + " refusals";
}
const std::string to_ptx = "::antiphase::plain::ptx::";

TEST(inline_ptx, becomes_calls) {
  EXPECT_EQ(of_asm(R"(asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));)"),
            "auto&& ap_o0 = (lane); { " + to_ptx + "put(ap_o0, " + to_ptx + "get<unsigned>(" + to_ptx +
                "special_laneid())); } ");
  EXPECT_EQ(of_asm(R"(asm("popc.b32 %[to], %[from];" : [to] "=r"(x) : [from] "r"(y + 1));)"),
            "auto&& ap_o0 = (x); const auto ap_o1 = (y + 1); { " + to_ptx + "put(ap_o0, " + to_ptx +
                "popc<unsigned>(" + to_ptx + "get<unsigned>(ap_o1))); } ");
  EXPECT_EQ(of_asm(R"(asm volatile("" ::: "memory");)"), "");
  EXPECT_THAT(of_asm(R"(asm("bar.sync 1, 64;");)"),
              HasSubstr("machine::barrier(" + to_ptx + "get<int>((1)), " + to_ptx +
                        "get<int>((64)), {true, true}, "));
  EXPECT_THAT(of_asm(R"(asm("barrier.arrive 2, 64;");)"),
              HasSubstr("machine::barrier(" + to_ptx + "get<int>((2)), " + to_ptx +
                        "get<int>((64)), {false, false}, "));
  EXPECT_THAT(of_asm(R"(__asm__ __volatile__("st.global.u8 [%0+-4], 0x1F;" :: "l"(p));)"),
              AllOf(HasSubstr("get<unsigned long>(ap_o0) + (-4)"),
                    HasSubstr("{" + to_ptx + "get<unsigned char>((0x1F))}")));
}
TEST(inline_ptx, has_registers_guards_and_labels_of_its_own) {
  const std::string out = of_asm(
      "asm(\"{ .reg .pred p, q; L: // wait; here\\n setp.ne.s32 p, %0, 0; @!p bra L; { .reg .b64 p; mov.b64 "
      "p, 1; } @p membar.gl; }\" :: "
      "\"r\"(x));");
  EXPECT_TRUE(out.starts_with(
      "__label__ ap_l_L; const auto ap_o0 = (x); bool ap_r0; bool ap_r1; unsigned long ap_r2; ap_l_L:; "))
      << out;
  EXPECT_THAT(out, HasSubstr("if (!" + to_ptx + "get<bool>(ap_r0)) goto ap_l_L; "));
  EXPECT_THAT(out, HasSubstr(to_ptx + "put(ap_r2, "));  // the inner p
  EXPECT_THAT(out, HasSubstr("if (" + to_ptx + "get<bool>(ap_r0)) { ::antiphase::plain::fence("));
}
TEST(inline_ptx, takes_operands_that_macros_of_the_headers_bring) {
  const std::string source =
      "# 1 \"a.cu\"\nvoid f() { asm(\"membar.gl;\" :: \"r\"(1 +\n# 1 \"/x.h\" 1 3 4\n(macro())\n# 1 \"a.cu\" "
      "2\n.x)); }\nint "
      "here;\ntexture<int> t;\n";
  const translation t = translated(source);
  EXPECT_THAT(squeezed(t.text), HasSubstr("const auto ap_o0 = (1 + (macro()) .x); "));
  ASSERT_EQ(t.refused.size(), 1u);
  EXPECT_EQ(t.refused[0].line, 3);
  EXPECT_THAT(t.text, HasSubstr("\n# 1 \"a.cu\"\n }\nint here;"));  // later lines keep their numbers
}
TEST(inline_ptx, what_the_table_lacks_is_named_with_its_line) {
  constexpr const char* rest =
      " is not supported here: use an instruction that antiphase check --dialect lists, or the intrinsic "
      "that does the same";
  EXPECT_EQ(refusal_of_asm("asm(\"membar.gl;\\n\"\n\"tcgen05.fence::before_thread_sync;\");"),
            std::string("my.cu:3: inline PTX 'tcgen05.fence::before_thread_sync'") + rest);
  for (const char* instruction :
       {"ld.global.f16 %0, [%1];", "add.sat.s32 %0, %0, %0;", "mov.b32 %0, %%pm0;",
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%1, {%0}], [%0];",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%0}], [%0];",
        "cp.async.bulk.tensor.3d.im2col.global.shared::cta.bulk_group [%1, {%0, %0, %0}], [%0];",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.bf16.bf16 {%0, %0, %0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %0, [%0];",
        "shfl.up.b32 %0, %0, 1, 0;", "mov.u32 %0, %7;", "bra OUT;", "st.shared.v4.f32 [%1], {%0, %0};",
        "rdtsc", "mbarrier.arrive.noComplete.b64 %1, [%1], 1;",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %0, %0, %0}, {%0, %0, %0, %0}, {%0, %0}, {%0, "
        "%0, %0, %0};",
        "ld.param.u32 %0, [%1];"})
    EXPECT_THAT(refusal_of_asm("asm(\"" + std::string(instruction) + "\" : \"=r\"(x) : \"l\"(y));"),
                testing::StartsWith("my.cu:2: inline PTX '"))
        << instruction;
  EXPECT_THAT(translated("# 1 \"my.cu\"\nint f() asm(\"g\");\n").refused, testing::SizeIs(1));
}

TEST(prepass, a_cast_of_a_kernel_keeps_its_type) {
  EXPECT_THAT(squeezed(text("void f() { cudaLaunchCooperativeKernel((void*)k, g, b, a); }")),
              HasSubstr("cudaLaunchCooperativeKernel( k, g, b, a)"));
  EXPECT_THAT(squeezed(text("void f() { cudaFuncSetAttribute(reinterpret_cast<const void*>(k), x, 1); }")),
              HasSubstr("cudaFuncSetAttribute( (k), x, 1)"));
}

TEST(dialect, stands_in_the_docs) {
  std::ifstream in(PLAIN_CUDA_PAGE);
  std::ostringstream page;
  page << in.rdbuf();
  EXPECT_TRUE(page.str().find(dialect_table()) != std::string::npos)
      << "docs/plain_cuda.md should have this table:\n"
      << dialect_table();
}

TEST(dialect, every_entry_says_something) {
  for (const dialect_group& g : plain_dialect())
    for (const dialect_entry& e : g.entries) {
      EXPECT_FALSE(e.names.empty()) << g.name;
      EXPECT_TRUE(e.how == supported::yes || !e.about.empty()) << e.names;
      EXPECT_THAT(dialect_text(), HasSubstr(std::string(e.names)));
    }
}

}  // namespace
}  // namespace antiphase::test
