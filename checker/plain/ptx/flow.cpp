// SPDX-License-Identifier: Apache-2.0
// Finds loops that only poll an mbarrier, and loads whose values are dropped.
#include "flow.hpp"

#include <algorithm>
#include <array>

#include "checker/plain/ptx/instructions/ptx_instruction.hpp"

namespace antiphase::plain::ptx_module {
namespace {

using view = std::string_view;
using ptx_code::split;
using ptx_code::trimmed;

// Follows a thread for which one wait has not been successful, as far as what it does is known.
class poll_follower {
 public:
  explicit poll_follower(const function& f) : f_(f), labels_(f) {}
  bool comes_again(std::size_t wait);

 private:
  std::optional<long> value(view word) const;
  void compute(const operation& o);

  const function& f_;
  label_targets labels_;
  std::map<std::string, long, std::less<>> known_;  // registers
};

std::optional<long> poll_follower::value(view word) const {
  if (word.starts_with("!")) {
    const auto of = value(word.substr(1));
    return of ? std::optional<long>(*of == 0) : std::nullopt;
  }
  if (const auto found = known_.find(word); found != known_.end()) return found->second;
  if (word.empty() || word.find_first_not_of("-0123456789") != view::npos) return {};
  return std::stol(std::string(word));
}

void poll_follower::compute(const operation& o) {
  const std::vector<view> all = split(o.rest, ',');
  const view base = o.base();
  std::optional<long> result;
  const auto of = [&](std::size_t k) { return k < all.size() ? value(all[k]) : std::nullopt; };
  if (base == "mov") {
    result = of(1);
  } else if (base == "selp") {
    if (const auto p = of(3)) result = of(*p != 0 ? 1 : 2);
  } else if (base == "setp" && all.size() == 3) {
    const auto a = of(1), b = of(2);
    if (a && b && o.name.starts_with("setp.eq")) result = *a == *b;
    if (a && b && o.name.starts_with("setp.ne")) result = *a != *b;
  } else if (base == "not" && o.name.ends_with(".pred")) {
    if (const auto a = of(1)) result = *a == 0;
  } else if (base == "and" || base == "or") {
    const auto a = of(1), b = of(2);
    if (a && b) result = base == "and" ? *a & *b : *a | *b;
  } else if (base == "cvt") {
    result = of(1);
  }
  for (const view to : split(all.empty() ? view() : all[0], '|')) known_.erase(std::string(to));
  if (result) known_[std::string(all[0])] = *result;
}

bool poll_follower::comes_again(std::size_t wait) {
  const operation polled = operation_of(f_.body[wait]);
  if (!polled.guard.empty()) return false;
  known_ = {{std::string(split(polled.rest, ',')[0]), 0}};
  std::size_t at = wait + 1;
  for (int steps = 0; steps < 200 && at < f_.body.size(); ++steps) {
    if (at == wait) return true;
    const statement& s = f_.body[at];
    if (s.kind != statement_kind::instruction) {
      ++at;
      continue;
    }
    const operation o = operation_of(s);
    bool runs = true;
    if (!o.guard.empty()) {
      const auto guard = value(o.guard);
      if (!guard) return false;
      runs = (*guard != 0) != o.is_negated;
    }
    if (o.base() == "bra") {
      const auto next = runs ? labels_.find(o.rest, at) : at + 1;
      if (!next) return false;
      at = *next;
      continue;
    }
    if (runs && o.base() != "nanosleep") {
      if (!only_computes(o)) return false;
      compute(o);
    }
    ++at;
  }
  return at == wait;
}

// Where registers are written and read. Registers of inner scopes may have the same names: those are left
// alone, as they are then written more than once.
class register_uses {
 public:
  explicit register_uses(const function& f) : f_(f) {
    int opened = 0;
    for (std::size_t k = 0; k < f.body.size(); ++k) {
      const statement& s = f.body[k];
      opened += (s.kind == statement_kind::open) - (s.kind == statement_kind::close);
      is_inner_.push_back(opened > 0);
      if (s.kind != statement_kind::instruction) continue;
      const operation o = operation_of(s);
      if (o.base() == "bra" || o.base() == "brx") jumps_.emplace_back(o.rest);
      add(o.guard, k, reads_);
      add(results(o), k, writes_);
      add(o.rest.substr(results(o).size()), k, reads_);
    }
  }
  // What an instruction writes: a register, or several in braces.
  static view results(const operation& o) {
    static constexpr std::array others{view("ld"),    view("shfl"),  view("vote"),
                                       view("match"), view("redux"), view("atom")};
    if (!only_computes(o) && std::ranges::find(others, o.base()) == others.end()) return {};
    return o.rest.substr(0, std::min(o.rest.find(o.rest.starts_with("{") ? '}' : ','), o.rest.size()));
  }
  // The condition under which no selection drops the value of a load.
  std::optional<load_condition> unless_dropped(std::size_t load) const;
  // The condition under which a store takes the value of a load of global memory, which nothing else uses.
  std::optional<load_condition> if_stored(std::size_t load) const;
  bool reads(view name) const { return reads_.find(name) != reads_.end(); }
  bool goes_into_shared(std::size_t load) const;

