// SPDX-License-Identifier: Apache-2.0
// Which instructions read registers that tcgen05.ld loads.
#include <algorithm>

#include "flow.hpp"

namespace antiphase::plain::ptx_module {
namespace {

using view = std::string_view;
using numbers = std::set<std::size_t>;

// The registers of operands: words that begin with %.
std::vector<view> registers_in(view operands) {
  std::vector<view> all;
  for (std::size_t at = operands.find('%'); at != view::npos;) {
    std::size_t end = at + 1;
    while (end < operands.size() && (std::isalnum(static_cast<unsigned char>(operands[end])) != 0 ||
                                     operands[end] == '_' || operands[end] == '$'))
      ++end;
    all.push_back(operands.substr(at, end - at));
    at = operands.find('%', end);
  }
  return all;
}
bool reads_first_operand(const operation& o, view first) {
  return first.starts_with("[") || o.base() == "st" || o.base() == "call";
}

}  // namespace

std::map<std::size_t, std::size_t> tensor_loads(const function& f) {
  std::map<std::size_t, std::size_t> all;
  for (std::size_t k = 0; k < f.body.size(); ++k)
    if (f.body[k].kind == statement_kind::instruction &&
        operation_of(f.body[k]).name.starts_with("tcgen05.ld."))
      all.emplace(k, all.size());
  return all;
}

std::map<std::size_t, numbers> readers_of_loads(const function& f,
                                                const std::map<std::size_t, std::size_t>& loads) {
  std::map<std::size_t, numbers> readers;
  if (loads.empty()) return readers;
  std::map<std::string, numbers, std::less<>> loaded;  // registers
  const auto first_of = [](const operation& o) { return ptx_code::split(o.rest, ',').front(); };
  for (const auto& [k, number] : loads)
    for (const view r : registers_in(first_of(operation_of(f.body[k]))))
      loaded[std::string(r)].insert(number);
  for (bool more = true; more;) {
    more = false;
    for (const statement& s : f.body) {
      if (s.kind != statement_kind::instruction) continue;
      const operation o = operation_of(s);
      if (o.base() != "mov") continue;
      const view to = first_of(o);
      for (const view from : registers_in(o.rest.substr(to.size()))) {
        const auto known = loaded.find(from);
        if (known == loaded.end()) continue;
        const numbers of_source = known->second;
        for (const view r : registers_in(to)) {
          numbers& all = loaded[std::string(r)];
          const std::size_t before = all.size();
          all.insert(of_source.begin(), of_source.end());
          more |= all.size() > before;
        }
      }
    }
  }
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    if (f.body[k].kind != statement_kind::instruction || loads.contains(k)) continue;
    const operation o = operation_of(f.body[k]);
    if (o.base() == "mov" || o.rest.empty()) continue;
    const view first = first_of(o),
               read = reads_first_operand(o, first) ? o.rest : o.rest.substr(first.size());
    for (const view r : registers_in(read))
      if (const auto known = loaded.find(r); known != loaded.end())
        readers[k].insert(known->second.begin(), known->second.end());
  }
  return readers;
}

}  // namespace antiphase::plain::ptx_module
