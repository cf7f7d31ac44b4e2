// SPDX-License-Identifier: Apache-2.0
// Which instructions need what tcgen05.ld loads.
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
  return first.starts_with("[") || o.base() == "st" || o.base() == "call" || o.base() == "bra";
}
// It has no effect but that on its registers: compilers may move it past an arrival.
bool computes(const operation& o) {
  static constexpr view all[] = {"mov",   "cvt", "cvta", "setp",  "set",  "selp", "slct", "testp",    "add",
                                 "sub",   "mul", "mad",  "fma",   "div",  "rem",  "min",  "max",      "abs",
                                 "neg",   "and", "or",   "xor",   "not",  "shl",  "shr",  "popc",     "clz",
                                 "brev",  "bfe", "bfi",  "bfind", "bmsk", "addc", "subc", "madc",     "mul24",
                                 "mad24", "sad", "dp4a", "dp2a",  "lop3", "prmt", "shf",  "copysign", "sin",
                                 "cos",   "rcp", "sqrt", "rsqrt", "ex2",  "lg2",  "tanh"};
  return std::ranges::find(all, o.base()) != std::end(all);
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
  struct step {
    std::size_t index;
    operation o;
    view to;  // its first operand
  };
  std::map<std::size_t, numbers> readers;
  if (loads.empty()) return readers;
  std::vector<step> computing, others;
  std::map<std::string, numbers, std::less<>>
      loaded;  // registers that hold loaded numbers, or follow from them
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    if (f.body[k].kind != statement_kind::instruction) continue;
    const operation o = operation_of(f.body[k]);
    const view to = o.rest.empty() ? view() : ptx_code::split(o.rest, ',').front();
    if (const auto load = loads.find(k); load != loads.end())
      for (const view r : registers_in(to)) loaded[std::string(r)].insert(load->second);
    else
      (computes(o) ? computing : others).push_back({k, o, to});
  }
  const auto loads_in = [&](view operands) {
    numbers all;
    for (const view r : registers_in(operands))
      if (const auto known = loaded.find(r); known != loaded.end())
        all.insert(known->second.begin(), known->second.end());
    return all;
  };
  for (bool more = true; more;) {
    more = false;
    for (const step& s : computing) {
      numbers from = loads_in(s.o.rest.substr(s.to.size()));
      from.merge(loads_in(s.o.guard));
      if (from.empty()) continue;
      for (const view r : registers_in(s.to)) {
        numbers& all = loaded[std::string(r)];
        const std::size_t before = all.size();
        all.insert(from.begin(), from.end());
        more |= all.size() > before;
      }
    }
  }
  for (const step& s : others) {
    numbers read = loads_in(reads_first_operand(s.o, s.to) ? s.o.rest : s.o.rest.substr(s.to.size()));
    read.merge(loads_in(s.o.guard));
    if (!read.empty()) readers.emplace(s.index, std::move(read));
  }
  return readers;
}

}  // namespace antiphase::plain::ptx_module