 private:
  // The predicates of the stores to which the load's value goes, as what they store or as its address, if it
  // goes nowhere else but to other lanes of the warp, all of which are there; empty: none.
  load_condition only_stored_if(std::size_t load) const;
  // Adds the statements that compute a register from the thread's index and the parameters, in their order.
  // False: it also depends on something else.
  bool follows_from_index(const std::string& name, std::vector<std::size_t>& all, int depth = 0) const;
  // The predicate if it follows from the thread's index, else one such part of a conjunction: without it
  // nothing is stored either, whatever a loop's counter says; empty: there is none.
  std::string part_from_index(const std::string& predicate, std::vector<std::size_t>& all) const;
  // The predicate without which the register's value, written at `from`, is of no use; empty: there is none.
  std::string needs(const std::string& name, std::size_t from, int depth = 0) const;
  std::optional<std::size_t> written_once(view name) const {
    const auto found = writes_.find(name);
    return found == writes_.end() || found->second.size() != 1 ? std::nullopt
                                                               : std::optional(found->second.front());
  }
  // True between two statements of one block.
  bool in_one_block(std::size_t from, std::size_t to) const {
    for (std::size_t k = from + 1; k < to; ++k) {
      const statement& s = f_.body[k];
      if (s.kind == statement_kind::label && is_target(s.text)) return false;
      if (s.kind == statement_kind::instruction && operation_of(s).base().starts_with("br")) return false;
    }
    return from < to;
  }

  using places = std::map<std::string, std::vector<std::size_t>, std::less<>>;
  static std::vector<std::string> names_in(view text) {
    constexpr view parts = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    std::vector<std::string> all;
    for (std::size_t i = 0; (i = text.find_first_of(parts, i)) != view::npos;) {
      const std::size_t end = std::min(text.find_first_not_of(parts, i), text.size());
      all.emplace_back(text.substr(i, end - i));
      i = end;
    }
    return all;
  }
  static void add(view text, std::size_t k, places& to) {
    for (const std::string& name : names_in(text)) {
      auto& list = to[name];
      if (list.empty() || list.back() != k) list.push_back(k);
    }
  }

  // Labels of debug information are no targets. Tables of brx may have any label.
  bool is_target(view label) const {
    return std::ranges::any_of(jumps_,
                               [&](view jump) { return jump == label || jump.find(',') != view::npos; });
  }

