// SPDX-License-Identifier: Apache-2.0
// The pre-pass of plain CUDA: what launches and variables become, what stays, and what is refused. What the
// generated code does is shown by programs/*.cu and test_tool.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <antiphase/plain_cuda.hpp>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <regex>
#include <sstream>
#include <utility>

#include "checker/plain/translate/compile/compile.hpp"
#include "checker/plain/translate/compile/missing_headers.hpp"
#include "checker/plain/translate/passes/prepass.hpp"
#include "checker/plain/translate/tokens.hpp"

namespace antiphase::test {
namespace {

using plain::translation;
using testing::HasSubstr;

translation translated(const std::string& source) {
  int numbers = 0;
  return plain::translate(source, numbers);
}
std::string text(const std::string& source) { return translated(source).text; }
std::string in_function(const std::string& statement) { return "void f() { " + statement + " }"; }

std::string without_blanks(const std::string& s) { return std::regex_replace(s, std::regex("\\s"), ""); }
// Whether the translation has these pieces, each after the one before, whatever stands between them. Blanks
// do not count.
testing::AssertionResult has_in_order(const std::string& source, std::initializer_list<std::string> pieces) {
  const std::string out = without_blanks(text(source));
  std::size_t at = 0;
  for (const std::string& piece : pieces) {
    const std::size_t found = out.find(piece, at);
    if (found == std::string::npos)
      return testing::AssertionFailure() << piece << " is not at its place in " << out;
    at = found + piece.size();
  }
  return testing::AssertionSuccess();
}
// The line that a compiler reports for a word.
int line_of(const std::string& preprocessed, std::string_view word) {
  for (const plain::token& t : plain::tokens_of(preprocessed).tokens)
    if (t == word) return t.line;
  ADD_FAILURE() << word << " is not in " << preprocessed;
  return 0;
}

TEST(prepass, launches_become_calls) {
  using row = std::array<std::string, 4>;
  for (const auto& [launch, kernel, configuration, arguments] :
       {row{"k<<<g, b>>>(x, 1)", "k", "g,b", "x,1"},
        row{"a::b::k<<<1, 2, 3, s>>>()", "a::b::k", "1,2,3,s", ""},
        row{"k<float, 4><<<1, 2>>>(p)", "k<float,4>", "1,2", "p"},
        row{"k<vec<int>><<<1, 2>>>(p)", "k<vec<int>>", "1,2", "p"},
        row{"k << <g, b >> > (x)", "k", "g,b", "x"}, row{"k<int> <<< 1, 2>> >(x)", "k<int>", "1,2", "x"},
        row{"k<<<dim3(n >> 2, m << 1), size<pair<int, int>>(), v[a > b]>>>(p)", "k",
            "dim3(n>>2,m<<1),size<pair<int,int>>(),v[a>b]", "p"}})
    EXPECT_TRUE(has_in_order(in_function(launch + ";"),
                             {"(" + kernel + ",\"k\",", "(" + configuration + ")", ")(" + arguments + ");"}));
}

TEST(prepass, kernels_of_several_forms_are_called_by_a_lambda) {
  const std::string launch = in_function("k<<<1, 2>>>(__null);");
  for (const char* kernels :
       {"template <class T> __global__ void k(T* p) {}", "__global__ void k(int* a, int b = 2) {}",
        "__global__ void k(int*) {} __global__ void k(float*) {}",
        "template <class T> __global__ void k(T* p); template <> __global__ void k<int>(int* p) {}"})
    EXPECT_TRUE(has_in_order(kernels + launch, {"(*ap_entry_k(", "(auto&...", "{k(", "decltype(ap_entry_k(",
                                                "{returnk;", "\"k\",", "(1,2)", ")(nullptr);"}));
  EXPECT_TRUE(
      has_in_order("__global__ void __launch_bounds__(256, 2) k(int*); __global__ void k(int*) {}" + launch,
                   {"(k,\"k\",", "(1,2)", ")(__null);"}));
}

TEST(prepass, built_in_variables_make_no_digraphs) {
  EXPECT_TRUE(has_in_order(in_function("int i = n%blockDim.x;"), {"n%", "built_in(blockDim)"}));
  EXPECT_EQ(translated("__global__ void k(int n) { n = n%blockDim.x; }").text.find("%:"), std::string::npos);
}

TEST(prepass, other_code_stays) {
  for (const char* same :
       {"int x = a << b >> c;", "std::cout << a << \"<<<\" << b;", "bool b = x < y && y > z;",
        "auto t = f<g<h<int>>>(1);", "friend s& operator<< <T>(s&, const T&);",
        "friend s& operator<<<>(s&, const T&);", "const char* s = \"__shared__ int x; k<<<1, 2>>>()\";",
        "char c = '\\''; const char* s = \"\\\"__global__\";",
        "auto s = R\"x(__device__ \" )\" k<<<1,1>>>())x\"; int y;", "auto n = 1'000'000 + 0x1p-3;"}) {
    const translation t = translated(same);
    EXPECT_EQ(t.text, same);
    EXPECT_TRUE(t.refused.empty()) << same;
  }
}

TEST(prepass, shared_variables_have_their_types_and_alignments) {
  EXPECT_TRUE(has_in_order(
      in_function("__shared__ float *a, b, **c[2], d[n << 1][3 > 2 ? 4 : 5];"),
      {"a=", "<float*,", "b=", "<float,", "c=", "<float**[(2)],", "d=", "<float[(n<<1)][(3>2?4:5)],"}));
  EXPECT_TRUE(has_in_order(in_function("__shared__ __align__(16) std::array<int, 4> a[N];"),
                           {"a=", "<std::array<int,4>[(N)],16,"}));
  EXPECT_TRUE(has_in_order(in_function("static volatile __shared__ int x;"), {"x=", "<volatileint,"}));
}

TEST(prepass, members_with_the_name_of_shared_memory_stay) {
  EXPECT_TRUE(
      has_in_order("extern __shared__ __align__(16) char s[]; " + in_function("use(&s[4], o.s, o->s);"),
                   {"use(&", "<char>", "[4],o.s,o->s)"}));
}

TEST(prepass, variables_of_the_device_go_to_their_sections_and_all_else_loses_its_words) {
  for (const auto& [variable, section] : {std::pair{"static __device__ volatile unsigned n[4];", "ap_device"},
                                          {"__constant__ float w[5];", "ap_constant"},
                                          {"__device__ __managed__ int n;", "ap_managed"}})
    EXPECT_THAT(text(variable), HasSubstr(section));
  for (const char* other :
       {"__device__ int f(int n) { return n; }", "__host__ __device__ inline T operator()(T a) const;",
        "__device__ std::pair<int, int> f(int n);", "__device__ const float c = 2;",
        "auto f = [=] __device__ { return 1; };"})
    EXPECT_EQ(without_blanks(text(other)),
              without_blanks(std::regex_replace(other, std::regex("__(host|device)__"), "")));
}

TEST(prepass, lines_stay) {
  const std::string source = R"(# 1 "a.cu"
__global__
void
k(int n) {
  if (n) return
      ; int behind_return;
}
__device__
__managed__ int variable;
void f() {
  k<<<1,
      2>>>
      (argument);
  __shared__ int
    a[2],
    b;
  int behind_shared;
  asm("membar.gl;"
      :: "r"(1)
      ); int behind_asm;
}
)";
  const std::string out = text(source);
  for (const char* word : {"behind_return", "variable", "argument", "behind_shared", "behind_asm"})
    EXPECT_EQ(line_of(out, word), line_of(source, word)) << word;
}

TEST(prepass, headers_of_the_system_stay) {
  const std::string header =
      "# 1 \"/usr/include/x.h\" 1 3 4\nvoid f() { __attribute__((__noinline__)) asm(\"nop\"); }\n";
  const translation t = translated(header + "# 2 \"a.cu\" 2\n__global__ void k();\n");
  EXPECT_THAT(t.text, testing::StartsWith(header));
  EXPECT_THAT(t.text, testing::Not(HasSubstr("__global__")));
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
  EXPECT_EQ(
      to_text(t.refused[2]),
      "my.cu:10: a launch by a kernel is not supported here: use a launch by the host after this "
      "kernel, on the same stream, over the largest grid that may be needed: kernels cannot launch kernels "
      "here");
}

TEST(prepass, functions_that_nothing_calls_may_use_what_is_not_supported) {
  constexpr const char* some =
      "# 1 \"my.cu\"\n__device__ float g(texture<float> t) {\n  return tex2Dgather(t, 0);\n}\n";
  const auto refusals = [&](const std::string& rest, bool whole = true) {
    int numbers = 0;
    return plain::translate(some + rest, numbers, {}, whole).refused.size();
  };
  for (const char* unused :
       {"int main() {}", "__global__ void k() { g(t); }\nint main() {}",
        "template <class T> void f(T t) { h(t); g(t); } void h(int) { f(1); } int main() {}"})
    EXPECT_EQ(refusals(unused), 0u) << unused;
  for (const char* used :
       {"int main() { g(0); }", "void k() { g(t); }\nint main() { k(); }", "auto* p = &g; int main() {}",
        "struct s { float f() { return g(t); } }; int main() {}",
        "s& operator+(s& a, int) { g(t); }\nint main() {}"})
    EXPECT_EQ(refusals(used), 2u) << used;
  EXPECT_EQ(refusals(""), 2u);                      // another source may have main
  EXPECT_EQ(refusals("int main() {}", false), 2u);  // and may call it
  int numbers = 0;                                  // a driver takes the place of the kernels' main
  const std::string driven = some + std::string("int main() { g(0); }\n# 1 \"driver.cpp\"\nint main() {}\n");
  EXPECT_THAT(plain::translate(driven, numbers, {"driver.cpp"}).refused, testing::IsEmpty());
  const std::string source = std::string(some) + "int main() {\n  int here;\n}\n";
  EXPECT_EQ(line_of(text(source), "here"), line_of(source, "here"));
}

TEST(prepass, addresses_of_kernels_keep_their_types) {
  constexpr const char* kernels =
      "namespace ns { __global__ void k(int) {} }\ntemplate <class T> __global__ void g(T) {}\n";
  for (const auto& [cast, becomes] :
       {std::pair{"(void*)ns::k", "address_of(ns::k)"}, std::pair{"(const void *)&k", "address_of(&k)"},
        std::pair{"(void*)g<int>", "address_of(g<int>)"},
        std::pair{"reinterpret_cast<const void*>(&g<int>)", "address_of(&g<int>)"},
        std::pair{"(void*)other", "(void*)other"}, std::pair{"(int*)k", "(int*)k"}})
    EXPECT_THAT(text(std::string(kernels) + "void f() { use(" + cast + "); }\n"),
                HasSubstr(std::string(becomes) + ")"))
        << cast;
}

TEST(prepass, kernels_that_launch_kernels_are_refused) {
  const translation t = translated(
      "# 1 \"my.cu\"\n__global__ void k(int);\n__global__ void p() {\n  k<<<1, 1>>>(0);\n  "
      "cudaDeviceSynchronize();\n}\nint main() { p<<<1, 1>>>(), cudaDeviceSynchronize(); }\n");
  ASSERT_EQ(t.refused.size(), 2u);
  EXPECT_THAT(to_text(t.refused[0]),
              HasSubstr("my.cu:3: a launch by a kernel is not supported here: use a launch "
                        "by the host after this kernel"));
  EXPECT_THAT(to_text(t.refused[1]), HasSubstr("my.cu:4: cudaDeviceSynchronize() in a kernel"));
}

std::string refusal_of_asm(const std::string& statement) {
  const translation t = translated("# 1 \"my.cu\"\nvoid f() {\n" + statement + "\n}\n");
  return t.refused.size() == 1 ? to_text(t.refused[0]) : std::to_string(t.refused.size()) + " refusals";
}
TEST(inline_ptx, may_have_no_instruction_and_words_of_gcc) {
  EXPECT_EQ(refusal_of_asm(R"(asm volatile("" ::: "memory");)"), "0 refusals");
  EXPECT_TRUE(has_in_order(in_function(R"(__asm__ __volatile__("st.global.u8 [%0+-4], 0x1F;" :: "l"(p));)"),
                           {"=(p);", "+(-4l)", "0x1F"}));
}
TEST(inline_ptx, has_registers_guards_and_labels_of_its_own) {
  const std::string out =
      text(in_function("asm(\"{ .reg .pred p, q; L: // wait; here\\n setp.ne.s32 p, %0, 0; @!p bra L; "
                       "{ .reg .b64 p; mov.b64 p, 1; } @p membar.gl; }\" :: \"r\"(x));"));
  // 1: the label; 2: the outer p; 3: the inner p.
  const std::regex code(
      R"(__label__ (\w+);.* = \(x\); bool (\w+); bool \w+; unsigned long (\w+); \1:;.* if \(!)"
      R"(.*\b\2\b.* goto \1;.*\b\3\b.* if \(.*\b\2\b)");
  EXPECT_TRUE(std::regex_search(out, code)) << out;
}
TEST(inline_ptx, takes_operands_that_macros_of_the_headers_bring) {
  const std::string source =
      "# 1 \"a.cu\"\nvoid f() { asm(\"membar.gl;\" :: \"r\"(1 +\n# 1 \"/x.h\" 1 3 4\n(macro())\n"
      "# 1 \"a.cu\" 2\n.x)); }\nint here;\n";
  EXPECT_TRUE(has_in_order(source, {"=(1+(macro()).x);"}));
  EXPECT_EQ(line_of(text(source), "here"), line_of(source, "here"));
}
TEST(inline_ptx, what_the_table_lacks_is_named_with_its_line) {
  constexpr const char* rest =
      " is not supported here: use an instruction that antiphase check --dialect lists, or the intrinsic "
      "that does the same";
  EXPECT_EQ(refusal_of_asm("asm(\"membar.gl;\\n\"\n\"tcgen05.mma.sp;\");"),
            std::string("my.cu:3: inline PTX 'tcgen05.mma.sp'") + rest);
  for (const char* instruction :
       {"ld.global.f16 %0, [%1];", "add.sat.u32 %0, %0, %0;", "mov.b32 %0, %%pm0;",
        "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%1, {%0}], [%0];",
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%1, {%0}], [%0];",
        "cp.async.bulk.tensor.3d.im2col.global.shared::cta.bulk_group [%1, {%0, %0, %0}], [%0];",
        "wgmma.mma_async.sync.aligned.m64n8k16.f16.bf16.bf16 {%0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.bf16.bf16 {%0, %0, %0, %0}, %1, %1, 1, 1, 1, 0, 0;",
        "shfl.up.b32 %0, %0, 1, 0;", "mov.u32 %0, %7;", "bra OUT;", "st.shared.v4.f32 [%1], {%0, %0};",
        "rdtsc", "mbarrier.arrive.noComplete.b64 %1, [%1], 1;",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %0, %0, %0}, {%0, %0}, {%0, %0}, {%0, %0, %0, "
        "%0};",
        "ld.param.u32 %0, [%1];"})
    EXPECT_THAT(refusal_of_asm("asm(\"" + std::string(instruction) + "\" : \"=r\"(x) : \"l\"(y));"),
                testing::StartsWith("my.cu:2: inline PTX '"))
        << instruction;
  EXPECT_THAT(translated("# 1 \"my.cu\"\nint f() asm(\"g\");\n").refused, testing::SizeIs(1));
}

