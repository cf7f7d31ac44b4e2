// SPDX-License-Identifier: Apache-2.0
#include "places.hpp"
#include "core/portable/demangled.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>

namespace antiphase::checker_detail {
namespace {

struct close_session {
  void operator()(Dwfl* d) const { dwfl_end(d); }
};
using session = std::unique_ptr<Dwfl, close_session>;

session open_session() {
  static char* no_debug_path = nullptr;
  static const Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                        .find_debuginfo = dwfl_standard_find_debuginfo,
                                        .section_address = nullptr,
                                        .debuginfo_path = &no_debug_path};
  session d(dwfl_begin(&callbacks));
  if (d != nullptr &&
      (dwfl_linux_proc_report(d.get(), getpid()) != 0 || dwfl_report_end(d.get(), nullptr, nullptr) != 0))
    d.reset();
  return d;
}

Dwfl* the_session() {
  static const session d = open_session();
  return d.get();
}
std::mutex one_at_a_time;  // libdw is not thread-safe

}  // namespace

std::string symbol_at(const void* address) {
  const std::lock_guard lock(one_at_a_time);
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  Dwfl_Module* const module = the_session() != nullptr ? dwfl_addrmodule(the_session(), wanted) : nullptr;
  const int count = module != nullptr ? dwfl_module_getsymtab(module) : 0;
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr start = 0;
    const char* const name = dwfl_module_getsym_info(module, i, &symbol, &start, nullptr, nullptr, nullptr);
    if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || wanted - start >= symbol.st_size)
      continue;
    const std::string text = demangled(name);
    return text.substr(text.rfind(':') + 1);
  }
  return {};
}

std::vector<std::string> functions_with(const void* address) {
  const std::lock_guard lock(one_at_a_time);
  Dwfl_Module* const module = the_session() != nullptr
                                  ? dwfl_addrmodule(the_session(), reinterpret_cast<std::uintptr_t>(address))
                                  : nullptr;
  const int count = module != nullptr ? dwfl_module_getsymtab(module) : 0;
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr start = 0;
    const char* const name = dwfl_module_getsym_info(module, i, &symbol, &start, nullptr, nullptr, nullptr);
    if (name != nullptr && GELF_ST_TYPE(symbol.st_info) == STT_FUNC) all.emplace_back(name);
  }
  return all;
}

std::string mangled_at(const void* address) {
  const std::lock_guard lock(one_at_a_time);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Dwfl_Module* const module = the_session() != nullptr ? dwfl_addrmodule(the_session(), at) : nullptr;
  const char* const name = module != nullptr ? dwfl_module_addrname(module, at) : nullptr;
  return name == nullptr ? "" : name;
}

std::string function_at(const void* address) {
  std::string text = demangled(mangled_at(address).c_str());
  // Drops the parameters, and the type of the result: kernels, if templates, have void there.
  text = text.substr(0, text.find('('));
  constexpr std::string_view result = "void ";
  return text.starts_with(result) ? text.substr(result.size()) : text;
}

std::vector<code_place> lines_of(const void* return_address) {
  const std::lock_guard lock(one_at_a_time);
  Dwfl* const d = the_session();
  std::vector<code_place> all;
  if (d == nullptr) return all;
  const Dwarf_Addr address = reinterpret_cast<std::uintptr_t>(return_address) - 1;
  if (Dwfl_Line* line = dwfl_getsrc(d, address)) {
    int number = 0;
    if (const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr))
      all.push_back({shown(file), number});
  }
  // Each function inlined at the address gives the line that it was called from.
  Dwarf_Addr bias = 0;
  Dwarf_Die* unit = dwfl_addrdie(d, address, &bias);
  if (unit == nullptr) return all;
  // dwarf_getscopes finds the innermost scope at the address; dwarf_getscopes_die then gives what encloses it
  // in the tree: the functions it was inlined into, not where those were declared.
  Dwarf_Die *at_address = nullptr, *scopes = nullptr;
  const int count =
      dwarf_getscopes(unit, address - bias, &at_address) > 0 ? dwarf_getscopes_die(at_address, &scopes) : 0;
  Dwarf_Files* files = nullptr;
  dwarf_getsrcfiles(unit, &files, nullptr);
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    if (dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
        dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) != 0)
      continue;
    if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr))
      all.push_back({shown(name), static_cast<int>(line)});
  }
  std::free(scopes);  // libdw allocates both with malloc
  std::free(at_address);
  return all;
}

std::vector<const void*> callers_of(const void* code) {
  struct walk {
    const void* code;
    bool inside = false;
    std::vector<const void*> callers;
  } w{code, false, {}};
  constexpr std::size_t most = 64;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* to) {
        auto& walked = *static_cast<walk*>(to);
        const auto* address =
            reinterpret_cast<const void*>(_Unwind_GetIP(frame));  // NOLINT: an address of code
        if (walked.inside) walked.callers.push_back(address);
        walked.inside = walked.inside || address == walked.code;
        return walked.callers.size() < most ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &w);
  return w.callers;
}

bool program_holds(std::uintptr_t address, std::size_t bytes) {
  static const auto segments = [] {
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> all;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          for (int i = 0; i < info->dlpi_phnum; ++i)
            if (const auto& p = info->dlpi_phdr[i]; p.p_type == PT_LOAD)
              static_cast<decltype(all)*>(to)->emplace_back(info->dlpi_addr + p.p_vaddr,
                                                            info->dlpi_addr + p.p_vaddr + p.p_memsz);
          return 0;
        },
        &all);
    return all;
  }();
  return std::any_of(segments.begin(), segments.end(),
                     [&](const auto& s) { return address >= s.first && address + bytes <= s.second; });
}

std::string shown(const std::string& file) {
  const std::string path = std::filesystem::path(file).lexically_normal().string();
  for (const char* start : {"/include/antiphase/", "/src/antiphase/"})
    if (const auto at = path.rfind(start); at != std::string::npos)
      return path.substr(path.find("antiphase/", at));
  static const std::string here = std::filesystem::current_path().string() + "/";
  if (path.starts_with(here)) return path.substr(here.size());
  constexpr std::string_view sources = ANTIPHASE_SOURCES;  // as they lay where this was built
  if (std::error_code ignored; path.starts_with(sources) && !std::filesystem::exists(path, ignored))
    return path.substr(sources.size());
  return path;
}

bool lies_in_sources(const std::string& file, std::string_view folder) {
  namespace fs = std::filesystem;
  if (fs::absolute(file).string().starts_with(std::string(ANTIPHASE_SOURCES).append(folder))) return true;
  std::error_code ignored;
  return file.starts_with(folder) && !fs::exists(file, ignored);
}

bool is_machinery(const code_place& p) {
  for (const char* folder : {"antiphase/device/", "antiphase/channel/", "antiphase/core/",
                             "antiphase/executor/", "antiphase/plain/", "antiphase/stand_ins/"})
    if (p.file.starts_with(folder)) return true;
  return p.file == "antiphase/ring.cuh" || p.file == "antiphase/record.h" ||
         p.file.starts_with("/usr/include/") || p.file.starts_with("/usr/lib/");
}

}  // namespace antiphase::checker_detail