  const function& f_;
  places writes_, reads_;
  std::vector<std::string> jumps_;  // operands of branches
  std::vector<bool> is_inner_;      // statements in braces
};

std::string register_uses::needs(const std::string& name, std::size_t from, int depth) const {
  const auto uses = reads_.find(name);
  if (depth > 4 || uses == reads_.end() || written_once(name) != from) return {};
  std::string all;
  for (const std::size_t k : uses->second) {
    const operation o = operation_of(f_.body[k]);
    const std::vector<view> words = split(o.rest, ',');
    if (!in_one_block(from, k) || !o.guard.empty() || words.size() < 2) return {};
    std::string one;
    if (o.base() == "selp" && words.size() == 4 && words[3] != name &&
        (words[1] == name) != (words[2] == name))
      one = (words[1] == name ? "" : "!") + std::string(words[3]);
    else if ((o.name == "and.pred" || o.name == "or.pred") && (words[1] == name) != (words[2] == name))
      one = (o.base() == "and" ? "" : "!") + std::string(words[words[1] == name ? 2 : 1]);
    else if (only_computes(o) && words[0].find_first_of("|{") == view::npos)
      one = needs(std::string(words[0]), k, depth + 1);
    if (one.starts_with("!!")) one.erase(0, 2);
    if (one.empty() || (!all.empty() && all != one)) return {};
    all = one;
  }
  return all;
}

load_condition register_uses::only_stored_if(std::size_t load) const {
  load_condition result;
  std::vector<std::string> reached = names_in(results(operation_of(f_.body[load])));
  const auto reach = [&](view text) {
    for (std::string& name : names_in(text))
      if (std::ranges::find(reached, name) == reached.end()) reached.push_back(std::move(name));
  };
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::string name = reached[i];
    const auto uses = reads_.find(name);
    if (uses == reads_.end()) continue;
    for (const std::size_t k : uses->second) {
      const operation o = operation_of(f_.body[k]);
      if (only_computes(o)) {
        reach(results(o));
      } else if (o.base() == "shfl") {
        const std::vector<view> words = split(o.rest, ',');
        const bool all_lanes = words.size() == 5 && (words[4] == "-1" || words[4] == "0xffffffff");
        if (!all_lanes || !o.guard.empty() || words[1] != name || words[2] == name || words[3] == name ||
            !in_one_block(load, k))
          return {};
        result.of_warp = true;
        reach(words[0]);
      } else {
        const std::string under = (o.is_negated ? "!" : "") + std::string(o.guard);
        if ((o.base() != "st" && o.base() != "red") || o.guard.empty() || o.guard == name) return {};
        result.predicates.insert(under);
      }
    }
  }
  return result;
}

bool register_uses::goes_into_shared(std::size_t load) const {
  std::vector<std::string> reached = names_in(results(operation_of(f_.body[load])));
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto uses = reads_.find(reached[i]);
    if (uses == reads_.end()) continue;
    for (const std::size_t k : uses->second) {
      const operation o = operation_of(f_.body[k]);
      if (o.guard == reached[i]) return false;
      if (only_computes(o)) {
        for (std::string& name : names_in(results(o)))
          if (std::ranges::find(reached, name) == reached.end()) reached.push_back(std::move(name));
        continue;
      }
      const std::vector<view> words = split(o.rest, ',');
      const std::vector<std::string> address = names_in(words.empty() ? view() : words.front());
      if (!o.name.starts_with("st.shared") || o.name.starts_with("st.shared::cluster") ||
          std::ranges::find(address, reached[i]) != address.end())
        return false;
    }
  }
  return true;
}

bool register_uses::follows_from_index(const std::string& name, std::vector<std::size_t>& all,
                                       int depth) const {
  // Otherwise a number, a variable's address, a parameter or a special register.
  if (writes_.find(name) == writes_.end()) {
    static constexpr std::array special{view("%tid"), view("%ntid"), view("%ctaid"), view("%nctaid"),
                                        view("%laneid")};
    return !name.starts_with("%") || std::ranges::find(special, name) != special.end();
  }
  const auto k = written_once(name);
  if (depth > 20 || !k) return false;
  if (std::ranges::find(all, *k) != all.end()) return true;
  const operation o = operation_of(f_.body[*k]);
  if (is_inner_[*k] || !o.guard.empty() || (!only_computes(o) && !o.name.starts_with("ld.param")))
    return false;
  for (const std::string& from : names_in(o.rest.substr(results(o).size())))
    if (!follows_from_index(from, all, depth + 1)) return false;
  all.push_back(*k);
  return true;
}

view name_of(view predicate) { return predicate.substr(predicate.starts_with("!") ? 1 : 0); }

