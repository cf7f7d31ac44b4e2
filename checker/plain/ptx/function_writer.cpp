// SPDX-License-Identifier: Apache-2.0
// Writes the body of a PTX function: registers are variables, labels are labels, and each instruction is what
// the table of instructions makes of it.
#include "function_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "flow.hpp"

namespace antiphase::plain::ptx_module {
namespace {

using view = std::string_view;
using ptx_code::quoted;
using ptx_code::split;
using ptx_code::trimmed;

std::string marker(const source_line& place) {
  return fmt::format("\n#line {} {}", place.line, quoted(place.file));
}
std::string identifier(view name) {
  std::string out;
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

class function_writer final : public names {
 public:
  function_writer(const function& f, const symbols& known) : f_(f), known_(known) {}
  function_text run();

  std::string value_of(view word) const override;
  bool is_predicate(view word) const override { return predicates_.contains(value_of(word)); }

 private:
  struct range {
    std::string type;
    long count;
  };
  struct scope {
    int number;
    symbols names;                                     // registers, parameters, variables
    std::map<std::string, range, std::less<>> ranges;  // .reg .b32 %r<100>
  };
  struct label {
    int scope;
    std::string name;
    auto operator<=>(const label&) const = default;
  };

  void find_labels_and_sums();
  void declare_parameters();
  void declare(const statement& s);
  void declare_registers(view rest);
  std::string new_register(const std::string& name, view type, int level) const;
  std::optional<std::string> known_register(view word) const;
  std::string label_code(view name) const;
  void emit(const statement& s, const std::string& code);
  void instruction(std::size_t index);
  std::string code_for(std::size_t index, const std::string& guard, bool polls);
  std::string with_loads(std::size_t index, std::string code) const;
  std::string round_code(std::size_t jump) const;
  std::string barrier_code(std::size_t barrier);
  std::string branch_by_index(view operands) const;
  std::string call(view operands) const;
  std::string address_of_argument(view word) const;

  const function& f_;
  const symbols& known_;
  const std::set<std::size_t> polls_ = polling_waits(f_);
  const std::map<std::size_t, std::vector<load_condition>> conditional_ = conditional_loads(f_);
  const std::set<std::size_t> into_shared_ = loads_into_shared(f_);
  const std::map<std::size_t, std::size_t> loads_ = tensor_loads(f_);
  const std::map<std::size_t, std::set<std::size_t>> readers_ = readers_of_loads(f_, loads_);
  const label_targets label_targets_{f_};
  const std::map<std::size_t, barrier_loop> loops_ = loops_around_barriers(f_);
  std::ptrdiff_t number_of(std::map<std::size_t, barrier_loop>::const_iterator loop) const {
    return std::distance(loops_.begin(), loop);
  }
  const bool fences_barriers_ = std::ranges::any_of(f_.body, [](const statement& s) {
    return s.of_memcpy_async && s.text.find("cp.async.bulk") != s.text.npos;
  });
  const bool copies_by_maps_ = std::ranges::any_of(
      f_.body, [](const statement& s) { return s.text.find("cp.async.bulk.tensor") != s.text.npos; });
  bool counts_rounds_ = false;
  mutable std::vector<scope> scopes_;
  mutable std::map<std::string, std::string> declared_;  // C++ types and the names of their variables
  std::string arrays_;                                   // declarations of arrays
  mutable std::set<std::string> predicates_, uses_;
  std::map<std::string, std::string, std::less<>> sums_;  // registers of wgmma's sums: elements of arrays
  std::map<label, std::string> labels_;
  std::map<std::string, std::vector<std::string>, std::less<>> targets_;  // .branchtargets
  std::vector<int> parents_;                                              // of scopes
  std::string out_, results_;
  std::set<std::string> arrays_taken_;  // names
  std::set<std::size_t> moved_;         // statements that are written already
  source_line last_;
  int opened_ = 0, arrays_made_ = 0;
  mutable int registers_ = 0;
};

// The sums of a wgmma are one array of the thread's, in the order of the instruction's operands.
void function_writer::find_labels_and_sums() {
  std::vector<int> open{0};
  parents_.assign(1, -1);
  std::set<std::vector<view>> lists;
  int arrays = 0;
  for (std::size_t k = 0; k < f_.body.size(); ++k) {
    const statement& s = f_.body[k];
    if (s.kind == statement_kind::open) {
      parents_.push_back(open.back());
      open.push_back(static_cast<int>(parents_.size()) - 1);
    } else if (s.kind == statement_kind::close) {
      open.pop_back();
    } else if (s.kind == statement_kind::label) {
      const view next = k + 1 < f_.body.size() ? view(f_.body[k + 1].text) : view();
      if (next.starts_with(".branchtargets")) {
        for (const view one : split(next.substr(view(".branchtargets").size()), ','))
          targets_[s.text].emplace_back(one);
      } else {
        labels_[{open.back(), s.text}] = fmt::format("ap_l_{}_{}", identifier(s.text), open.back());
      }
    } else if (const std::size_t at = s.text.find("wgmma.mma_async");
               s.kind == statement_kind::instruction && at != std::string::npos) {
      const std::size_t first = s.text.find('{', at), last = s.text.find('}', at);
      if (first == std::string::npos || last == std::string::npos) continue;
      const auto list = split(view(s.text).substr(first + 1, last - first - 1), ',');
      if (std::ranges::any_of(list, [&](view r) { return sums_.contains(r); })) continue;
      for (std::size_t i = 0; i < list.size(); ++i)
        sums_[std::string(list[i])] = fmt::format("ap_sums{}[{}]", arrays, i);
      arrays_ += fmt::format("float ap_sums{}[{}] = {{}}; ", arrays++, list.size());
    }
  }
}

std::string function_writer::new_register(const std::string& name, view type, int level) const {
  const auto sum = level == 0 ? sums_.find(name) : sums_.end();
  if (sum != sums_.end()) return sum->second;
  const char* const cpp = ptx_code::register_type(type);
  if (cpp == nullptr) throw unknown{fmt::format(".reg .{}", type)};
  std::string variable = fmt::format("ap_r{}_{}", registers_++, identifier(name));
  std::string& list = declared_[cpp];
  list += (list.empty() ? "" : ", ") + variable + " = 0";
  if (type == "pred") predicates_.insert(variable);
  return variable;
}

std::optional<std::string> function_writer::known_register(view word) const {
  std::size_t digits = word.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(word[digits - 1])) != 0) --digits;
  for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
    if (const auto found = s->names.find(word); found != s->names.end()) return found->second;
    if (digits == word.size()) continue;
    const auto found = s->ranges.find(word.substr(0, digits));
    if (found == s->ranges.end()) continue;
    long number = 0;
    std::from_chars(word.data() + digits, word.data() + word.size(), number);
    if (number >= found->second.count) continue;
    return s->names[std::string(word)] = new_register(std::string(word), found->second.type, s->number);
  }
  return {};
}

