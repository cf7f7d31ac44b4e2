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

namespace antiphase::plain::python {
int serve(int, char**);
}
namespace at::cuda {
class CUDAStream;
CUDAStream& current_stream();
}  // namespace at::cuda

namespace antiphase {
namespace {

constexpr double default_seconds = 60;

std::string why_not_loaded(const std::string& said) {
  constexpr std::string_view undefined = "undefined symbol: ";
  const std::size_t at = said.find(undefined);
  if (at == std::string::npos) return "the program cannot be loaded: " + said;
  const std::string symbol = said.substr(
      at + undefined.size(), said.find_first_of(" ,\n", at + undefined.size()) - at - undefined.size());
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return fmt::format(
      "nothing defines {}: expected the source that does beside the others, or its library as -l",
      plain != nullptr ? plain.get() : symbol.c_str());
}

}  // namespace

plain::main_function plain::load(const std::string& object, bool driven) {
  // Only programs refer to these parts, so that the linker must be told to keep them.
  [[maybe_unused]] static volatile const auto kept_calls = &plain::python::serve;
  [[maybe_unused]] static volatile const auto kept_tensors = &at::cuda::current_stream;
  void* const library = dlopen(object.c_str(), (driven ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
  if (library == nullptr) throw bad_source(why_not_loaded(dlerror()));
  const auto main = reinterpret_cast<main_function>(dlsym(library, "main"));
  Dl_info info{};
  if (main == nullptr || dladdr(reinterpret_cast<void*>(main), &info) == 0 || info.dli_fname != object)
    throw bad_source(
        "the sources have no main(): a program is checked by running it, and kernels alone by a source that "
        "launches them (--kernels)");
  return main;
}

check_report check_plain(const plain_program& program, check_options options) {
  if (options.process_seconds == 0) options.process_seconds = default_seconds;
  plain::allow_more_shared(options.limits);
  const plain::compiled built(program);
  return check([&](const context& where) { plain::run_main(built.object(), program, where); }, options);
}

}  // namespace antiphase
