// SPDX-License-Identifier: Apache-2.0
#include "prepass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "dialect.hpp"
#include "ptx.hpp"
#include "tokens.hpp"

namespace antiphase::plain {
namespace {

using index = std::size_t;
constexpr index none = ~index{0};
constexpr const char* ours = "::antiphase::plain::";
constexpr const char* by_host =
    "a launch by the host behind this kernel, on the same stream, over the largest grid that may be needed: "
    "kernels cannot launch kernels here";

// Functions of the host's that kernels may call too, around the kernels that they launch.
constexpr std::string_view called_by_launchers[] = {"cudaDeviceSynchronize",
                                                    "cudaStreamCreateWithFlags",
                                                    "cudaStreamDestroy",
                                                    "cudaEventCreateWithFlags",
                                                    "cudaEventRecord",
                                                    "cudaMemcpyAsync",
                                                    "cudaMemsetAsync",
                                                    "cudaMalloc",
                                                    "cudaFree",
                                                    "cudaGetLastError"};
// Names in C++17.
constexpr std::string_view words_of_newer[] = {"concept",  "requires", "co_await",  "co_return",
                                               "co_yield", "char8_t",  "consteval", "constinit"};
constexpr std::string_view here = "::antiphase::plain::place::current()";

class pass {
 public:
  pass(std::string_view source, int& numbers, const driven& by, bool whole, bool older)
      : source_(source),
        list_(tokens_of(source)),
        t_(list_.tokens),
        numbers_(numbers),
        by_(by),
        older_(older) {
    find_definitions(whole);
  }

  translation run() {
    find_kernels();
    declare_entries();
    find_own_functions();
    follow_rounds();
    for (index i = 0; i < t_.size(); ++i) {
      if (const index end = binding_at(i); end != none) {
        replace(i, end + 1, " " + left_out(i, end));
        i = end;
        continue;
      }
      follow_scopes(i);
      if (t_[i].kind == token_kind::name)
        i = word(i);
      else if (is(i, "<") && launch_at(i))
        launch(i);
    }
    drop_unused();
    answer_for_clusters();
    return {assembled(), refusals(), has_main(), std::move(device_templates_)};
  }

 private:
  struct edit {
    std::size_t at, length;
    std::string text;
  };

  bool is(index i, std::string_view what) const { return i < t_.size() && t_[i] == what; }
  bool touching(index i) const { return i + 1 < t_.size() && t_[i].at + t_[i].is.size() == t_[i + 1].at; }
  std::string_view text(index first, index last) const {  // of tokens [first, last)
    return first >= last
               ? std::string_view()
               : source_.substr(t_[first].at, t_[last - 1].at + t_[last - 1].is.size() - t_[first].at);
  }
  std::string flat(index first, index last) const {  // on one line
    std::string s;
    for (index i = first; i < last; ++i) (s += i == first || touching(i - 1) ? "" : " ") += t_[i].is;
    return s;
  }

  // Replaces tokens [first, last). The line breaks in them are kept behind the new text.
  void replace(index first, index last, std::string with) {
    const std::string_view old = text(first, last);
    with.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    edits_.push_back({t_[first].at, old.size(), std::move(with)});
  }
  void insert_before(index i, std::string what) { edits_.push_back({t_[i].at, 0, std::move(what)}); }
  void drop(index first, index last) { replace(first, last, " "); }
  const std::string& file_of(index i) const { return list_.files[static_cast<std::size_t>(t_[i].file)]; }
  void refuse(index i, std::string_view what, std::string_view instead) {
    refused_.emplace_back(i, refusal{file_of(i), t_[i].line, std::string(what), std::string(instead)});
  }
  std::vector<refusal> refusals() const {  // each once for a file
    std::vector<refusal> all;
    for (const auto& one : refused_)
      if (const refusal& r = one.second; std::none_of(
              all.begin(), all.end(), [&](const refusal& o) { return o.file == r.file && o.what == r.what; }))
        all.push_back(r);
    return all;
  }

  index matching(index open) const {  // index of the sign that closes ( [ {; size() if none
    return matching_sign(t_, open);
  }
  index opening(index close) const {  // index of the sign that opens ) ] }; 1 if none
    int depth = 0;
    for (index i = close; i > 0; --i) {
      if (t_[i].kind != token_kind::sign) continue;
      const char c = t_[i].is[0];
      if (c == ')' || c == ']' || c == '}') ++depth;
      if ((c == '(' || c == '[' || c == '{') && --depth == 0) return i;
    }
    return 1;
  }
  index matching_angle(index open) const {  // index of the > of a template's <
    int depth = 0;
    for (index i = open; i < t_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) i = matching(i);
      if (is(i, ";")) return t_.size();
      if (is(i, "<")) ++depth;
      if (is(i, ">") && --depth == 0) return i;
    }
    return t_.size();
  }

  // scopes
  // ---------------------------------------------------------------------------------------------------------
  void follow_scopes(index i) {
    if (is(i, "{")) {
      bool names = false, on_device = in_device_, generic = in_template_;
      for (index k = i; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) {
        generic |= is(k, "template");
        names |= is(k, "namespace") || (is(k, "extern") && t_[k + 1].kind == token_kind::text);
        on_device |= is(k, "__global__") ||
                     (is(k, "__device__") &&
                      std::none_of(t_.begin() + static_cast<std::ptrdiff_t>(k > 2 ? k - 2 : 0),
                                   t_.begin() + static_cast<std::ptrdiff_t>(std::min(k + 3, t_.size())),
                                   [](const token& t) { return t == "__host__"; }));
      }
      scopes_.push_back(names);
      outer_.push_back({std::exchange(in_device_, on_device), std::exchange(in_template_, generic)});
    } else if (is(i, "}") && !scopes_.empty()) {
      scopes_.pop_back();
      std::tie(in_device_, in_template_) = outer_.back();
      outer_.pop_back();
      std::erase_if(dynamic_, [&](const auto& d) { return d.second > scopes_.size(); });
      if (in_namespace()) settled_ = edits_.size();
    }
  }
  bool in_namespace() const {
    return std::all_of(scopes_.begin(), scopes_.end(), [](bool names) { return names; });
  }

