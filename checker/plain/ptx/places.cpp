// SPDX-License-Identifier: Apache-2.0
// Lines of the user's source that .loc directives of a PTX module name.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

#include "module.hpp"

namespace antiphase::plain::ptx_module {
namespace {

// The package of Python that a file belongs to, such as "triton"; empty: none.
std::string_view package_of(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t k = file.rfind(folder); k != file.npos) {
      file.remove_prefix(k + folder.size());
      return file.substr(0, file.find('/'));
    }
  return {};
}
bool has_any(std::string_view file, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view p) { return file.find(p) != file.npos; });
}
}  // namespace

bool is_of_compiler(std::string_view file) {
  static constexpr std::array languages{std::string_view("triton"),
                                        std::string_view("numba"),
                                        std::string_view("numba_cuda"),
                                        std::string_view("cutlass"),
                                        std::string_view("nvidia_cutlass_dsl"),
                                        std::string_view("tilelang"),
                                        std::string_view("nvidia")};
  return file.starts_with("<") || file.starts_with("/usr/") ||
         has_any(file, {"/cuda/include/", "/targets/x86_64-linux/include/", "/include/cccl/", "/include/crt/",
                        "cuda_device_runtime", "/include/antiphase/", "/triton/language/"}) ||
         std::ranges::find(languages, package_of(file)) != languages.end();
}

places::places(std::string_view module) {
  for (std::size_t i = 0; (i = module.find(".file", i)) != module.npos; ++i) {
    if (i > 0 && module[i - 1] != '\n' && module[i - 1] != ' ' && module[i - 1] != '\t') continue;
    std::string_view line = module.substr(i + 5, module.find('\n', i) - i - 5);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    int number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    std::string name;  // "folder" "name", or one string
    for (std::size_t k = 0; (k = line.find('"', k)) != line.npos;) {
      const std::size_t end = std::min(line.find('"', k + 1), line.size());
      name += (name.empty() ? "" : "/") + std::string(line.substr(k + 1, end - k - 1));
      k = end + 1;
    }
    files_[number] = std::move(name);
  }
}

// The compiler names one caller of a function that is inlined in several places, and then refers to it: the
// caller is the one that was named last, in a directive of its own or as this one's caller.
places::point places::caller_of(const point& p) const {
  point best;
  int latest = 0;
  const auto all = known_.find(p);
  if (all == known_.end()) return best;
  for (const auto& [caller, directive] : all->second.callers) {
    const auto own = known_.find(caller);
    const int named = std::max(directive, own != known_.end() ? own->second.named : 0);
    if (named > latest) best = caller, latest = named;
  }
  return best;
}

source_line places::follow(std::string_view directive, bool is_first) {
  const std::string text(directive);
  point at, caller;
  if (std::sscanf(text.c_str(), "%d %d %d", &at.file, &at.line, &at.column) < 2) return {};
  const std::size_t inlined = text.find("inlined_at");
  if (inlined != std::string::npos)
    std::sscanf(text.c_str() + inlined, "inlined_at %d %d %d", &caller.file, &caller.line, &caller.column);
  mentions& here = known_[at];
  here.named = here.callers[caller] = ++directives_;
  has_columns_ |= at.column > 0;
  const bool is_added =
      at.column == 0 && has_columns_ && !is_first;  // by the compiler, at the kernel's own line
  if (at.line == 0 || is_added) return {};
  std::vector<point> chain{at};  // the innermost place first
  while (caller.line != 0 && chain.size() < 100) {
    chain.push_back(caller);
    caller = caller_of(caller);
  }
  const auto name = [&](const point& p) -> std::string_view {
    const auto known = files_.find(p.file);
    return known == files_.end() ? std::string_view() : std::string_view(known->second);
  };
  // An intrinsic, such as __ldg, is of the function that calls it.
  const auto own = std::ranges::find_if(
      chain, [&](const point& p) { return name(p).find("_intrinsics.h") == std::string_view::npos; });
  in_toolkit_ = own != chain.end() && is_of_compiler(name(*own));
  in_memcpy_async_ = std::ranges::any_of(chain, [&](const point& p) {
    return is_of_compiler(name(p)) && name(p).find("/__memcpy_async/") != std::string_view::npos;
  });
  auto found = std::ranges::find_if(
      chain, [&](const point& p) { return !is_of_compiler(name(p)) && package_of(name(p)).empty(); });
  if (found == chain.end())  // a kernel in a package: its own file is what is of the package
    found = std::ranges::find_if(chain, [&](const point& p) {
      return !is_of_compiler(name(p)) && package_of(name(p)) == package_of(name(chain.back()));
    });
  const point& shown = found != chain.end() ? *found : chain.back();
  if (name(shown).empty()) return {};
  return {std::string(name(shown)), shown.line};
}

}  // namespace antiphase::plain::ptx_module
