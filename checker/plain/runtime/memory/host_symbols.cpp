// SPDX-License-Identifier: Apache-2.0
// Kernels and variables as nvcc's own host code knows them: by addresses that stand for their mangled names.
#include <antiphase/plain/launch.h>

#include <bit>
#include <cstring>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "checker/order/places.hpp"
#include "checker/plain/ptx/module.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/memory/memory.hpp"

namespace antiphase::plain {
namespace {
struct host_symbols {
  std::map<const void*, std::string> names;  // by address in host code
  std::map<std::string, const void*> entries;
  std::map<std::string, device_variable> variables;
};
host_symbols& symbols() {  // programs register before main
  static host_symbols all;
  return all;
}
// The innermost line of a return address that is the user's, not in a header of the toolkit.
code_place users_line(const void* code) {
  static std::map<const void*, code_place> known;
  const auto [at, fresh] = known.try_emplace(code);
  if (fresh)
    for (const code_place& one : checker_detail::lines_of(code))
      if (!checker_detail::is_machinery(one) && !ptx_module::is_of_compiler(one.file)) {
        at->second = one;
        break;
      }
  return at->second;
}
// A place is made by the compiler alone: here its parts, of which the standard library keeps an address.
template <class Place> Place made_place(const code_place& from) {
  struct parts {
    const char *file, *function;
    unsigned line, column;
  };
  struct bare {
    const char* file;
    unsigned line, column;
  };
  static std::map<std::pair<std::string, int>, parts> kept;
  const auto [at, fresh] = kept.try_emplace({from.file, from.line});
  if (fresh) at->second = {at->first.first.c_str(), "", static_cast<unsigned>(from.line), 0};
  if constexpr (sizeof(Place) == sizeof(parts*))
    return std::bit_cast<Place>(static_cast<const parts*>(&at->second));
  else
    return std::bit_cast<Place>(bare{at->second.file, at->second.line, 0});
}
}  // namespace

place place_of_host(const void* code) {
  code_place found = users_line(code);
  if (found.line == 0)
    for (const void* const caller : checker_detail::callers_of(code))
      if (found = users_line(caller); found.line != 0) break;
  return found.line != 0 ? made_place<place>(found) : place{};
}
void name_host_symbol(const void* host, const char* device) { symbols().names[host] = device; }
int register_entry(const char* name, const void* entry, const char* shown, dim3 cluster) {
  symbols().entries[name] = entry;
  set_name(entry, shown);
  set_cluster(entry, cluster);
  return 0;
}
int register_variable(const char* name, void* address, std::size_t bytes) {
  symbols().variables[name] = {address, bytes};
  return 0;
}
int set_variable(void* to, std::initializer_list<unsigned long> words, std::size_t bytes_of_word) {
  auto* at = static_cast<char*>(to);
  if (is_variable(to))  // else constant in host code
    for (const unsigned long word : words)
      std::memcpy(std::exchange(at, at + bytes_of_word), &word, bytes_of_word);
  return 0;
}
bool has_host_of_nvcc() { return !symbols().entries.empty(); }
const void* kernel_of_host(const void* host) {
  const auto name = symbols().names.find(host);
  if (name == symbols().names.end()) return nullptr;
  const auto entry = symbols().entries.find(name->second);
  return entry != symbols().entries.end() ? entry->second : nullptr;
}
device_variable variable_of_host(const void* host) {
  const auto name = symbols().names.find(host);
  if (name == symbols().names.end()) return {};
  const auto found = symbols().variables.find(name->second);
  return found != symbols().variables.end() ? found->second : device_variable{};
}

}  // namespace antiphase::plain