std::optional<load_condition> register_uses::unless_dropped(std::size_t load) const {
  const operation o = operation_of(f_.body[load]);
  if (!o.guard.empty() || o.rest.starts_with("{")) return {};
  const std::string predicate = needs(std::string(trimmed(o.rest.substr(0, o.rest.find(',')))), load);
  const auto defined = written_once(name_of(predicate));
  if (!defined || *defined >= load) return {};
  return load_condition{.predicates = {predicate}, .computed_by = {}};
}

std::string register_uses::part_from_index(const std::string& predicate,
                                           std::vector<std::size_t>& all) const {
  std::vector<std::size_t> tried = all;
  if (follows_from_index(std::string(name_of(predicate)), tried)) {
    all = std::move(tried);
    return predicate;
  }
  const auto k = written_once(predicate);
  if (!k || is_inner_[*k]) return {};
  const operation o = operation_of(f_.body[*k]);
  const std::vector<view> words = split(o.rest, ',');
  if (o.name != "and.pred" || !o.guard.empty() || words.size() != 3) return {};
  const std::string first = part_from_index(std::string(words[1]), all);
  return first.empty() ? part_from_index(std::string(words[2]), all) : first;
}

std::optional<load_condition> register_uses::if_stored(std::size_t load) const {
  const view name = operation_of(f_.body[load]).name;
  const auto orders = [&](view word) { return name.find(word) != view::npos; };
  if (!name.starts_with("ld.global") || orders(".volatile") || orders(".relaxed") || orders(".acquire"))
    return {};
  load_condition stored = only_stored_if(load);
  std::set<std::string> known;
  for (const std::string& one : stored.predicates) {
    const std::string part = part_from_index(one, stored.computed_by);
    if (part.empty()) return {};
    known.insert(part);
  }
  if (known.empty()) return {};
  stored.predicates = std::move(known);
  return stored;
}

}  // namespace

label_targets::label_targets(const function& f) {
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    const statement& s = f.body[k];
    if (s.kind == statement_kind::open) open.push_back(k);
    if (s.kind == statement_kind::close && !open.empty()) open.pop_back();
    scopes_.push_back(open);
    if (s.kind == statement_kind::label) labels_[s.text].push_back(k);
  }
}

std::optional<std::size_t> label_targets::find(view label, std::size_t from) const {
  const auto all = labels_.find(label);
  if (all == labels_.end()) return {};
  std::optional<std::size_t> best;
  for (const std::size_t k : all->second) {
    const auto& around = scopes_[k];
    if (around.size() > scopes_[from].size() ||
        !std::equal(around.begin(), around.end(), scopes_[from].begin()))
      continue;
    if (!best || around.size() > scopes_[*best].size()) best = k;
  }
  return best;
}

bool only_computes(const operation& o) {
  static constexpr std::array all{
      view("mov"),  view("add"),  view("sub"),  view("mul"),  view("mad"),  view("fma"),
      view("div"),  view("rem"),  view("min"),  view("max"),  view("abs"),  view("neg"),
      view("and"),  view("or"),   view("xor"),  view("not"),  view("shl"),  view("shr"),
      view("cvt"),  view("cvta"), view("selp"), view("setp"), view("set"),  view("slct"),
      view("lop3"), view("prmt"), view("bfe"),  view("bfi"),  view("popc"), view("clz"),
      view("shf"),  view("rcp"),  view("sqrt"), view("ex2"),  view("lg2"),  view("rsqrt")};
  return std::ranges::find(all, o.base()) != all.end();
}

std::set<std::size_t> polling_waits(const function& f) {
  std::set<std::size_t> all;
  std::optional<poll_follower> follower;
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    const statement& s = f.body[k];
    if (s.kind != statement_kind::instruction || s.text.find("mbarrier.t") == s.text.npos) continue;
    if (!follower) follower.emplace(f);
    if (const view name = operation_of(s).name;
        (name.starts_with("mbarrier.try_wait") || name.starts_with("mbarrier.test_wait")) &&
        follower->comes_again(k))
      all.insert(k);
  }
  return all;
}

