// SPDX-License-Identifier: Apache-2.0
#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "compile.hpp"
#include "runtime.hpp"
#include "src/checker/model.hpp"

namespace antiphase {
namespace {

constexpr double default_seconds = 60;

struct unload {
  void operator()(void* library) const { dlclose(library); }
};

std::string why_not_loaded(const std::string& said) {
  constexpr std::string_view undefined = "undefined symbol: ";
  const std::size_t at = said.find(undefined);
  if (at == std::string::npos) return "the program cannot be loaded: " + said;
  const std::string symbol = said.substr(at + undefined.size(), said.find_first_of(" ,\n", at + undefined.size()) - at - undefined.size());
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return fmt::format("nothing defines {}: expected the source that does beside the others, or its library as -l",
                     plain != nullptr ? plain.get() : symbol.c_str());
}

}  // namespace

check_report check_plain(const plain_program& program, check_options options) {
  if (options.process_seconds == 0) options.process_seconds = default_seconds;
  plain::allow_more_shared(options.limits);
  const plain::compiled built(program);
  const std::unique_ptr<void, unload> library(dlopen(built.object().c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) throw bad_source(why_not_loaded(dlerror()));
  plain::loaded loaded;
  const auto symbol = [&](const char* name) { return dlsym(library.get(), name); };
  loaded.main = reinterpret_cast<int (*)(int, char**, char**)>(symbol("main"));
  Dl_info info{};
  if (loaded.main == nullptr || dladdr(reinterpret_cast<void*>(loaded.main), &info) == 0 || info.dli_fname != built.object())
    throw bad_source("the sources have no main(): a program is checked by running it");
  const auto sections = reinterpret_cast<void (*)(char**)>(symbol("antiphase_plain_sections"));
  sections(loaded.sections);
  loaded.passed_over = reinterpret_cast<checker_detail::model::address_range* (*)()>(symbol("antiphase_plain_passed_over_range"))();
  checker_detail::code_base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return check([&](const context& where) { plain::run_main(loaded, program, where); }, options);
}

}  // namespace antiphase