  // drivers
  // ---------------------------------------------------------------------------------------------------------
  bool is_driven(index i) const {
    return !by_.driver.empty() && list_.files[static_cast<std::size_t>(t_[i].file)] != by_.driver;
  }
  bool names_binding(index i) const {
    for (const char* space : {"torch", "at", "c10", "py", "pybind11"})
      if (is(i, space) && is(i + 1, "::")) return true;
    for (const char* macro :
         {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_IMPL", "TORCH_LIBRARY_FRAGMENT"})
      if (is(i, macro)) return true;
    return false;
  }
  // Last token of a definition or declaration that starts here and binds kernels to Python; none if it does
  // not.
  index binding_at(index start) const {
    if (!in_namespace() || !is_driven(start) || is(start, "}")) return none;
    if (start > 0 && !is(start - 1, ";") && !is(start - 1, "}") && !is(start - 1, "{") &&
        t_[start - 1].file == t_[start].file)
      return none;
    bool binds = false;
    for (index i = start; i < t_.size(); ++i) {
      if (is(i, "__global__") || is(i, "__device__")) return none;
      if (is(i, "namespace") && !is(start, "using")) return none;
      binds |= names_binding(i);
      index end = is(i, ";") ? i : none;
      if (is(i, "(") || is(i, "[") || is(i, "{")) {
        const index close = matching(i);
        for (index k = i; k < close && k < t_.size(); ++k) binds |= names_binding(k);
        if (is(i, "{")) end = is(close + 1, ";") ? close + 1 : close;
        i = close;
      }
      if (end != none) return binds && end < t_.size() ? end : none;
    }
    return none;
  }

  // In place of a function of the host's that is dropped: a call of it does not compile, and says why.
  std::string left_out(index start, index end) {
    index name = none;
    for (index i = start; i + 1 < end && name == none && !is(i, "=") && !is(i, "{"); ++i) {
      if (is(i, "template") || is(i, "operator") || is(i, "class") || is(i, "struct") || is(i, "using") ||
          is(i, "typedef") || is(i, "~"))
        return {};
      if (t_[i].kind == token_kind::name && is(i + 1, "(") && i > start && !is(i - 1, "::") &&
          !takes_arguments(i))
        name = i;
    }
    if (name == none || generic_.contains(t_[name].is) ||
        std::any_of(definitions_.begin(), definitions_.end(),
                    [&](const definition& d) {
                      return t_[d.name].is == t_[name].is && (d.name < start || d.name > end);
                    }) ||
        !left_out_.insert(t_[name].is).second)
      return {};
    return fmt::format(
        "template <class... ap_a> auto {0}(ap_a&&...) {{ static_assert(sizeof...(ap_a) > 99, \"antiphase "
        "check: "
        "{0} is left out beside a driver, as it names PyTorch. Launch its kernels, or give the driver as a "
        "source with this file in an #include\"); }}",
        t_[name].is);
  }

  // functions that nothing calls
  // ---------------------------------------------------------------------------------------------------------
  struct definition {
    index start, name, close;  // first token, name, closing brace
    bool used;
  };
  // Functions defined at the level of namespaces, and which of them may be called: those whose name stands
  // outside of such functions, or in one that may be called. `whole`: no other source calls them.
  void find_definitions(bool whole) {
    std::set<index> declared;
    index start = 0, name = none, head = 0;  // head: past the parameters of a template
    const auto next = [&](index i) { start = head = i, name = none; };
    const auto has = [&](index end, std::initializer_list<std::string_view> words) {
      if (is(start, "template") && std::find(words.begin(), words.end(), "template") != words.end())
        return true;
      for (index k = head; k < end; ++k)
        if (std::find(words.begin(), words.end(), t_[k].is) != words.end()) return true;
      return false;
    };
    for (index i = 0; i < t_.size(); ++i) {
      if (is(i, ";")) {
        if (name != none && !has(i, {"template", "="})) declared.insert(name);
        if (name != none && has(i, {"__global__"})) kernel_heads_.emplace_back(start, name);
        next(i + 1);
      } else if (is(i, "}")) {
        next(i + 1);
      } else if (is(i, "template") && is(i + 1, "<")) {
        i = matching_angle(i + 1);
        head = i + 1;
      } else if (is(i, "(") || is(i, "[")) {
        if (const index of = is(i, "(") ? name_before(i) : none;
            of != none && name == none && of >= start && !has(i, {"=", "operator"}) && !takes_arguments(of) &&
            (of == i - 1 || has(i, {"template"})))
          name = of;
        i = matching(i);
      } else if (is(i, "{")) {
        if (name == none &&
            (has(i, {"namespace"}) || (has(i, {"extern"}) && t_[i - 1].kind == token_kind::text))) {
          next(i + 1);
          continue;
        }
        const index close = matching(i);
        if (name != none && has(name, {"__global__"})) kernel_heads_.emplace_back(start, name);
        if (name != none && close < t_.size())
          definitions_.push_back(
              {start, name, close, has(i, {"constructor", "~"}) || is(name, "begin") || is(name, "end")});
        i = close;
        if (name != none) next(i + 1);
      }
    }
    whole = whole && std::any_of(definitions_.begin(), definitions_.end(),
                                 [&](const definition& d) { return is_main(d); });
    for (definition& d : definitions_) {
      bool own = whole;
      for (index k = d.start; k < d.name; ++k)
        own |= is(k, "static") || is(k, "inline") || is(k, "__forceinline__") || is(k, "template");
      d.used |= is_main(d) || !own;
    }
    std::set<std::string_view> called;
    const auto call_all = [&](index first, index last, index but) {
      for (index k = first; k < last; ++k)
        if (t_[k].kind == token_kind::name && k != but && !declared.contains(k)) called.insert(t_[k].is);
    };
    index at = 0;
    for (const definition& d : definitions_) {
      call_all(at, d.start, none);
      if (d.used) call_all(d.start, d.close, d.name);
      at = d.close;
    }
    call_all(at, t_.size(), none);
    for (bool more = true; std::exchange(more, false);)
      for (definition& d : definitions_)
        if (!d.used && called.contains(t_[d.name].is)) {
          d.used = more = true;
          call_all(d.start, d.close, d.name);
        }
  }
  bool is_main(const definition& d) const { return is(d.name, "main") && in_program(d.name); }
  bool has_main() const {
    for (index i = 0; i < t_.size(); ++i)
      if (const index end = is(i, "main") && is(i + 1, "(") ? matching(i + 1) + 1 : none;
          end != none && (is(end, "{") || is(end, "->") || is(end, "noexcept") || is(end, "try")))
        return true;
    return false;
  }
  // The name before `(`, with or without template arguments; none if there is none.
  index name_before(index open) const {
    index i = open - 1;
    if (open == 0) return none;
    for (int depth = 0; is(i, ">") || depth > 0; --i) {
      if (is(i, ")")) i = opening(i);
      depth += is(i, ">") - is(i, "<");
      if (i == 0 || is(i, ";") || is(i, "{")) return none;
    }
    return t_[i].kind == token_kind::name ? i : none;
  }
  // The name of the function that is declared from `i` on; `open`: where its parameters begin.
  index declared_function(index i, index& open) const {
    for (; i < t_.size() && !is(i, ";") && !is(i, "{"); ++i) {
      if (!is(i, "(")) continue;
      const index name = name_before(i);
      if (name == none) return none;
      if (!takes_arguments(name)) return open = i, name;
      i = matching(i);
    }
    return none;
  }
  bool in_program(index i) const { return by_.driver.empty() || file_of(i) == by_.driver; }
  bool takes_arguments(index i) const {  // a word before a function's name
    for (const char* w : {"__launch_bounds__", "__cluster_dims__", "__attribute__", "__align__", "alignas",
                          "decltype", "noexcept", "requires", "explicit", "__declspec"})
      if (is(i, w)) return true;
    return false;
  }
  // Functions that nothing calls need not be supported: they go, and so do those that name them.
  void drop_unused() {
    std::set<std::string_view> gone;
    std::vector<bool> drops(definitions_.size());
    for (bool more = true; std::exchange(more, false);)
      for (index n = 0; n < definitions_.size(); ++n) {
        const definition& d = definitions_[n];
        if (d.used || drops[n]) continue;
        bool lost = std::any_of(refused_.begin(), refused_.end(),
                                [&](const auto& r) { return r.first >= d.start && r.first <= d.close; });
        for (index k = d.start; k < d.close && !lost; ++k) lost = k != d.name && gone.contains(t_[k].is);
        if (!lost) continue;
        drops[n] = more = true;
        gone.insert(t_[d.name].is);
      }
    for (index n = 0; n < definitions_.size(); ++n) {
      if (!drops[n]) continue;
      const definition& d = definitions_[n];
      const std::size_t from = t_[d.start].at, to = t_[d.close].at + 1;
      for (auto* edits : {&edits_, &rounds_})
        std::erase_if(*edits, [&](const edit& e) { return e.at >= from && e.at < to; });
      std::erase_if(refused_, [&](const auto& r) { return r.first >= d.start && r.first <= d.close; });
      edits_.push_back({from, to - from, fmt::format("\n# {} \"{}\"\n", t_[d.close].line, file_of(d.close))});
    }
    for (const definition& d : definitions_)
      if (is(d.start, "template") && is(d.start + 1, "<") && is(d.start + 2, ">")) refuse_when_called(d);
  }
  // A specialisation may be called or not: its name does not tell.
  void refuse_when_called(const definition& d) {
    index open = d.name;
    while (open < d.close && !is(open, "{")) open = is(open, "(") ? matching(open) + 1 : open + 1;
    const auto in_body = [&](const auto& r) {
      return r.first >= open && r.first <= d.close && !r.second.when_reached;
    };
    const auto first = std::find_if(refused_.begin(), refused_.end(), in_body);
    if (first == refused_.end() || open >= d.close) return;
    const std::string why = quoted(to_text(first->second));
    const std::size_t from = t_[open].at, to = t_[d.close].at;
    std::erase_if(edits_, [&](const edit& e) { return e.at > from && e.at < to; });
    std::erase_if(refused_, in_body);
    edits_.push_back(
        {from + 1, to - from - 1,
         fmt::format("{}refused({});\n# {} \"{}\"\n", ours, why, t_[d.close].line, file_of(d.close))});
  }

  // kernels
  // ---------------------------------------------------------------------------------------------------------
  // Tells where parameters of the kernel at `i` lie that are no __grid_constant__, if it may use tensor maps;
  // and which pointers are __restrict__.
  void note_parameters(index i) {
    index open = none;
    if (declared_function(i + 1, open) == none || !is(matching(open) + 1, "{")) return;
    const index end = matching(open);
    bool by_value = uses_tensor_maps_, is_restricted = false;
    int depth = 0, number = 0;  // depth: of a template's arguments
    for (index k = open + 1; k <= end; ++k) {
      depth += is(k, "<") ? 1 : is(k, ">") && depth > 0 ? -1 : 0;
      if (k == end || (depth == 0 && is(k, ","))) {
        const index name = k - 1;
        static constexpr std::array types{"int",  "float",    "double", "char", "short",
                                          "long", "unsigned", "signed", "bool", "const"};
        if (by_value && t_[name].kind == token_kind::name && name > open + 1 && !is(name - 1, ",") &&
            !is(name - 1, "::") && std::ranges::find(types, t_[name].is) == types.end())
          edits_.push_back({t_[end + 1].at + 1, 0,
                            fmt::format(" ::antiphase::plain::copied_parameter({});", t_[name].is)});
        if (is_restricted && t_[name].kind == token_kind::name && !t_[name].is.starts_with("__restrict"))
          edits_.push_back(
              {t_[end + 1].at + 1, 0,
               fmt::format(" ::antiphase::plain::restricted_parameter({}, {});", t_[name].is, number)});
        by_value = uses_tensor_maps_, is_restricted = false;
        ++number;
      } else if (t_[k].is.starts_with("__restrict")) {
        is_restricted = true;
      } else if (is(k, "*") || is(k, "&") || is(k, "...") || is(k, "(") || is(k, "[") || is(k, ".") ||
                 is(k, "__grid_constant__")) {
        by_value = false;
      }
    }
  }
  // Threads of a kernel with __launch_bounds__, at `i`, compare it with their block: only in the body is all
  // known that it may name.
  void judge_bounds(index i, index end) {
    index open = none;
    if (declared_function(end + 1, open) == none || is(i + 2, ")")) return;
    const index body = matching(open) + 1;
    index first = i + 2;  // of several arguments
    for (int depth = 0; first < end && (depth > 0 || !is(first, ",")); ++first) {
      if (is(first, "(")) first = matching(first);
      depth += is(first, "<") ? 1 : is(first, ">") ? -1 : 0;
    }
    if (!is(body, "{")) return;
    edits_.push_back({t_[body].at + 1, 0,
                      fmt::format(" ::antiphase::plain::keeps_bounds({});",
                                  source_.substr(t_[i + 2].at, t_[first].at - t_[i + 2].at))});
  }
  void say_cluster(index body, std::string_view size) {
    if (clusters_said_.insert(body).second)
      edits_.push_back({t_[body].at + 1, 0, fmt::format(" if ({}tells_cluster({})) return; ", ours, size)});
  }
  // Kernels of a name of which some say in their bodies how large their clusters are: the others say 1.
  void answer_for_clusters() {
    for (const definition& d : definitions_)
      if (asked_clusters_.contains(t_[d.name].is) && is_kernel(d)) {
        index open = none;
        if (declared_function(d.start, open) != none) say_cluster(matching(open) + 1, "1");
      }
  }
  bool is_kernel(const definition& d) const {
    for (index k = d.start; k < d.name; ++k)
      if (is(k, "__global__")) return true;
    return false;
  }
  void find_kernels() {
    std::set<std::string_view> others;  // names of functions that are no kernels
    for (const definition& d : definitions_)
      if (!is_kernel(d)) others.insert(t_[d.name].is);
    for (index i = 0; i < t_.size(); ++i) {
      if (!is(i, "__global__")) continue;
      bool generic = false;
      for (index k = i; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) generic |= is(k, "template");
      index open = none;
      const index name = declared_function(i + 1, open);
      if (name == none) continue;
      bool& known = generic_[t_[name].is];
      known = known || generic || overloaded_.contains(t_[name].is) || others.contains(t_[name].is);
      const index end = matching(open);
      if (is(end + 1, "{")) mark_ways_out(end + 1);
      if (is(end + 1, "{")) known |= !overloaded_.insert(t_[name].is).second;
      for (index a = open; a < end; ++a) known |= is(a, "=");  // a default argument: a call may omit it
    }
  }
  // Declares ap_entry_NAME beside each kernel whose name is a template's or overloaded. Called with a
  // launch's arguments, it has the type of the kernel's address, so that the launch need not call the kernel
  // to find it out. Names of kernels that are declared in other forms have none.
  void declare_entries() {
    std::map<std::string_view, std::vector<std::pair<index, std::string>>> all;
    for (const auto& [start, name] : kernel_heads_)
      if (generic_.contains(t_[name].is) && generic_.at(t_[name].is))
        all[t_[name].is].emplace_back(start, entry_of(start, name));
    for (const auto& [name, declared] : all) {
      if (std::any_of(declared.begin(), declared.end(), [](const auto& d) { return d.second.empty(); }))
        continue;
      entries_[name] = declared.front().first;
      for (const auto& [at, text] : declared) rounds_.push_back({t_[at].at, 0, text});
    }
  }
  // "template <class T> void (*ap_entry_k(T* p, int n = 1))(T* p, int n); ", or nothing.
  std::string entry_of(index start, index name) const {
    std::string out;
    if (!is(name + 1, "(")) return " ";  // a specialisation or an instantiation: its template has one
    for (index i = start; i < name; ++i) {
      if (is(i, "template") && is(i + 1, "<")) {
        const index end = matching_angle(i + 1);
        if (is(i + 2, ">")) return " ";
        if (end >= name) return {};
        out += flat(i, end + 1) + " ";
        i = end;
      } else if (is(i, "template")) {
        return " ";
      } else if (takes_arguments(i)) {
        if (is(i, "requires") || is(i, "decltype") || !is(i + 1, "(")) return {};
        i = matching(i + 1);
      } else if (!is(i, "__global__") && !is(i, "void") && !is(i, "static") && !is(i, "inline") &&
                 !is(i, "extern") && !is(i, "__forceinline__")) {
        return {};
      }
    }
    std::string takes, type;
    bool otherwise = false;  // within a default argument
    for (index i = name + 2, end = matching(name + 1); i < end; ++i) {
      if (is(i, "__grid_constant__")) continue;
      if (is(i, "=") &&
          std::any_of(t_.begin() + static_cast<std::ptrdiff_t>(i),
                      t_.begin() + static_cast<std::ptrdiff_t>(end), [](const token& t) { return t == "<"; }))
        return {};
      const index last = is(i, "(") || is(i, "[") || is(i, "{") ? matching(i) : i;
      otherwise = is(i, "=") || (otherwise && !is(i, ","));
      const std::string words = (touching(i - 1) ? "" : " ") + flat(i, last + 1);
      takes += words;
      if (!otherwise) type += words;
      i = last;
    }
    return fmt::format("{}void (*ap_entry_{}({}))({}); ", out, t_[name].is, takes, type);
  }

  // Functions that the program itself has or declares, members too: a library's names are refused, not these.
  void find_own_functions() {
    for (index i = 1; i < t_.size(); ++i) {
      if (t_[i].kind != token_kind::name || !is(i + 1, "(") ||
          !unsupported_of_library(t_[i].is, true, source_))
        continue;
      index end = matching(i + 1) + 1;
      while (is(end, "const") || is(end, "noexcept") || is(end, "override") || is(end, "final")) ++end;
      if (is(end, "{") || (is(end, ";") && is_declaration(i))) own_functions_.insert(t_[i].is);
    }
  }

  // True if only the words of a type stand between the beginning of the statement and the name.
  bool is_declaration(index name) const {
    index i = name;
    while (i > 0 && !is(i - 1, ";") && !is(i - 1, "{") && !is(i - 1, "}")) {
      --i;
      if (is(i, "return") || is(i, "else") || is(i, "do") || is(i, "throw") || is(i, "co_return") ||
          (t_[i].kind == token_kind::sign && !is(i, "::") && !is(i, "*") && !is(i, "&") && !is(i, "<") &&
           !is(i, ">") && !is(i, ",") && !is(i, "[") && !is(i, "]")))
        return false;
    }
    return i < name;
  }

  index end_of_statement(index i) const {  // index of its last token
    while (is(i, "for") || is(i, "while") || is(i, "if") || is(i, "switch") || is(i, "else") ||
           is(i, "constexpr") || is(i, "(")) {
      i = is(i, "(") ? matching(i) + 1 : i + 1;
    }
    if (is(i, "{"))
      i = matching(i);
    else if (is(i, "do"))
      i = end_of_statement(end_of_statement(i + 1) + 1);
    else
      while (i < t_.size() && !is(i, ";"))
        i = is(i, "(") || is(i, "[") || is(i, "{") ? matching(i) + 1 : i + 1;
    return is(i + 1, "else") ? end_of_statement(i + 2) : i;
  }
  // Last token of a lambda whose capture list ends at `i`; none if it is not one.
  index end_of_lambda(index i) const {
    if (!is(i, "]")) return none;
    for (++i; is(i, "__device__") || is(i, "__host__") || is(i, "__forceinline__"); ++i) {
    }
    if (is(i, "(")) i = matching(i) + 1;
    while (is(i, "mutable") || is(i, "noexcept")) ++i;
    if (is(i, "->"))
      while (i < t_.size() && !is(i, "{") && !is(i, ";")) ++i;
    return is(i, "{") ? matching(i) : none;
  }
  // Marks the arms of an if statement that ends with the kernel, and of one that ends with such an arm.
  // Threads that do not enter one do nothing any more. `close`: the end of the kernel or arm.
  void mark_last_arms(index close, int& arms) {
    for (index end = close - 1; is(end, "}") && arms < 32;) {
      const index open = opening(end);
      const bool last = is(open - 1, "else");
      const index condition = is(open - 1, ")") ? opening(open - 1) : none;
      const bool first = condition != none && (is(condition - 1, "if") ||
                                               (is(condition - 1, "constexpr") && is(condition - 2, "if")));
      if (!last && !first) return;
      ways_out_.push_back({t_[open].at + 1, 0, fmt::format("{}enters_arm({});", ours, arms++)});
      mark_last_arms(end, arms);
      index before = open - 1;  // "else" of this arm
      if (first) before = is(condition - 1, "if") ? condition - 2 : condition - 3;
      if (!is(before, "else")) return;
      end = before - 1;
    }
  }
  // False where a statement cannot begin: an error, which g++ is to name by the source's own word.
  bool may_begin(index i) const {
    return i > 0 && (t_[i - 1].kind == token_kind::sign || is(i - 1, "else") || is(i - 1, "do"));
  }
  // Marks where threads leave a kernel and which block barriers, by line, lie behind them there: at the end,
  // all; at a return, those above it; at a return in a loop, those above the loop. Threads that leave early
  // never reach the barriers below.
  void mark_ways_out(index open) {
    const index close = matching(open);
    if (close >= t_.size()) return;
    if (is(close - 1, ";") || is(close - 1, "{") || is(close - 1, "}"))
      ways_out_.push_back({t_[close].at, 0, fmt::format("{}leaves(0u, ~0u);", ours)});
    int arms = 0;
    mark_last_arms(close, arms);
    index loop = none, loop_end = 0;
    int first = t_[open].line;  // a lambda's body may be called further down
    for (index i = open; i < close; ++i) {
      if (const index end = end_of_lambda(i); end < close) first = std::max(first, t_[end].line + 1);
      if (i > loop_end) loop = none;
      if (loop == none && (is(i, "for") || is(i, "while") || is(i, "do"))) {
        loop = i;
        loop_end = end_of_statement(i);
      }
      if (is(i, "return") && is(i + 1, ";") && may_begin(i))
        ways_out_.push_back(
            {t_[i].at, t_[i + 1].at + 1 - t_[i].at,
             fmt::format("{{ {}leaves({}u, {}u); return; }}{}", ours, first, t_[loop != none ? loop : i].line,
                         std::string(static_cast<std::size_t>(t_[i + 1].line - t_[i].line), '\n'))});
    }
  }

  // Counts the rounds of loops with a block barrier in them.
  void follow_rounds() {
    index behind_do = none;  // the while of a do statement
    for (index i = 0; i < t_.size(); ++i) {
      const bool is_do = is(i, "do");
      if (!is_do && (i == behind_do || !(is(i, "for") || is(i, "while")) || !is(i + 1, "("))) continue;
      const index body = is_do ? i + 1 : matching(i + 1) + 1, last = end_of_statement(body);
      if (last >= t_.size() || is(body, ";")) continue;
      if (is_do) behind_do = last + 1;
      bool meets = false;
      for (index k = body; k < last && !meets; ++k) meets = t_[k].is.starts_with("__syncthreads");
      if (!meets) continue;
      rounds_.push_back({t_[i].at, 0, fmt::format("for ({}rounds ap_rounds; ap_rounds.once();) ", ours)});
      const bool braced = is(body, "{");
      rounds_.push_back(
          {t_[body].at + (braced ? 1 : 0), 0, braced ? "ap_rounds.next();" : "{ ap_rounds.next(); "});
      if (!braced) rounds_.push_back({t_[last].at + t_[last].is.size(), 0, " }"});
    }
  }

  // <<< may have blanks in it: nvcc accepts them, and old formatters write them. The only other use of three
  // is operator<< <T>.
  bool launch_at(index i) const {
    return is(i + 1, "<") && is(i + 2, "<") && (touching(i) || touching(i + 1)) && i > 0 &&
           !is(i - 1, "operator");
  }

  // True if `(` follows what is called or is a statement's.
  bool is_call(index open) const {
    return open > 0 && ((t_[open - 1].kind == token_kind::name && !is(open - 1, "return") &&
                         !is(open - 1, "else") && !is(open - 1, "do")) ||
                        is(open - 1, "]") || is(open - 1, ">"));
  }
  // True if the name is a parameter `auto name` of a lambda around it.
  bool is_auto_parameter(index i) const {
    for (index k = i; k-- > 1;) {
      if (t_[k].is != t_[i].is || !is(k - 1, "auto") || (!is(k + 1, ")") && !is(k + 1, ","))) continue;
      index body = k + 1;
      while (body < i && !is(body, "{") && !is(body, ";")) ++body;
      if (is(body, "{") && matching(body) > i) return true;
    }
    return false;
  }

  // kernel<types><<<grid, block>>>(arguments) becomes go(kernel<types>, "kernel", config(grid, block),
  // place)(arguments)
  void launch(index open) {
    index end = none;
    for (index i = open + 3; i + 1 < t_.size() && !is(i, ";") && !is(i, "{"); ++i) {
      if (is(i, "(") || is(i, "[")) {
        i = matching(i);
      } else if (is(i, ">") && is(i + 1, "(") && is(i - 1, ">") && is(i - 2, ">")) {
        end = i - 2;
        break;
      }
    }
    if (in_device_) return refuse(open, "a launch by a kernel", by_host);
    // (kernel)<<<...>>>, as macros write it
    index last = open - 1, outer = none, inner = none;
    while (is(last, ")") && !is_call(opening(last))) {
      inner = opening(last--);
      if (outer == none) outer = inner;
    }
    index first = last;
    if (is(first, ">")) {
      int depth = 0;
      for (;; --first) {
        if (is(first, ")")) first = opening(first);
        depth += is(first, ">") - is(first, "<");
        if (depth == 0 || first == 0) break;
      }
      if (first > 0) --first;
    }
    // a kernel from a table, such as table[i] or pick(n)
    while (first > 0 &&
           (is(first, "]") || (is(first, ")") && t_[opening(first) - 1].kind == token_kind::name)))
      first = opening(first) - 1;
    while (first >= 2 && (is(first - 1, ".") || is(first - 1, "->"))) first -= 2;
    if (end == none || (t_[first].kind != token_kind::name && outer == none))
      return refuse(open, "this form of a launch",
                    "kernel<<<grid, block, bytes, stream>>>(arguments), with a kernel's name before it");
    const std::string_view name = t_[first].is;
    const index named = first;
    while (first >= 2 && is(first - 1, "::") && t_[first - 2].kind == token_kind::name) first -= 2;
    if (first >= 1 && is(first - 1, "::")) --first;
    const bool expression = outer != none && first != inner + 1;  // such as a choice of two kernels
    const bool generic = !expression && generic_.contains(name) && generic_.at(name);
    if (expression) first = outer;
    if (generic && outer != none) {
      drop(outer, inner + 1);
      drop(last + 1, open);
    }
    if (generic) {
      std::string kernel, entry;
      for (index a = first; a <= last; ++a) {
        std::string_view is_here = t_[a].is;
        std::string constant;
        if ((is(a - 1, "<") || is(a - 1, ",")) && (is(a + 1, ">") || is(a + 1, ",")) &&
            is_auto_parameter(a)) {
          constant = fmt::format("decltype({}){{}}", is_here);  // its type has the value
          replace(a, a + 1, constant);
          is_here = constant;
        }
        const char* const blank = a > first && touching(a - 1) ? "" : " ";
        kernel += fmt::format("{}{}", blank, is_here);
        entry += fmt::format("{}{}{}", blank, a == named ? "ap_entry_" : "", is_here);
      }
      std::string address;
      if (const auto known = entries_.find(name); known != entries_.end() && known->second < open)
        address = fmt::format(" [](auto&... ap_a) -> decltype({}(ap_a...)) {{ return {}; }},", entry, kernel);
      insert_before(first, fmt::format("{}go_any([](auto&... ap_a) {{ ", ours));
      replace(open, open + 3, fmt::format("(ap_a...); }},{} \"{}\", {}config(", address, name, ours));
    } else {
      insert_before(expression ? outer : outer != none ? outer : first, fmt::format("{}go(", ours));
      replace(open, open + 3, fmt::format(", \"{}\", {}config(", expression ? "chosen" : name, ours));
    }
    replace(end, end + 3, fmt::format("), {}place::current())", ours));
    if (const index args = end + 3; generic)
      for (index i = args; i < matching(args); ++i)
        if (is(i, "__null") && (is(i + 1, ",") || is(i + 1, ")"))) replace(i, i + 1, "nullptr");
  }

  // (void*)kernel becomes address_of(kernel), which tells the runtime the kernel's type. False: no such cast.
  bool take_address(index name) {
    index end = name + 1;
    if (is(end, "<")) end = matching_angle(end) + 1;
    index first = name;
    while (first >= 2 && is(first - 1, "::") && t_[first - 2].kind == token_kind::name) first -= 2;
    if (first >= 1 && is(first - 1, "::")) --first;
    if (first >= 1 && is(first - 1, "&")) --first;
    const auto is_cast = [&](index open, index close) {
      index i = open + 1;
      while (is(i, "const")) ++i;
      if (!is(i, "void")) return false;
      for (++i; is(i, "const") || is(i, "*"); ++i) {
      }
      return i == close && is(close - 1, "*");
    };
    if (first < 1) return false;
    if (is(first - 1, ")")) {
      const index open = opening(first - 1);
      if (!is_cast(open, first - 1) || casts_gone_.contains(open)) return false;
      replace(open, first, fmt::format("{}address_of(", ours));
      insert_before(end, ")");
      return true;
    }
    if (!is(first - 1, "(") || first < 2 || !is(first - 2, ">") || !is(end, ")")) return false;
    index open = first - 2;
    while (open > 0 && !is(open, "<")) --open;
    if (open < 1 || !is(open - 1, "reinterpret_cast") || !is_cast(open, first - 2) ||
        casts_gone_.contains(open - 1))
      return false;
    replace(open - 1, first, fmt::format("{}address_of(", ours));
    return true;
  }

  // Drops a cast of the kernel to void*, so that it keeps its type: (void*)kernel,
  // reinterpret_cast<void*>(kernel).
  void keep_type(index i) {
    if (is(i, "(")) {
      const index end = matching(i);
      if (!is(end - 1, "*") || !is(end - 2, "void")) return;
      drop(i, end + 1);
      casts_gone_.insert(i);
    } else if ((is(i, "reinterpret_cast") || is(i, "static_cast")) && is(i + 1, "<")) {
      const index end = matching_angle(i + 1);
      if (!is(end - 1, "*")) return;
      drop(i, end + 1);
      casts_gone_.insert(i);
    }
  }

  // True if the name is read as CUDA's variable: not a member, not a declaration. As a plain value the
  // stand-in converts by itself, so only uses that need its type count.
  static bool reads_built_in(const std::vector<token>& t, index i) {
    if (t[i] != "threadIdx" && t[i] != "blockIdx" && t[i] != "blockDim" && t[i] != "gridDim") return false;
    const auto is = [&](index k, std::string_view what) { return k < t.size() && t[k] == what; };
    if (is(i - 1, ".") || is(i - 1, "->") || is(i - 1, "::")) return false;
    if (is(i + 1, ".")) return true;
    return is(i - 1, "=") || is(i - 1, "return") || ((is(i - 1, "(") || is(i - 1, ",")) && is(i + 1, ")")) ||
           (is(i - 1, "(") && is(i + 1, ","));
  }
  // An extern __shared__ array is a pointer here, and has to act as an array where it is cast to a reference,
  // or its address is.
  void use_as_array(index i) {
    if (is(i - 1, "&") && (is(i - 2, "(") || (is(i - 2, ")") && is(i - 3, "*"))) && !is(i + 1, "[") &&
        !is(i + 1, ".") && !is(i + 1, "->"))
      return drop(i - 1, i);
    if (!is(i - 1, "(") || !is(i + 1, ")") || i < 4 || !is(i - 2, ">") || !is(i - 3, "&")) return;
    index first = i - 2;
    for (int depth = 0; first > 0; --first) {
      depth += is(first, ">") - is(first, "<");
      if (depth == 0) break;
    }
    if (first > 0 && is(first - 1, "reinterpret_cast")) insert_before(i, "*");
  }
  static std::string built_in(std::string_view name) {
    return fmt::format(" {}built_in({})", ours, name);  // the space: behind %, a colon would be a digraph
  }

  // True if tokens [first, last) name a parameter of the template whose declaration `i` is in.
  bool names_own_parameter(index i, index first, index last) const {
    while (i > 0 && !is(i, ";") && !is(i, "{") && !is(i, "}") && !is(i, "template")) --i;
    if (!is(i, "template") || !is(i + 1, "<")) return false;
    for (index k = i + 2; k < matching_angle(i + 1); ++k)
      if (t_[k].kind == token_kind::name && (is(k + 1, ",") || is(k + 1, ">") || is(k + 1, "=")))
        for (index use = first; use < last; ++use)
          if (t_[use].is == t_[k].is) return true;
    return false;
  }

  // words
  // ---------------------------------------------------------------------------------------------------------
  index word(index i) {
    const std::string_view w = t_[i].is;
    if (dynamic_.contains(w) && !is(i - 1, ".") && !is(i - 1, "->") && !is(i - 1, "::")) use_as_array(i);
    if (older_ && std::ranges::find(words_of_newer, w) != std::end(words_of_newer))
      replace(i, i + 1, std::string(w) + "_ap_name");
    if (w == "__shared__") return shared(i);
    if (w == "__device__" || w == "__constant__" || w == "__managed__") return device(i);
    if (w == "asm" || w == "__asm__" || w == "__asm") return inline_ptx(i);
    if ((w == "cudaLaunchKernel" || w == "cudaLaunchCooperativeKernel" || w == "cudaFuncSetAttribute" ||
         w == "cudaFuncGetAttributes") &&
        is(i + 1, "(")) {
      keep_type(i + 2);
    } else if (w == "cudaLaunchKernelExC" && is(i + 1, "(")) {
      for (index k = i + 2; k < matching(i + 1); ++k) {
        if (is(k, "(") || is(k, "[") || is(k, "{")) k = matching(k);
        if (!is(k, ",")) continue;
        keep_type(k + 1);
        break;
      }
    } else if (in_device_ && is(i + 1, "(") && !is(i - 1, ".") && !is(i - 1, "->") &&
               std::find(std::begin(called_by_launchers), std::end(called_by_launchers), w) !=
                   std::end(called_by_launchers)) {
      refuse(i, fmt::format("{}() in a kernel", w), by_host);
    } else if (generic_.contains(w) && take_address(i)) {
    } else if (w == "__global__" || w == "__host__" || w == "__grid_constant__" || w == "__nv_pure__") {
      if (w == "__global__") note_parameters(i);
      drop(i, i + 1);
    } else if (w == "__launch_bounds__" && is(i + 1, "(")) {
      const index end = matching(i + 1);
      judge_bounds(i, end);
      drop(i, end + 1);
      return end;
    } else if (w == "__cluster_dims__" && is(i + 1, "(")) {
      const index end = matching(i + 1);
      index open = none;
      const index name = declared_function(end + 1, open);
      if (name == none || is(i + 2, ")")) {
        refuse(i, "this form of __cluster_dims__", "__global__ void __cluster_dims__(2, 1, 1) kernel(...)");
      } else {
        std::string size(source_.substr(t_[i + 2].at, t_[end].at - t_[i + 2].at));
        const index body = matching(open) + 1;
        if (open != name + 1 || names_own_parameter(i, i + 2, end)) {
          if (!is(body, "{"))
            refuse(i, "__cluster_dims__ of a template's parameter without the kernel's body",
                   "it where the kernel is defined");
          say_cluster(body, size);
          asked_clusters_.insert(t_[name].is);
          size = "0";
        }
        clusters_ += fmt::format(
            "\nstatic const int ap_cluster_{} = ::antiphase::plain::register_cluster(\"{}\", {});",
            numbers_++, t_[name].is, size);
      }
      drop(i, end + 1);
      return end;
    } else if (w == "main" && is(i + 1, "(") && in_namespace() && is_driven(i)) {
      replace(i, i + 1, "antiphase_plain_main_of_kernels");
    } else if (w == "__align__") {
      replace(i, i + 1, "alignas");
    } else if (w == "__forceinline__") {
      replace(i, i + 1, "inline __attribute__((always_inline))");
    } else if (w == "__noinline__" && !is(i + 1, ")")) {
      replace(i, i + 1, "__attribute__((noinline))");
    } else if (reads_built_in(t_, i)) {
      replace(i, i + 1, built_in(w));
    } else if (const auto s = file_wide_.find(w);
               s != file_wide_.end() && !is(i - 1, ".") && !is(i - 1, "->") && !is(i - 1, "::")) {
      replace(i, i + 1, s->second);
    } else if (const unsupported_name* u = unsupported(w);
               u != nullptr && (w != "texture" || is(i + 1, "<")) && !is(i - 1, ".") && !is(i - 1, "->")) {
      refuse(i, u->what, u->instead);
    } else if (const unsupported_name* call = unsupported_of_library(w, is(i + 1, "("), source_);
               call != nullptr && !is(i - 1, ".") && !is(i - 1, "->") && !own_functions_.contains(w)) {
      refuse(i, w, call->instead);
    }
    return i;
  }

  // asm volatile("text" : "=r"(output) : "r"(input), "n"(input) : "memory");
  index inline_ptx(index at) {
    index open = at + 1;
    while (is(open, "volatile") || is(open, "__volatile__") || is(open, "inline") || is(open, "__inline__"))
      ++open;
    const index end = is(open, "(") ? matching(open) : t_.size();
    constexpr const char* instead =
        "an instruction that antiphase check --dialect lists, or the intrinsic that does the same";
    if (end == t_.size() || in_namespace()) {
      refuse(at, "this form of asm", instead);
      return at;
    }
    asm_statement s;
    std::vector<std::pair<std::size_t, index>> starts;  // template strings: offset, token
    int section = 0;
    for (index i = open + 1; i < end; ++i) {
      if (is(i, ":") || is(i, "::")) {
        section += is(i, ":") ? 1 : 2;
      } else if (section == 0 && t_[i].kind == token_kind::text) {
        starts.emplace_back(s.text.size(), i);
        s.text += unescaped(t_[i].is);
      } else if (section == 1 || section == 2) {
        asm_operand o{.expression = {}, .written = section == 1};
        if (is(i, "[")) i = matching(i) + 1;  // a name, which nvcc takes here, and not in the text
        while (i < end && t_[i].kind == token_kind::text) ++i;  // constraint, such as "=r"
        if (!is(i, "(")) {
          if (is(i, ",")) continue;
          refuse(at, "this form of asm", instead);
          return at;
        }
        const index close = matching(i);
        o.expression = on_one_line(t_[i].at + 1, t_[close].at);
        s.operands.push_back(std::move(o));
        i = close;
      }
    }
    asm_translation code = translate_asm(s);
    if (file_of(at).find("antiphase/plain/") !=
        std::string::npos)  // instructions as functions: the caller's place
      for (std::size_t k = 0; (k = code.text.find(here, k)) != std::string::npos;)
        code.text.replace(k, here.size(), "ap_at");
    if (code.refused) {
      index where = at;
      for (const auto& [start, i] : starts)
        if (start <= code.refused->at) where = i;
      const std::string& what = code.refused->what;  // inline PTX 'name.modifier'
      const std::size_t quote = std::min(what.find('\'') + 1, what.size());
      const unsupported_name* known =
          unsupported(std::string_view(what).substr(quote, what.find_first_of(".'", quote) - quote));
      refuse(where, what,
             code.refused->instead != nullptr ? code.refused->instead
             : known != nullptr               ? known->instead
                                              : instead);
      refused_.back().second.when_reached = true;
      code.text = fmt::format("{{ {}refused({}); }}", ours, quoted(to_text(refused_.back().second)));
    }
    // Macros of the stand-in headers bring line markers along, so another marker behind the code restores the
    // position.
    const token& last = t_[is(end + 1, ";") ? end + 1 : end];
    const std::size_t stop = last.at + last.is.size();
    edits_.push_back({t_[at].at, stop - t_[at].at,
                      fmt::format("{}\n# {} \"{}\"\n", code.text, last.line,
                                  list_.files[static_cast<std::size_t>(last.file)])});
    return end;
  }
  // Source text on one line, without line markers. Names of extern __shared__ variables outside of functions
  // are replaced.
  std::string on_one_line(std::size_t from, std::size_t to) const {
    std::string flat, out;
    for (std::string_view rest = source_.substr(from, to - from); !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (const std::string_view line = rest.substr(0, end); !line.starts_with("#")) (flat += line) += ' ';
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    while (flat.ends_with(' ')) flat.pop_back();
    const token_list words = tokens_of(flat);
    std::size_t at = 0;
    for (index i = 0; i < words.tokens.size(); ++i) {
      const token& t = words.tokens[i];
      const auto known = file_wide_.find(t.is);
      if (known == file_wide_.end() && !reads_built_in(words.tokens, i)) continue;
      (out += flat.substr(at, t.at - at)) += known != file_wide_.end() ? known->second : built_in(t.is);
      at = t.at + t.is.size();
    }
    return out + flat.substr(at);
  }
  static std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + '"';
  }
  // The characters of a string literal.
  static std::string unescaped(std::string_view literal) {
    std::string out;
    for (std::size_t i = literal.find('"') + 1; i + 1 < literal.size(); ++i) {
      if (literal[i] != '\\') {
        out += literal[i];
        continue;
      }
      const char c = literal[++i];
      out += c == 'n' ? '\n' : c == 't' || c == 'r' || c == '\n' ? ' ' : c;
    }
    return out;
  }

  // The declared name after a type: a name before [ , ; = at the outermost level.
  index declared_name(index i) const {
    for (; i < t_.size(); ++i) {
      if (is(i, "<")) i = matching_angle(i);
      if (is(i, "(") || is(i, "{")) i = matching(i);
      if (i + 1 < t_.size() && t_[i].kind == token_kind::name &&
          (is(i + 1, "[") || is(i + 1, ",") || is(i + 1, ";") || is(i + 1, "=")))
        return i;
      if (is(i, ";")) break;
    }
    return none;
  }

  // [extern] __shared__ [__align__(n)] type name[size], other; words before it, such as extern and static,
  // have been passed already.
  index shared(index at) {
    index first = at;
    bool external = false;
    while (first > 0 && (is(first - 1, "extern") || is(first - 1, "static") || is(first - 1, "volatile") ||
                         is(first - 1, "__device__")))
      external |= is(--first, "extern");
    std::string before;  // words before __shared__: extern double __shared__ x[]
    if (first > 0 && !is(first - 1, ";") && !is(first - 1, "{") && !is(first - 1, "}") &&
        !is(first - 1, ")")) {
      index start = first;
      while (start > 0 && !is(start - 1, ";") && !is(start - 1, "{") && !is(start - 1, "}")) --start;
      for (index i = start; i < first; ++i) {
        external |= is(i, "extern");
        if (!is(i, "extern") && !is(i, "static")) (before += before.empty() ? "" : " ") += t_[i].is;
      }
      first = start;
    }
    index type = at + 1;
    std::string alignment = "1", aligned;  // aligned: a type that has it, as alignas may name one
    const auto take_alignment = [&](index i) {
      const index end = matching(i + 1);
      alignment = flat(i + 2, end);
      if (t_[i + 2].kind != token_kind::name) return end + 1;
      const std::string has_it = fmt::format("ap_type_{}", numbers_++);
      aligned = fmt::format("struct {} {{ alignas({}) char x; }}; ", has_it, alignment);
      alignment = fmt::format("alignof({})", has_it);
      return end + 1;
    };
    while (is(type, "__align__") || is(type, "alignas") || is(type, "extern") || is(type, "static")) {
      external |= is(type, "extern");
      type = is(type, "__align__") || is(type, "alignas") ? take_alignment(type) : type + 1;
    }
    std::string defined;  // a type that the declaration defines too goes before it
    if (is(type, "struct") || is(type, "union") || is(type, "class") || is(type, "enum")) {
      index open = type + 1;
      while (open < t_.size() && !is(open, "{") && !is(open, ";") && !is(open, "[")) ++open;
      if (const index close = is(open, "{") ? matching(open) : t_.size(); close < t_.size()) {
        const bool named = t_[open - 1].kind == token_kind::name && open - 1 > type;
        const std::string stands = named ? "" : fmt::format(" ap_type_{}", numbers_++);
        before = named ? std::string(t_[type + 1].is) : stands.substr(1);
        defined = fmt::format("{}{} {}; ", on_one_line(t_[type].at, t_[open].at), stands,
                              on_one_line(t_[open].at, t_[close].at + 1));
        type = close + 1;
      }
    }
    index name = declared_name(type);
    if (const index pointer = name == none ? pointer_in_parentheses(type) : none; pointer != none) {
      const index last = end_of_statement(pointer);
      const std::string alias = fmt::format("ap_type_{}", numbers_++);
      defined = fmt::format("typedef {} {}{}; ", before, on_one_line(t_[type].at, t_[pointer].at), alias);
      defined.insert(defined.size() - 2, on_one_line(t_[pointer].at + t_[pointer].is.size(), t_[last].at));
      const std::string there =
          fmt::format("{}shared<{}, {}, {}>(\"{}\")", ours, alias, alignment, numbers_++, t_[pointer].is);
      if (in_namespace()) file_wide_[std::string(t_[pointer].is)] = "(" + there + ")";
      return put_declaration(
          first, last,
          aligned + defined + (in_namespace() ? "" : fmt::format("auto& {} = {};", t_[pointer].is, there)));
    }
    if (name == none || (name == type && before.empty())) {
      refuse(at, "this form of a __shared__ variable", "__shared__ type name[size]; with a named type");
      return at;
    }
    std::string of = before;
    for (index i = type; i < name; ++i) {
      if (is(i, "__align__") || is(i, "alignas"))
        i = take_alignment(i) - 1;
      else
        (of += of.empty() ? "" : " ") += t_[i].is;
    }
    if (first < at && is(at - 1, "volatile")) of = "volatile " + of;
    index end = name;
    std::string out;
    std::string base = of;  // type of further declarators: a * belongs to its own one
    while (base.ends_with('*') || base.ends_with(' ')) base.pop_back();
    for (index i = name; i < t_.size();) {  // declarators
      const std::string_view n = t_[i].is;
      index k = i + 1;
      std::string sizes;  // in parentheses: they may contain a >
      for (; is(k, "["); k = matching(k) + 1)
        sizes += is(k + 1, "]") ? "[]" : fmt::format("[({})]", on_one_line(t_[k].at + 1, t_[matching(k)].at));
      if (is(k, "=")) {
        refuse(at, "a __shared__ variable with an initial value",
               "an assignment by one thread, and __syncthreads() behind it");
        return at;
      }
      const std::string more = external && k > i + 4 ? flat(matching(i + 1) + 1, k) : "";
      const std::string there =
          fmt::format("{}shared<{} {}, {}, {}>(\"{}\")", ours, of, sizes, alignment, numbers_++, n);
      if (external)
        declare_dynamic(n, of + more, out);
      else if (in_namespace())
        file_wide_[std::string(n)] = "(" + there + ")";
      else
        out += fmt::format("{}auto& {} = {};", out.empty() ? "" : " ", n, there);
      end = k;
      if (!is(k, ",")) break;
      of = base;
      for (i = k + 1; is(i, "*"); ++i) of += " *";
    }
    return put_declaration(first, end, aligned + defined + (in_namespace() ? ";" : out));
  }
  index put_declaration(index first, index last, const std::string& what) {
    edits_.erase(std::remove_if(edits_.begin() + static_cast<std::ptrdiff_t>(settled_), edits_.end(),
                                [&](const edit& e) { return e.at >= t_[first].at; }),
                 edits_.end());
    replace(first, last + 1, what);
    return last;
  }
  // p in float (*p)[4], or none
  index pointer_in_parentheses(index i) const {
    while (i < t_.size() && !is(i, "(") && !is(i, ";") && !is(i, "="))
      i = is(i, "<") ? matching_angle(i) + 1 : i + 1;
    if (!is(i, "(") || !is(i + 1, "*")) return none;
    for (const index end = matching(i); i < end; ++i)
      if (t_[i].kind == token_kind::name && !is(i, "const") && !is(i, "volatile")) return i;
    return none;
  }
  void declare_dynamic(std::string_view name, const std::string& type, std::string& out) {
    const std::string place = fmt::format("{}dynamic_shared<{}>()", ours, type);
    dynamic_[name] = in_namespace() ? 0 : scopes_.size();
    if (in_namespace())
      file_wide_[std::string(name)] = "(" + place + ")";
    else
      out += fmt::format("auto* const {} = {};", name, place);
  }

  // Functions lose the word. Variables go to sections that the runtime tracks.
  index device(index at) {
    bool constant = is(at, "__constant__"), managed = is(at, "__managed__"), variable = constant || managed,
         done = false, fixed = false;
    for (index k = at; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}") && !is(k, ">");) {
      fixed |= is(k, "const") || is(k, "constexpr");
      if (is(k, "__device__") || is(k, "__constant__") || is(k, "__managed__")) {
        drop(at, at + 1);  // handled at the first of them
        return at;
      }
    }
    bool function = at > 0 && is(at - 1, "]");  // of a lambda
    for (index k = at + 1; k < t_.size() && !done && !function; ++k) {
      if (is(k, "__align__") || is(k, "alignas") || is(k, "__attribute__") || is(k, "decltype") ||
          is(k, "__launch_bounds__"))
        k = matching(k + 1);
      else if (is(k, "__constant__"))
        constant = variable = true;
      else if (is(k, "__managed__"))
        managed = variable = true;
      else if (is(k, "__shared__"))
        function = true;  // handled by shared()
      else if (is(k, "const") || is(k, "constexpr"))
        fixed |= !is(k + 1, "char") || !is(k + 2, "*");
      else if (is(k, "operator") || is(k, "__global__"))
        function = true;
      else if (is(k, "<"))
        k = matching_angle(k);
      else if (is(k, "(") || is(k, ";") || is(k, "=") || is(k, "[") || is(k, "{") || is(k, ",")) {
        function = is(k, "(") && !variable && t_[k + 1].kind != token_kind::number;  // an argument
        variable = !function;
        done = true;
      }
    }
    if (function || !variable || (fixed && !constant) || (fixed && constant))
      drop(at, at + 1);
    else
      replace(at, at + 1, in_section(managed ? "ap_managed" : constant ? "ap_constant" : "ap_device", at));
    return at;
  }
  // The attribute of a variable in a section. g++ wants all variables of one section to be shared by sources,
  // or none, so that each has a section of its own as far as g++ knows: what follows the line break is a
  // comment to the assembler. Variables of templates and of inline functions it may put elsewhere: a tag in
  // the name tells the linker.
  std::string in_section(std::string_view section, index at) {
    const index name = declared_name(at + 1);
    const std::string own(name == none ? "" : t_[name].is);
    bool generic = in_template_;
    for (index k = at; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) generic |= is(k, "template");
    const bool member = name != none && is(name - 1, "::");
    if (generic && !in_template_ && !member && section == "ap_device") device_templates_.push_back(own);
    const std::string tag = fmt::format("__attribute__((abi_tag(\"{}\")))", section);
    if (generic) return tag;
    const bool of_namespace = in_namespace() && !member;
    return fmt::format("__attribute__((section(\"{},\\\"aw\\\",@progbits\\n#{}_{}\"))){}", section,
                       of_namespace ? "of" : "in", own, of_namespace ? "" : " " + tag);
  }

  std::string assembled() {
    edits_.insert(edits_.end(), ways_out_.begin(), ways_out_.end());
    edits_.insert(edits_.begin(), rounds_.begin(), rounds_.end());  // insertions go before replacements
    std::stable_sort(edits_.begin(), edits_.end(), [](const edit& a, const edit& b) { return a.at < b.at; });
    std::string out;
    std::size_t at = 0;
    for (const edit& e : edits_) {
      if (e.at < at) continue;  // inside an edit that replaced it
      out += source_.substr(at, e.at - at);
      out += e.text;
      at = e.at + e.length;
    }
    out += source_.substr(at);
    if (list_.openmp.line > 0)
      clusters_ += fmt::format(
          "\nstatic const int ap_note_{} = {}add_note(\"{}:{}: OpenMP's pragmas have no effect: host code "
          "runs "
          "on one thread\");",
          numbers_++, ours, list_.files[static_cast<std::size_t>(list_.openmp.file)], list_.openmp.line);
    return clusters_.empty() ? out : out + clusters_ + "\n";
  }

  std::string_view source_;
  const bool uses_tensor_maps_ = source_.find("cp.async.bulk.tensor") != source_.npos ||
                                 source_.find("cp_async_bulk_tensor") != source_.npos;
  token_list list_;
  const std::vector<token>& t_;
  int& numbers_;
  const driven& by_;
  bool older_;
  // Kernels by name; true: a template, overloaded, or with default arguments.
  std::map<std::string_view, bool> generic_;
  std::set<std::string_view> overloaded_, own_functions_, left_out_;
  std::vector<std::pair<index, index>> kernel_heads_;  // first tokens and names of kernels' declarations
  std::map<std::string_view, index> entries_;  // see declare_entries(); where the first one is declared
  std::map<std::string_view, index> dynamic_;  // extern __shared__ arrays in scope: braces open around them
  std::map<std::string, std::string, std::less<>> file_wide_;  // for __shared__ outside of functions
  std::set<index> casts_gone_;                                 // their first tokens
  std::vector<bool> scopes_;                                   // for each open brace: it is a namespace's
  // for each open brace: the code around it is the device's, and a template's
  std::vector<std::pair<bool, bool>> outer_;
  bool in_device_ = false, in_template_ = false;
  std::set<std::string_view> asked_clusters_;  // kernels whose bodies say how large their clusters are
  std::set<index> clusters_said_;              // such bodies
  std::vector<std::string> device_templates_;
  std::string clusters_;  // code that registers cluster sizes of kernels, and notes
  std::vector<edit> edits_, ways_out_, rounds_;
  index settled_ = 0;                               // edits before this one are of functions that have ended
  std::vector<std::pair<index, refusal>> refused_;  // with the token
  std::vector<definition> definitions_;
};

}  // namespace

std::string to_text(const refusal& r) {
  return fmt::format("{}:{}: {} is not supported here: use {}", r.file, r.line, r.what, r.instead);
}

translation translate(std::string_view preprocessed, int& numbers, const driven& by, bool whole, bool older) {
  return pass(preprocessed, numbers, by, whole, older).run();
}

}  // namespace antiphase::plain