std::string function_writer::value_of(view word) const {
  if (word.empty()) throw unknown{"an operand that is missing"};
  if (word == "_") return "::antiphase::plain::ptx::nowhere";
  if (word == "WARP_SZ") return "32";
  if (word == "%envreg1" || word == "%envreg2")  // where cooperative groups have what a grid shares
    return fmt::format("static_cast<unsigned>(reinterpret_cast<unsigned long>(ap_grid_workspace) >> {})",
                       word.back() == '1' ? 32 : 0);
  if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '-') return ptx_code::number(word);
  if (const std::size_t plus = word.find('+'); plus != view::npos)
    return fmt::format("({} + {})", value_of(trimmed(word.substr(0, plus))),
                       value_of(trimmed(word.substr(plus + 1))));
  if (auto known = known_register(word)) return *known;
  if (const auto symbol = known_.find(word); symbol != known_.end()) {
    uses_.insert(symbol->first);
    return symbol->second;
  }
  if (std::string special = special_register(word); !special.empty()) return special;
  throw unknown{std::string(word)};
}

std::string function_writer::label_code(view name) const {
  for (int s = scopes_.back().number; s >= 0; s = parents_[static_cast<std::size_t>(s)])
    if (const auto found = labels_.find({s, std::string(name)}); found != labels_.end()) return found->second;
  throw unknown{fmt::format("bra {}", name)};
}

void function_writer::declare_parameters() {
  int number = 0;
  const auto add = [&](const variable& p, bool result) {
    const std::string at =
        f_.is_kernel ? fmt::format("__builtin_addressof(ap_x{})", number) : fmt::format("ap_x{}", number);
    ++number;
    if (p.space != "reg") {
      scopes_.front().names[p.name] = fmt::format("reinterpret_cast<unsigned long>({})", at);
      return;
    }
    const std::string variable = new_register(p.name, p.type, 0);
    scopes_.front().names[p.name] = variable;
    if (result)
      results_ += fmt::format("__builtin_memcpy({}, &{}, {}); ", at, variable, bytes_of(p.type));
    else
      out_ += fmt::format("__builtin_memcpy(&{}, {}, {}); ", variable, at, bytes_of(p.type));
  };
  for (const variable& p : f_.results) add(p, true);
  for (const variable& p : f_.parameters) add(p, false);
}

