// SPDX-License-Identifier: Apache-2.0
#include <antiphase/plain/launch.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <array>
#include <string>
#include <utility>

#include "checker/findings/groups.hpp"
#include "checker/order/missing.hpp"
#include "checker/plain/translate/compile/compile.hpp"
#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/runs/model.hpp"
#include "core/portable/demangled.hpp"
#include "runtime.hpp"

namespace antiphase::plain::python {
int serve(int, char**);
}
extern "C" unsigned long antiphase_plain_recorded(unsigned, int, struct antiphase_plain_act*, unsigned long);
namespace at::cuda {
class CUDAStream;
CUDAStream& current_stream();
}  // namespace at::cuda

namespace antiphase {
namespace {

constexpr double default_seconds = 20;

std::string nothing_defines(const std::string& symbol) {
  return fmt::format(
      "nothing defines {}: expected the source that does among the others, or its library as -l",
      demangled(symbol));
}
std::string why_not_loaded(const std::string& said) {
  constexpr std::string_view undefined = "undefined symbol: ";
  const std::size_t at = said.find(undefined);
  if (at == std::string::npos) return "the program cannot be loaded: " + said;
  return nothing_defines(said.substr(
      at + undefined.size(), said.find_first_of(" ,\n", at + undefined.size()) - at - undefined.size()));
}

// Functions that no source defines. A driven program may have them as long as it calls none: each slot of the
// program's table of functions gets one of these calls, which knows the name.
constexpr std::size_t most_missing = 512;
std::array<std::string, most_missing> missing_names;
template <std::size_t Number> void call_missing() {
  throw bad_source(nothing_defines(missing_names[Number]));
}
template <std::size_t... Number> constexpr auto calls_of(std::index_sequence<Number...>) {
  return std::array<void (*)(), sizeof...(Number)>{&call_missing<Number>...};
}
void name_missing(void* library) {
  constexpr auto calls = calls_of(std::make_index_sequence<most_missing>());
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  const ElfW(Rela)* slots = nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* words = nullptr;
  std::size_t bytes = 0, missing = 0;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_JMPREL) slots = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
    if (d->d_tag == DT_STRTAB) words = reinterpret_cast<const char*>(d->d_un.d_ptr);
    if (d->d_tag == DT_PLTRELSZ) bytes = d->d_un.d_val;
  }
  for (std::size_t i = 0; i < bytes / sizeof *slots && missing < most_missing; ++i) {
    const char* const name = words + symbols[ELF64_R_SYM(slots[i].r_info)].st_name;
    if (*name == 0 || dlsym(RTLD_DEFAULT, name) != nullptr || dlsym(library, name) != nullptr) continue;
    missing_names[missing] = name;
    *reinterpret_cast<void (**)()>(map->l_addr + slots[i].r_offset) = calls[missing++];
  }
}

// A line at the beginning of PTX from a language whose users write neither: its compiler initializes
// mbarriers, has all lanes of a warp store a sum to scratch memory, and hands what lanes have loaded to
// others of the warp by shuffles, which then store it there.
constexpr std::string_view barriers_of_compiler =
    "// antiphase: mbarriers and scratch memory are the compiler's\n";
void leave_to_compiler(check_report& r) {
  const auto after_a_shuffle = [](const finding& f) {
    return f.kind == finding_kind::overwritten_in_use && f.missing.row != sentence::other_store &&
           f.memory.find("global memory") != std::string::npos && f.earlier &&
           f.access.block == f.earlier->block && f.access.thread / 32 == f.earlier->thread / 32;
  };
  std::erase_if(r.findings, [&](const finding& f) {
    if (after_a_shuffle(f)) return true;
    return f.missing.row == sentence::fence_mbarrier ||
           (f.in_practice.row == sentence::gpu_same_value &&
            f.memory.find("in shared memory") != std::string::npos);
  });
}
// Compilers of PTX have all lanes of a warp issue a bulk store, which ptxas makes one instruction.
void join_lanes(check_report& r) {
  for (finding& f : r.findings)
    if (f.missing.row == sentence::other_store && f.earlier && f.access.place == f.earlier->place &&
        f.access.block == f.earlier->block && f.access.thread / 32 == f.earlier->thread / 32 &&
        f.in_practice.empty())
      f.in_practice = sentence::gpu_one_store;
}

// Libraries of the toolkit leave out this fence, as they say by the memory model.
void pass_own_mbarriers(check_report& r) {
  for (finding& f : r.findings)
    if (f.missing.row == sentence::fence_mbarrier && f.earlier && f.access.block == f.earlier->block &&
        f.access.thread == f.earlier->thread && f.in_practice.empty())
      f.in_practice = sentence::gpu_own_mbarrier;
}

}  // namespace

plain::main_function plain::load(const std::string& object, bool driven) {
  // Only programs refer to these parts, so that the linker must be told to keep them.
  [[maybe_unused]] static volatile const auto kept_calls = &plain::python::serve;
  [[maybe_unused]] static volatile const auto kept_tensors = &at::cuda::current_stream;
  [[maybe_unused]] static volatile const auto kept_symbols = &plain::register_entry;
  [[maybe_unused]] static volatile const auto kept_acts = &antiphase_plain_recorded;
  void* const library = dlopen(object.c_str(), (driven ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
  if (library == nullptr) throw bad_source(why_not_loaded(dlerror()));
  if (driven) name_missing(library);
  const auto main = reinterpret_cast<main_function>(dlsym(library, "main"));
  Dl_info info{};
  if (main == nullptr || dladdr(reinterpret_cast<void*>(main), &info) == 0 || info.dli_fname != object)
    throw bad_source(no_main);
  return main;
}

check_report check_plain(const plain_program& program, check_options options) {
  if (options.process_seconds == 0) options.process_seconds = default_seconds;
  plain::allow_more_shared(options.limits);
  plain_program compiled = program;
  compiled.timed = options.time.has_value();
  // Structs are read and written as a whole, as GPUs do it, rather than by members.
  // And code lies in the order of the program, which warp_streams goes by.
  if (options.count || options.time)
    for (const char* o : {"-fno-tree-sra", "-fno-reorder-blocks"}) compiled.compiler_options.emplace_back(o);
  const plain::compiled built(compiled);
  check_report all =
      check([&](const context& where) { plain::run_main(built.object(), program, where); }, options);
  for (const std::string& source : program.sources) {
    if (!source.ends_with(".ptx") && program.nvcc.empty()) continue;
    join_lanes(all);
    if (!program.nvcc.empty()) pass_own_mbarriers(all);
    if (program.nvcc.empty() && plain::read_file(source).starts_with(barriers_of_compiler))
      leave_to_compiler(all);
  }
  for (finding& f : all.findings)
    if (!f.missing.empty() && !checker_detail::calls_library(f)) f.missing.values.emplace_back("CUDA");
  return all;
}

}  // namespace antiphase
