// SPDX-License-Identifier: Apache-2.0
#include "place_table.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "places.hpp"

namespace antiphase::checker_detail {
namespace {

std::uintptr_t find_code_base() {
  Dl_info info{};
  dladdr(reinterpret_cast<const void*>(&find_code_base), &info);
  return reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

}  // namespace

std::uintptr_t code_base = find_code_base();

place_number place_table::number_of(machine::place where) {
  const auto key = std::tuple(where.file_name(), static_cast<unsigned>(where.line()),
                              static_cast<unsigned>(where.column()));
  const auto [at, fresh] =
      source_numbers_.try_emplace(key, from_source | static_cast<place_number>(sources_.size()));
  if (fresh) sources_.push_back(where);
  return at->second;
}

place_number place_table::number_of_far(const void* code) {
  const auto at = std::ranges::find(far_code_, code);
  const auto entry = static_cast<place_number>(at - far_code_.begin());
  if (at == far_code_.end()) far_code_.push_back(code);
  return far_code | entry;
}

place_number place_table::number_of(const void* code, machine::place where) {
  const place_number p = number_of_code(code);
  also_.try_emplace(p, where);
  return p;
}

std::vector<code_place> place_table::lines(place_number p) const {
  const auto line_of = [](const machine::place& s) {
    return std::vector<code_place>{{shown(s.file_name()), static_cast<int>(s.line())}};
  };
  if ((p & from_source) != 0) return line_of(sources_[p & ~from_source]);
  auto all = lines_of(code_of(p));
  if (const auto at = also_.find(p); all.empty() && at != also_.end()) return line_of(at->second);
  return all;
}

code_place place_table::first_line(place_number p) const {
  const std::vector<code_place> all = lines(p);
  const auto at = std::ranges::find_if_not(all, is_machinery);
  return all.empty() ? code_place{} : at == all.end() ? all.front() : *at;
}

const void* place_table::code_of(place_number p) const {
  if ((p & from_source) != 0) return nullptr;
  return (p & far_code) != 0 ? far_code_[p & ~far_code] : reinterpret_cast<const void*>(code_base + p);
}

}  // namespace antiphase::checker_detail