// %r<100>, %p, x
void function_writer::declare_registers(view rest) {
  rest = trimmed(rest);
  const std::size_t blank = rest.find(' ');
  if (blank == view::npos || rest[0] != '.') throw unknown{fmt::format(".reg {}", rest)};
  const view type = rest.substr(1, blank - 1);
  for (const view one : split(rest.substr(blank + 1), ',')) {
    const std::size_t angle = one.find('<');
    if (angle == view::npos) {
      const std::string name(one);
      scopes_.back().names[name] = new_register(name, type, scopes_.back().number);
      continue;
    }
    range r{std::string(type), 0};
    std::from_chars(one.data() + angle + 1, one.data() + one.size(), r.count);
    scopes_.back().ranges[std::string(trimmed(one.substr(0, angle)))] = r;
  }
}

void function_writer::declare(const statement& s) {
  const view all = s.text;
  if (all.starts_with(".reg")) return declare_registers(all.substr(4));
  for (const view space : {".param", ".local", ".shared"}) {
    if (!all.starts_with(space)) continue;
    variable v;
    if (!read_variable(all.substr(space.size()), v)) throw unknown{std::string(all)};
    const std::size_t bytes = std::max<std::size_t>(v.count * bytes_of(v.type), 8);
    std::string name = identifier(name_in_source(v.name));
    if (space != ".shared" || !arrays_taken_.insert(name).second)
      name = fmt::format("ap_a{}_{}", arrays_made_++, name);
    const bool is_local = space == ".local" && f_.is_kernel && copies_by_maps_;
    arrays_ += fmt::format(
        "{}({}){} unsigned char {}[{}]; {}",
        space == ".shared" ? "__shared__ __align__" : "__attribute__((aligned", std::max(v.align, 8),
        space == ".shared" ? "" : "))", name, bytes,
        is_local ? fmt::format("::antiphase::plain::note_copied_parameter({}, {}); ", name, bytes) : "");
    const std::string address = fmt::format("reinterpret_cast<unsigned long>({})", name);
    scopes_.back().names[v.name] =
        space == ".shared" ? fmt::format("::antiphase::plain::ptx::to_shared({})", address) : address;
  }
}

void function_writer::emit(const statement& s, const std::string& code) {
  if (s.place != last_) out_ += marker(s.place) + "\n";
  last_ = s.place;
  out_ += code + " ";
}

std::string function_writer::branch_by_index(view operands) const {
  const auto all = split(operands, ',');
  const auto list = all.size() == 2 ? targets_.find(all[1]) : targets_.end();
  if (list == targets_.end()) throw unknown{"brx.idx"};
  std::string code = fmt::format("switch (::antiphase::plain::ptx::get<unsigned>({})) {{ ", value_of(all[0]));
  for (std::size_t k = 0; k < list->second.size(); ++k)
    code += fmt::format("case {}: goto {}; ", k, label_code(list->second[k]));
  return code + "}";
}

std::string function_writer::address_of_argument(view word) const {
  const std::string value = value_of(word);
  constexpr view cast = "reinterpret_cast<unsigned long>(";
  if (value.starts_with(cast)) return value.substr(cast.size(), value.size() - cast.size() - 1);
  return fmt::format("reinterpret_cast<unsigned char*>(__builtin_addressof({}))", value);
}

// (results), function, (arguments), prototype
std::string function_writer::call(view operands) const {
  std::vector<view> all = split(operands, ',');
  std::string takes, types;
  const auto add = [&](view list) {
    for (const view one : split(list.substr(1, list.size() - 2), ',')) {
      if (one.empty()) continue;
      takes += (takes.empty() ? "" : ", ") + address_of_argument(one);
      types += types.empty() ? "unsigned char*" : ", unsigned char*";
    }
  };
  std::size_t next = 0;
  if (!all.empty() && all[0].starts_with("(")) add(all[next++]);
  if (next >= all.size()) throw unknown{"call"};
  const view called = all[next++];
  if (next < all.size() && all[next].starts_with("(")) add(all[next]);
  static constexpr std::array system{view("vprintf"),
                                     view("__assertfail"),
                                     view("malloc"),
                                     view("free"),
                                     view("cudaCGGetIntrinsicHandle"),
                                     view("cudaCGSynchronize"),
                                     view("antiphase_tried")};
  if (std::ranges::find(system, called) != system.end())
    return fmt::format("::antiphase::plain::ptx::system_{}({})", called, takes);
  if (const auto function = known_.find(called); function != known_.end())
    return fmt::format("{}({})", symbol_of(called), takes);
  if (!known_register(called)) throw unknown{fmt::format("call {}", called)};
  return fmt::format("reinterpret_cast<void (*)({})>({})({})", types, value_of(called), takes);
}