TEST(prepass, takes_four_times_as_long_for_four_times_as_many_kernels) {
  const auto seconds = [](int kernels) {
    std::string text, launches;
    for (int i = 0; i < kernels; ++i) {
      const std::string name = "kernel" + std::to_string(i);
      text += "__global__ void " + name + "(int* x) { __shared__ int s[64]; s[threadIdx.x] = *x; }\n";
      launches += name + "<<<1, 64>>>(x);\n";
    }
    int numbers = 0;
    const std::clock_t begin = std::clock();
    const auto done = plain::translate(text + "int main() { int* x = nullptr;\n" + launches + "}\n", numbers);
    EXPECT_TRUE(done.refused.empty());
    EXPECT_EQ(numbers, kernels);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(32000), 7 * seconds(8000));
}

TEST(prepass, a_cast_of_a_kernel_keeps_its_type) {
  EXPECT_TRUE(has_in_order(in_function("cudaFuncSetAttribute(reinterpret_cast<const void*>(k), x, 1);"),
                           {"cudaFuncSetAttribute((k),x,1);"}));
}

// Who includes what is not there is reported, and who includes a toolkit's header that does not compile.
TEST(missing_headers, are_told_with_the_line_of_the_program) {
  const auto told = [](const std::string& line, const std::string& header) {
    const bool of_kernels = !header.starts_with("nvnone") && !header.starts_with("ATen");
    return line + ": <" + header +
           "> is not supported here: use what antiphase check --dialect lists, or leave the #include out" +
           (of_kernels ? ", or --nvcc where a CUDA toolkit is" : "");
  };
  for (const char* header :
       {"cuda/none", "cub/none.cuh", "thrust/none.h", "cooperative_groups/none.h", "nvnone.h", "ATen/none.h"})
    EXPECT_EQ(plain::include_that_fails(
                  std::string("In file included from my.h:2,\n                 from my.cu:7:\n"
                              "her.h:3:10: fatal error: ") +
                  header + ": No such file or directory\n    3 | #include\n"),
              told("her.h:3", header));
  const plain::temporary_folder toolkit(std::filesystem::temp_directory_path());
  for (const char* file : {"crt/host_config.h", "cuda_one.h", "my.h"}) {
    std::filesystem::create_directories((toolkit.path() / file).parent_path());
    std::ofstream(toolkit.path() / file) << "\n";
  }
  const std::string its = (toolkit.path() / "cuda_one.h").string(), mine = (toolkit.path() / "my.h").string();
  const std::string by = "In file included from " + its + ":2,\n                 from my.cu:7:\n";
  EXPECT_EQ(plain::include_that_fails(by + its + ":1:2: error: no type\n"), told("my.cu:7", "cuda_one.h"));
  EXPECT_EQ(plain::include_that_fails(by + "cuda/x.h:1:2: fatal error: nv/x.h: No such file or directory"),
            told("cuda/x.h:1", "nv/x.h"));
  // errors of the program's own
  EXPECT_EQ(plain::include_that_fails("In file included from my.cu:7:\n" + mine + ":1:2: error: no type\n"),
            "");
  EXPECT_EQ(plain::include_that_fails("my.cu:7:10: fatal error: none.h: No such file or directory\n"), "");
  EXPECT_EQ(plain::include_that_fails("my.cu:7:10: fatal error: cuda_my.h: No such file or directory\n"
                                      "    7 | #include \"cuda_my.h\"\n"),
            "");
  EXPECT_EQ(plain::include_that_fails("my.cu:7:3: error: no type\n" + by + its + ":1:2: error: no type\n"),
            "");
}

