// SPDX-License-Identifier: Apache-2.0
// The pre-pass of plain CUDA: what becomes of launches and variables, and that everything else stays where it is.
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
            "void f() { ::antiphase::plain::go(k, \"k\", ::antiphase::plain::config(g, b), ::antiphase::plain::place::current())(x, 1); }");
  EXPECT_THAT(text("void f() { a::b::k<<<1, 2, 3, s>>>(); }"), HasSubstr("go(a::b::k, \"k\", ::antiphase::plain::config(1, 2, 3, s)"));
  EXPECT_THAT(text("void f() { k<float, 4><<<1, 2>>>(); }"), HasSubstr("go(k<float, 4>, \"k\""));
}

TEST(prepass, configurations_may_hold_templates_and_shifts) {
  EXPECT_THAT(text("void f() { k<<<dim3(n >> 2, m << 1), size<pair<int, int>>(), v[a > b]>>>(p); }"),
              HasSubstr("config(dim3(n >> 2, m << 1), size<pair<int, int>>(), v[a > b]), ::antiphase::plain::place::current())(p)"));
  EXPECT_THAT(text("void f() { k<vec<int>><<<1, 2>>>(p); }"), HasSubstr("go(k<vec<int>>, \"k\""));
}

TEST(prepass, templates_are_called_with_what_they_get) {
  const std::string out = text("template <class T> __global__ void k(T* p) {}\nvoid f() { k<<<1, 2>>>(p); k<int><<<1, 2>>>(__null); }");
  EXPECT_THAT(out, HasSubstr("go_any([](auto... ap_a) { k(ap_a...); }, \"k\""));
  EXPECT_THAT(out, HasSubstr("{ k<int>(ap_a...); }"));
  EXPECT_THAT(out, HasSubstr("(nullptr)"));
}

TEST(prepass, default_arguments_and_overloads_too) {
  EXPECT_THAT(text("__global__ void k(int a, int b = 2) {} void f() { k<<<1, 2>>>(1); }"), HasSubstr("go_any("));
  EXPECT_THAT(text("__global__ void k(int) {} __global__ void k(float) {} void f() { k<<<1, 2>>>(1); }"), HasSubstr("go_any("));
  EXPECT_THAT(text("__global__ void __launch_bounds__(256, 2) k(int); __global__ void k(int) {} void f() { k<<<1, 2>>>(1); }"),
              HasSubstr("go(k, "));
}

TEST(prepass, shifts_and_comparisons_are_left_alone) {
  for (const char* same :
       {"int x = a << b >> c;", "std::cout << a << \"<<<\" << b;", "bool b = x < y && y > z;", "auto t = f<g<h<int>>>(1);"})
    EXPECT_EQ(text(same), same);
}

TEST(prepass, strings_and_characters_stay) {
  for (const char* same : {"const char* s = \"__shared__ int x; k<<<1, 2>>>()\";", "char c = '\\''; const char* s = \"\\\"__global__\";",
                           "auto s = R\"x(__device__ \" )\" k<<<1,1>>>())x\"; int y;", "auto n = 1'000'000 + 0x1p-3;"})
    EXPECT_EQ(text(same), same);
}

TEST(prepass, shared_variables_are_references) {
  EXPECT_EQ(squeezed(text("void f() { __shared__ float a[8][9], b; }")),
            "void f() { auto& a = ::antiphase::plain::shared<float [ 8 ] [ 9 ], 1, 0>(\"a\"); auto& b = ::antiphase::plain::shared<float , "
            "1, 1>(\"b\"); }");
  EXPECT_THAT(text("void f() { __shared__ __align__(16) std::array<int, 4> a[N]; }"),
              HasSubstr("shared<std :: array < int , 4 > [ N ], 16, 0>"));
  EXPECT_THAT(text("void f() { static volatile __shared__ int x; }"), HasSubstr("shared<volatile int , 1, 0>"));
}

TEST(prepass, dynamic_shared_memory_is_a_pointer) {
  EXPECT_EQ(text("void f() { extern __shared__ float s[]; s[0] = 1; }"),
            "void f() { auto* const s = ::antiphase::plain::dynamic_shared<float>(); s[0] = 1; }");
  const std::string out = text("extern __shared__ __align__(16) char s[];\nvoid f() { use(&s[4], o.s, o->s); }");
  EXPECT_THAT(out, HasSubstr("use(&(::antiphase::plain::dynamic_shared<char>())[4], o.s, o->s)"));
}

TEST(prepass, variables_of_the_device_go_to_their_sections) {
  EXPECT_THAT(text("__device__ int n = 3;"), HasSubstr("__attribute__((section(\"ap_device\"))) int n = 3;"));
  EXPECT_THAT(text("static __device__ volatile unsigned n[4];"), HasSubstr("ap_device"));
  EXPECT_THAT(text("__constant__ float w[5];"), HasSubstr("ap_constant"));
  EXPECT_THAT(text("__device__ __managed__ int n;"), HasSubstr("ap_managed"));
  EXPECT_EQ(squeezed(text("__device__ int f(int n) { return n; }")), "int f(int n) { return n; }");
  EXPECT_EQ(squeezed(text("__host__ __device__ inline T operator()(T a) const;")), "inline T operator()(T a) const;");
  EXPECT_THAT(text("__device__ std::pair<int, int> f(int n);"), Not(HasSubstr("section")));
  EXPECT_THAT(text("__device__ const float c = 2;"), Not(HasSubstr("section")));
  EXPECT_THAT(text("auto f = [=] __device__(int i) { return i; };"), Not(HasSubstr("section")));
}

TEST(prepass, lines_stay) {
  const std::string source =
      "# 1 \"a.cu\"\n__global__\nvoid\nk(int);\nvoid f() {\n  k<<<1,\n      2>>>\n      (3);\n  __shared__ int\n    a[2],\n    b;\n  int "
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
      "# 1 \"/usr/include/x.h\" 1 3 4\nvoid f() { __attribute__((__noinline__)) asm(\"nop\"); }\n# 2 \"a.cu\" 2\n__global__ void k();\n";
  const translation t = translated(source);
  EXPECT_THAT(t.text, HasSubstr("asm(\"nop\")"));
  EXPECT_THAT(t.text, Not(HasSubstr("__global__")));
  EXPECT_TRUE(t.refused.empty());
}

TEST(prepass, what_is_not_supported_is_named_with_its_place) {
  const translation t =
      translated("# 7 \"my.cu\"\nint x;\nvoid f() { asm volatile(\"bar.sync 0;\"); }\nvoid g() { v = __shfl_down(v, 1); o.asm_ = 1; }\n");
  ASSERT_EQ(t.refused.size(), 2u);
  EXPECT_EQ(to_text(t.refused[0]).substr(0, 40), "my.cu:8: inline PTX (asm) is not support");
  EXPECT_THAT(to_text(t.refused[1]), HasSubstr("my.cu:9: __shfl_down is not supported here: use the form with _sync"));
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
  EXPECT_TRUE(page.str().find(dialect_table()) != std::string::npos) << "docs/plain_cuda.md should have this table:\n" << dialect_table();
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