std::map<std::size_t, std::vector<load_condition>> conditional_loads(const function& f) {
  std::map<std::size_t, std::vector<load_condition>> all;
  std::optional<register_uses> uses;
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    if (f.body[k].kind != statement_kind::instruction) continue;
    const operation o = operation_of(f.body[k]);
    if (o.base() != "ld" || o.name.starts_with("ld.param")) continue;
    if (!uses) uses.emplace(f);
    if (auto dropped = uses->unless_dropped(k)) all[k].push_back(std::move(*dropped));
    if (auto stored = uses->if_stored(k)) all[k].push_back(std::move(*stored));
  }
  return all;
}

std::set<std::size_t> loads_into_shared(const function& f) {
  std::set<std::size_t> all;
  std::optional<register_uses> uses;
  for (std::size_t k = 0; k < f.body.size(); ++k) {
    if (f.body[k].kind != statement_kind::instruction || !f.body[k].text.starts_with("ld.shared")) continue;
    if (!uses) uses.emplace(f);
    if (uses->goes_into_shared(k)) all.insert(k);
  }
  return all;
}

void drop_unread_numbers(function& f) {
  std::optional<register_uses> uses;
  for (statement& s : f.body) {
    if (s.kind != statement_kind::instruction || s.of_asm) continue;
    const operation o = operation_of(s);
    const std::size_t open = s.text.find('{'), close = s.text.find('}');
    if (o.base() != "ld" || !o.rest.starts_with("{") || close == s.text.npos ||
        o.name.find(".volatile") != view::npos || o.name.find(".relaxed") != view::npos ||
        o.name.find(".acquire") != view::npos)
      continue;
    if (!uses) uses.emplace(f);
    std::string all;
    bool any = false;
    for (const view one : split(view(s.text).substr(open + 1, close - open - 1), ',')) {
      all += all.empty() ? "" : ", ";
      any |= uses->reads(trimmed(one));
      all += uses->reads(trimmed(one)) ? trimmed(one) : view("_");
    }
    if (any) s.text.replace(open + 1, close - open - 1, all);
  }
}

std::vector<std::size_t> moves_before_fence(const function& f, std::size_t fence) {
  if (!f.body[fence].of_asm || !f.body[fence].text.starts_with("wgmma.fence")) return {};
  const auto mentions = [](std::string_view text, std::string_view name) {
    for (std::size_t k = 0; (k = text.find(name, k)) != text.npos; k += name.size())
      if (k + name.size() == text.size() ||
          std::isdigit(static_cast<unsigned char>(text[k + name.size()])) == 0)
        return true;
    return false;
  };
  const auto is_target = [&](std::string_view label) {
    return std::ranges::any_of(f.body, [&](const statement& s) {
      return s.kind != statement_kind::label && mentions(s.text, label);
    });
  };
  std::vector<std::size_t> moved;
  std::vector<std::string_view> stay;
  int depth = 0;
  for (std::size_t k = fence + 1; k < f.body.size() && depth >= 0; ++k) {
    const statement& s = f.body[k];
    depth += s.kind == statement_kind::open ? 1 : s.kind == statement_kind::close ? -1 : 0;
    if (s.kind == statement_kind::label && is_target(s.text)) break;
    if (s.kind != statement_kind::instruction) continue;
    const operation o = operation_of(s);
    if (!only_computes(o) && !s.of_asm) break;
    if (o.name.starts_with("wgmma.fence") || o.name.starts_with("wgmma.wait")) break;
    const bool is_move = depth == 0 && !s.of_asm && o.guard.empty() && o.rest.find('{') == view::npos &&
                         ptx_code::has_word("mov.f32 mov.b32 mov.u32 mov.s32", o.name);  // of one register
    const auto operands = ptx_code::split(o.rest, ',');
    if (is_move && std::ranges::none_of(stay, [&](std::string_view text) {
          return std::ranges::any_of(
              operands, [&](std::string_view one) { return one.starts_with("%") && mentions(text, one); });
        }))
      moved.push_back(k);
    else
      stay.push_back(s.text);
  }
  return moved;
}

}  // namespace antiphase::plain::ptx_module