// Before a jump: counts the round that it begins.
std::string function_writer::round_code(std::size_t jump) const {
  const auto to = label_targets_.find(operation_of(f_.body[jump]).rest, jump);
  const auto loop = to ? loops_.find(*to) : loops_.end();
  if (loop == loops_.end()) return {};
  return fmt::format("ap_rounds.{}({}u); ", jump > loop->first ? "next" : "begin", number_of(loop));
}
// Before a block barrier: which one it is, in which rounds of the loops around it.
std::string function_writer::barrier_code(std::size_t barrier) {
  std::vector<std::string> around;
  for (auto l = loops_.begin(); l != loops_.end(); ++l)
    if (l->first < barrier && barrier < l->second.last) around.push_back(fmt::format("{}u", number_of(l)));
  counts_rounds_ = true;
  return fmt::format("ap_rounds.meet({}u, {{{}}}); ", barrier, fmt::join(around, ", "));
}

// Which tcgen05.ld are in flight: after one of them, after a wait, and before a register is read that one
// loads.
std::string function_writer::with_loads(std::size_t index, std::string code) const {
  if (loads_.empty()) return code;
  if (const auto load = loads_.find(index); load != loads_.end())
    return fmt::format("{}; ap_loads[{}] = ap_load", code, load->second);
  if (operation_of(f_.body[index]).name.starts_with("tcgen05.wait::ld"))
    return code + "; for (auto& ap_one : ap_loads) ap_one = 0";
  const auto reader = readers_.find(index);
  if (reader == readers_.end()) return code;
  std::string before;
  for (const std::size_t number : reader->second)
    before += fmt::format(
        "if (ap_loads[{0}] != 0) {{ ::antiphase::plain::ptx::tensor_memory::registers_read(ap_loads[{0}], "
        "{1}); "
        "ap_loads[{0}] = 0; }} ",
        number, ptx_code::here);
  return before + code;
}

std::string function_writer::code_for(std::size_t index, const std::string& guard, bool polls) {
  const operation o = operation_of(f_.body[index]);
  const view base = o.base();
  if (base == "bra") return fmt::format("{}{{ {}goto {}; }}", guard, round_code(index), label_code(o.rest));
  if (base == "brx") return guard + branch_by_index(o.rest);
  if (base == "ret" || (base == "exit" && f_.is_kernel)) return guard + "goto ap_end;";
  if (base == "call") return fmt::format("{}{{ {}; }}", guard, call(o.rest));
  std::string name = std::string(o.name) + (polls ? ".ap::polled" : "");
  // Libraries load by the read-only path what they write in place once all have loaded it.
  if (const std::size_t nc = name.find(".nc"); f_.body[index].of_toolkit && name.starts_with("ld.global.nc"))
    name.erase(nc, 3);
  if (base == "ld" && (f_.body[index].of_toolkit || into_shared_.contains(index)))
    name.insert(name.rfind('.'), ".ap::by_use");
  const std::string code = with_loads(index, code_of(name, o.rest, *this));
  // On a line of its own, so that its place is the same wherever the compiler has copied it to.
  if (is_block_barrier(o))
    return fmt::format("{}{{ {}\n{}; }}", guard, barrier_code(index) + marker(f_.body[index].place), code);
  // cuda::memcpy_async lets copy engines complete phases of a cuda::barrier without a fence after init().
  if (fences_barriers_ && base == "mbarrier" && o.name.starts_with("mbarrier.init") &&
      f_.body[index].of_toolkit)
    return fmt::format("{}{{ {}; {}; }}", guard, code,
                       code_of("fence.mbarrier_init.release.cluster", "", *this));
  // libcu++ leaves the order of a warp's lanes to its exchange, as GPUs do.
  const bool orders = o.name.starts_with("match.any") && f_.body[index].of_toolkit;
  return fmt::format("{}{{ {}; {}}}", guard, code,
                     orders ? code_of("bar.warp.sync", split(o.rest, ',').back(), *this) + "; " : "");
}