TEST(dialect, stands_in_the_docs) {
  for (const bool of_libraries : {false, true}) {
    const std::string name = of_libraries ? STAND_INS_PAGE : PLAIN_CUDA_PAGE;
    std::ifstream in(name);
    std::ostringstream page;
    page << in.rdbuf();
    const std::string table = dialect_table(of_libraries);
    EXPECT_GT(table.size(), 1000u);
    EXPECT_NE(page.str().find(table), std::string::npos) << name << " should have this table:\n" << table;
  }
  EXPECT_NE(dialect_table(true).find("thrust::sort"), std::string::npos);
  EXPECT_EQ(dialect_table(false).find("thrust::sort"), std::string::npos);
}

TEST(findings, have_a_row_each_in_the_documents) {
  std::ifstream in(CHECKING_PAGE);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string page = text.str();
  for (int k = 0; k <= static_cast<int>(finding_kind::leak); ++k) {
    const auto kind = static_cast<finding_kind>(k);
    const std::string named = name(kind), tool = sanitizer_tool(kind);
    EXPECT_NE(page.find("\n| " + named + " | "), std::string::npos)
        << named << ": docs/check/checking.md, What it finds";
    const std::size_t row = page.find("\n| " + (tool.empty() ? "not in compute-sanitizer" : tool) + " | ");
    ASSERT_NE(row, std::string::npos) << tool;
    const std::size_t at = page.find(named, row);
    EXPECT_LT(at, page.find('\n', row + 1)) << named << " is shown by --tool " << tool;
  }
}

TEST(dialect, every_entry_says_something) {
  for (const dialect_group& g : plain_dialect())
    for (const dialect_entry& e : g.entries) {
      EXPECT_FALSE(e.names.empty()) << g.name;
      EXPECT_TRUE(e.support == supported::yes || !e.about.empty()) << e.names;
      EXPECT_THAT(dialect_text(), HasSubstr(std::string(e.names)));
    }
}

}  // namespace
}  // namespace antiphase::test