void function_writer::instruction(std::size_t index) {
  const statement& s = f_.body[index];
  const operation o = operation_of(s);
  if (moved_.contains(index)) return;
  for (const std::size_t k : moves_before_fence(f_, index)) {
    instruction(k);
    moved_.insert(k);
  }
  std::string guard;
  try {
    const auto truth = [&](view predicate) {
      const bool negated = predicate.starts_with("!");
      return fmt::format("{}::antiphase::plain::ptx::get<bool>({})", negated ? "!" : "",
                         value_of(predicate.substr(negated ? 1 : 0)));
    };
    if (!o.guard.empty()) guard = fmt::format("if ({}{}) ", o.is_negated ? "!" : "", truth(o.guard));
    if (const auto load = conditional_.find(index); load != conditional_.end())
      for (const load_condition& needed : load->second) {
        for (const std::size_t k : needed.computed_by)  // pure, and written once: early is as good
          emit(s, code_for(k, "", false));
        std::string any;
        for (const std::string& one : needed.predicates) any += (any.empty() ? "" : " || ") + truth(one);
        if (needed.of_warp)
          any = fmt::format("::antiphase::plain::ptx::vote_any(~0u, {}, {})", any, ptx_code::here);
        guard = fmt::format("if ({}) {}", any, guard);  // outside of the guard: all lanes vote
      }
    emit(s, code_for(index, guard, polls_.contains(index)));
  } catch (const unknown& u) {
    const std::string why = fmt::format(
        "{}:{}: PTX '{}' is not supported here: use an instruction that antiphase check --dialect lists",
        s.place.file, s.place.line, u.name);
    emit(s, fmt::format("{}::antiphase::plain::refused({});", guard, quoted(why)));
  }
}

function_text function_writer::run() {
  find_labels_and_sums();
  for (const auto& [name, address] :
       known_)  // the module's, which are declared in the functions that use them
    if (address.find("to_shared(") != address.npos) arrays_taken_.insert(identifier(name_in_source(name)));
  scopes_.push_back({0, {}, {}});
  declare_parameters();
  for (std::size_t k = 0; k < f_.body.size(); ++k) {
    const statement& s = f_.body[k];
    switch (s.kind) {
      case statement_kind::open: scopes_.push_back({++opened_, {}, {}}); break;
      case statement_kind::close: scopes_.pop_back(); break;
      case statement_kind::label:
        if (const auto found = labels_.find({scopes_.back().number, s.text}); found != labels_.end())
          out_ +=
              (loops_.contains(k) ? fmt::format("ap_rounds.begin({}u); ", number_of(loops_.find(k))) : "") +
              found->second + ": ";
        break;
      case statement_kind::directive: declare(s); break;
      case statement_kind::instruction: instruction(k);
    }
  }
  // Not a plain return, where the pre-pass would say which barriers the thread has gone past.
  std::string leave = ";\n";
  if (f_.is_kernel) {
    const auto past = barriers_gone_past(f_).value_or(line_range{{"", 0}, 0});
    const source_line end = past.end > 0 ? source_line{past.first.file, past.end} : last_;
    leave = fmt::format("\n#line {} {}\n::antiphase::plain::leaves({}u, {}u); return (void)0; ",
                        std::max(end.line, 1), quoted(end.file), past.first.line, past.end);
  }
  std::string declarations = "unsigned ap_carry = 0; " + arrays_;
  if (counts_rounds_ || !loops_.empty())
    declarations += fmt::format("::antiphase::plain::loop_counts ap_rounds({}u); ", loops_.size());
  if (!loads_.empty()) declarations += fmt::format("unsigned long ap_loads[{}] = {{}}; ", loads_.size());
  for (const auto& [type, list] : declared_)
    declarations += fmt::format("{}{} {}; ", type == "unsigned __int128" ? "__extension__ " : "", type, list);
  return {declarations + out_ + "ap_end: " + results_ + leave, std::move(uses_)};
}

}  // namespace

std::string symbol_of(view function) { return fmt::format("ap_f_{}", identifier(function)); }

function_text body_of(const function& f, const symbols& known) { return function_writer(f, known).run(); }

}  // namespace antiphase::plain::ptx_module
