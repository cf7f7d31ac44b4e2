// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/passes/sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "checker/order/places.hpp"
#include "checker/plain/translate/tokens.hpp"

namespace antiphase::plain {
namespace {

using index = std::size_t;
constexpr index none = ~index{0};
constexpr std::string_view on_device =
    "!__builtin_is_constant_evaluated() && ::antiphase::plain::on_device()";
constexpr std::string_view suffix = "_ap_device";
// Words of a function's head that may differ between the sides.
constexpr std::string_view specifiers[] = {"__host__", "__device__", "__forceinline__", "__noinline__",
                                           "inline",   "static",     "constexpr",       "__inline__"};

template <class F> void for_each_marker(std::string_view text, F f) {
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    if (text[at] != '#') continue;
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open == close || line.size() < 3 || line[1] != ' ' || line[2] < '0' || line[2] > '9') continue;
    const std::string_view flags = line.substr(close);
    f(std::string(line.substr(open + 1, close - open - 1)), flags.find(" 1") != flags.npos,
      flags.find(" 3") != flags.npos);
  }
}

// Something declared or defined in a namespace or a class: tokens [first, last).
struct item {
  enum { plain, function, scope } kind = plain;
  index first, last, open = none, close = none;  // open, close: braces of a function or scope
  index name = none;
  index head = none;  // end of what tells functions apart: the body, or a constructor's initialisers
};

class side {
 public:
  explicit side(const std::string& text) : text_(text), list_(tokens_of(text)), t_(list_.tokens) {}

  const std::vector<token>& tokens() const { return t_; }
  bool is(index i, std::string_view what) const { return i < t_.size() && t_[i] == what; }
  bool is_name(index i) const { return i < t_.size() && t_[i].kind == token_kind::name; }
  std::size_t end_of(index i) const { return t_[i].offset + t_[i].text.size(); }
  std::string raw(index first, index last) const {
    return first >= last ? "" : text_.substr(t_[first].offset, end_of(last - 1) - t_[first].offset);
  }
  std::string key(index first, index last, bool of_head) const {
    std::string all;
    for (index i = first; i < last; ++i)
      if (!of_head || std::ranges::find(specifiers, t_[i].text) == std::end(specifiers))
        (all += t_[i].text) += ' ';
    return all;
  }
  std::string marker(index i) const {
    return fmt::format("\n# {} \"{}\"\n", t_[i].line, list_.files[static_cast<std::size_t>(t_[i].file)]);
  }
  std::string place(index i) const {
    return fmt::format("{}:{}", checker_detail::shown(list_.files[static_cast<std::size_t>(t_[i].file)]),
                       t_[i].line);
  }
  index matching(index open) const { return matching_sign(t_, open); }
  bool has(index first, index last, std::string_view word) const {
    return std::any_of(t_.begin() + static_cast<std::ptrdiff_t>(first),
                       t_.begin() + static_cast<std::ptrdiff_t>(last),
                       [&](const token& t) { return t == word; });
  }
  // The items in [first, last).
  std::vector<item> items(index first, index last) const {
    std::vector<item> all;
    while (first < last) first = all.emplace_back(item_at(first, last)).last;
    return all;
  }
  // Names that an item declares: of an enumeration, its enumerators too.
  std::set<std::string_view> names(const item& it) const {
    std::set<std::string_view> all;
    if (it.name != none && is_name(it.name) && !is(it.name, "operator")) all.insert(t_[it.name].text);
    index open = it.first;
    while (open < it.last && !is(open, "{")) ++open;
    if (is(it.first, "enum"))
      for (index i = open; i < it.last; ++i)
        if ((is(i, "{") || is(i, ",")) && is_name(i + 1)) all.insert(t_[i + 1].text);
    return all;
  }
  // Bodies of lambdas for the device in [first, last): their braces, and the host runs them too.
  struct lambda {
    index open, close;
    bool both;
  };
  std::vector<lambda> lambdas(index first, index last) const {
    std::vector<lambda> all;
    for (index i = first; i < last; ++i) {
      if (!is(i, "]")) continue;
      bool device = false, host = false;
      index k = i + 1;
      for (; is(k, "__device__") || is(k, "__host__") || is(k, "__forceinline__"); ++k)
        is(k, "__device__") ? device = true : host |= is(k, "__host__");
      while (device && k < last && !is(k, "{") && !is(k, ";")) k = is(k, "(") ? matching(k) + 1 : k + 1;
      if (!device || !is(k, "{")) continue;
      all.push_back({k, matching(k), host});
      i = matching(k);
    }
    return all;
  }

 private:
  index past_template(index i) const {  // the index after template <...>
    int depth = 0;
    for (++i; i < t_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) i = matching(i);
      depth += is(i, "<") - is(i, ">");
      if (depth == 0) return i + 1;
    }
    return i;
  }
  item item_at(index first, index last) const {
    item it{.first = first, .last = last};
    bool called = false, assigned = false, members = false, list = false;
    for (index i = first; i < last; ++i) {
      if (is(i, "template") && is(i + 1, "<")) {
        i = past_template(i) - 1;
      } else if (is(i, ";") || is(i, "}")) {
        it.last = i + 1;
        break;
      } else if (is(i, ":") && i == first + 1 &&
                 (is(first, "public") || is(first, "private") || is(first, "protected"))) {
        it.last = i + 1;
        break;
      } else if (is(i, "operator")) {
        it.name = i;
        if (is(i + 1, "(")) i += 2;
        while (i + 1 < last && !is(i + 1, "(")) ++i;
      } else if (is(i, "(") || is(i, "[")) {
        const bool attribute = is(i - 1, "__attribute__") || is(i - 1, "__launch_bounds__") ||
                               is(i - 1, "alignas") || is(i - 1, "__align__") || is(i - 1, "decltype") ||
                               is(i - 1, "explicit") || is(i - 1, "noexcept") ||
                               is(i - 1, "__cluster_dims__");
        if (is(i, "(") && !attribute && !assigned && !called) {
          called = true;
          if (it.name == none && i > first) it.name = i - 1;
        } else if (is(i, "[") && it.name == none && i > first) {
          it.name = i - 1;
        }
        i = matching(i);
      } else if (is(i, ":")) {
        if (called && !list) it.head = i;
        list |= called;
      } else if (is(i, "=")) {
        assigned = true;
        if (it.name == none && i > first) it.name = i - 1;
      } else if (is(i, "namespace") || is(i, "struct") || is(i, "class") || is(i, "union")) {
        members |= !called && !assigned;
        if (members && is_name(i + 1) && it.name == none) it.name = i + 1;
      } else if (is(i, "{")) {
        const index close = matching(i);
        if (close >= last) break;
        const bool space =
            has(first, i, "namespace") || (has(first, i, "extern") && t_[i - 1].kind == token_kind::text);
        if (!called && !assigned && it.open == none && (space || members)) {
          it = {item::scope, it.first, last, i, close, it.name};
          if (space) {
            it.last = close + 1;
            break;
          }
        } else if (called && !assigned &&
                   !(list && (is_name(i - 1) || is(i - 1, ">")) && !is(i - 1, "try"))) {
          it = {item::function, it.first, close + 1, i, close, it.name, list ? it.head : i};
          break;
        }
        i = close;
      }
    }
    if (it.kind == item::plain && it.name == none)
      for (index i = first; i + 1 < it.last && it.name == none; ++i)
        if (is_name(i) && !is(i, "enum") && (is(i + 1, ";") || is(i + 1, "{") || is(i + 1, ","))) it.name = i;
    return it;
  }

  const std::string& text_;
  token_list list_;
  const std::vector<token>& t_;
};

class merger {
 public:
  merger(const std::string& device, const std::string& host, bool complete)
      : text_(device), d_(device), h_(host), complete_(complete) {}

  sides run() {
    const index nd = d_.tokens().size(), nh = h_.tokens().size();
    const auto same = [](const token& a, const token& b) { return a.text == b.text; };
    if (std::ranges::equal(d_.tokens(), h_.tokens(), same)) return {text_, false};
    align(0, nd, 0, nh, false);
    for (const auto& [mine, other] : functions_) join(mine, other);
    for (const item& alone : alone_) {
      rename_in(alone.first, alone.last);
      if (!complete_ && alone.kind == item::function)
        edits_.push_back(
            {d_.end_of(alone.open), 0, fmt::format(" if (!({})) {}", on_device, refusal(alone.open))});
    }
    return {edited(), true, std::move(refused_)};
  }

 private:
  struct edit {
    std::size_t offset, length;
    std::string text;
  };

  std::string key_of(const side& of, const item& it) const {
    return it.kind == item::plain      ? of.key(it.first, it.last, false)
           : it.kind == item::function ? of.key(it.first, it.head, true)
                                       : of.key(it.first, it.open, true);
  }
  // Pairs what both sides have in these ranges of tokens.
  void align(index d_first, index d_last, index h_first, index h_last, bool in_class) {
    const std::vector<item> mine = d_.items(d_first, d_last), others = h_.items(h_first, h_last);
    std::vector<std::string> a, b;
    for (const item& it : mine) a.push_back(key_of(d_, it));
    for (const item& it : others) b.push_back(key_of(h_, it));
    index begin = 0, n = a.size(), m = b.size();
    while (begin < n && begin < m && a[begin] == b[begin]) pair(mine[begin], others[begin]), ++begin;
    while (n > begin && m > begin && a[n - 1] == b[m - 1]) pair(mine[--n], others[--m]);
    const index rows = n, end = n < mine.size() ? mine[n].first : d_last;
    n -= begin, m -= begin;
    // longest common subsequence of the rest
    std::vector<std::uint32_t> common((n + 1) * (m + 1), 0);
    const auto at = [&](index i, index j) -> std::uint32_t& { return common[i * (m + 1) + j]; };
    for (index i = n; i-- > 0;)
      for (index j = m; j-- > 0;)
        at(i, j) = a[begin + i] == b[begin + j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    std::vector<item> ours, theirs;  // that the other side lacks, between two pairs
    const auto settle = [&](index next) {
      if (!theirs.empty()) declare(ours, theirs, next < rows ? mine[next].first : end, in_class);
      alone_.insert(alone_.end(), ours.begin(), ours.end());
      ours.clear(), theirs.clear();
    };
    for (index i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && a[begin + i] == b[begin + j]) {
        settle(begin + i);
        pair(mine[begin + i++], others[begin + j++]);
      } else if (j >= m || (i < n && at(i + 1, j) >= at(i, j + 1))) {
        ours.push_back(mine[begin + i++]);
      } else {
        theirs.push_back(others[begin + j++]);
      }
    }
    settle(rows);
  }
  void pair(const item& mine, const item& other) {
    if (mine.kind == item::function && other.kind == item::function)
      functions_.emplace_back(mine, other);
    else if (mine.kind == item::scope && other.kind == item::scope)
      align(mine.open + 1, mine.close, other.open + 1, other.close,
            !d_.has(mine.first, mine.open, "namespace"));
  }
  // Adds what the host alone has, before the device's token `before`. A name that the device has too is one
  // of two.
  void declare(const std::vector<item>& ours, const std::vector<item>& theirs, index before, bool in_class) {
    if (!complete_) {
      for (const item& own : ours)
        if (own.kind == item::plain)
          refused_.push_back(
              d_.place(own.first) +
              ": this declaration, which depends on __CUDA_ARCH__, is not supported here: use #ifdef "
              "__CUDA_ARCH__ within bodies of functions");
      return;
    }
    std::string added;
    for (const item& it : theirs) {
      added += h_.marker(it.first) + h_.raw(it.first, it.last);
      for (const item& own : ours)
        std::ranges::set_intersection(
            d_.names(own), h_.names(it),
            std::inserter(in_class ? members_ : names_, (in_class ? members_ : names_).end()));
    }
    if (before < d_.tokens().size())
      edits_.push_back({d_.tokens()[before].offset, 0, added + d_.marker(before)});
    else
      edits_.push_back({text_.size(), 0, added + "\n"});
  }

  bool is_renamed(index i) const {
    const std::string_view w = d_.tokens()[i].text;
    if (members_.contains(w)) return true;
    return names_.contains(w) && !d_.is(i - 1, ".") && !d_.is(i - 1, "->") &&
           !(d_.is(i - 1, "::") && d_.is(i - 2, "std"));
  }
  bool names_other(index first, index last) const {
    for (index i = first; i < last; ++i)
      if (is_renamed(i)) return true;
    return false;
  }
  void rename_in(index first, index last) {
    for (index i = first; i < last; ++i)
      if (is_renamed(i)) edits_.push_back({d_.end_of(i), 0, std::string(suffix)});
  }
  std::string of_device(index first, index last) const {
    std::string all;
    std::size_t at = d_.tokens()[first].offset;
    for (index i = first; i < last; ++i)
      if (is_renamed(i)) {
        (all += text_.substr(at, d_.end_of(i) - at)) += suffix;
        at = d_.end_of(i);
      }
    return all + text_.substr(at, d_.end_of(last - 1) - at);
  }
  std::string refusal(index open) const {
    return fmt::format(
        "{{ ::antiphase::plain::refused(\"{}: host code that differs from the device's by __CUDA_ARCH__ is "
        "not "
        "supported here in this form: use #ifdef __CUDA_ARCH__ within bodies of functions\"); }}",
        d_.place(open));
  }
  // Both bodies of a function, or of a lambda.
  std::string both(index open, index close, index host_open, index host_close) const {
    const std::string host =
        complete_ ? h_.marker(host_open) + h_.raw(host_open, host_close + 1) : refusal(open);
    return fmt::format("{{ if ({}) {}{} else {} }}", on_device, d_.marker(open), of_device(open, close + 1),
                       host);
  }
  // Initialisers of a constructor that differ by one expression. False: in another way.
  bool join_initialisers(const item& mine, const item& other) {
    const auto next = [](const side& of, index i, index end) {
      while (i < end && !of.is(i, "(") && !of.is(i, "{")) ++i;
      return i;
    };
    const auto is_one = [](const side& of, index open, index close) {
      for (index i = open + 1; i < close; ++i) {
        if (of.is(i, ",")) return false;
        if (of.is(i, "(") || of.is(i, "[") || of.is(i, "{")) i = of.matching(i);
      }
      return open + 1 < close;
    };
    index d = mine.head, h = other.head;
    for (index of_d = 0, of_h = 0;; d = d_.matching(of_d) + 1, h = h_.matching(of_h) + 1) {
      of_d = next(d_, d, mine.open), of_h = next(h_, h, other.open);
      if (d_.key(d, of_d, false) != h_.key(h, of_h, false)) return false;
      if (of_d == mine.open || of_h == other.open) return of_d == mine.open && of_h == other.open;
      const index close = d_.matching(of_d), host_close = h_.matching(of_h);
      if (d_.key(of_d, close, false) == h_.key(of_h, host_close, false) && !names_other(of_d, close))
        continue;
      if (!is_one(d_, of_d, close) || !is_one(h_, of_h, host_close)) return false;
      const std::string ours = of_device(of_d + 1, close), theirs = h_.raw(of_h + 1, host_close);
      const std::string on_host = complete_ ? theirs : fmt::format("[] {}(), {}", refusal(of_d), ours);
      edits_.push_back({d_.end_of(of_d), d_.tokens()[close].offset - d_.end_of(of_d),
                        fmt::format("{} ? ({}) : ({})", on_device, ours, on_host)});
    }
  }
  // A function that both sides have.
  void join(const item& mine, const item& other) {
    const bool differ = d_.key(mine.open, mine.last, false) != h_.key(other.open, other.last, false);
    const bool kernel = d_.has(mine.first, mine.open, "__global__");
    const auto runs = [&](const char* where) {
      return d_.has(mine.first, mine.open, where) || h_.has(other.first, other.open, where);
    };
    const bool of_device = kernel || runs("__device__");
    const bool of_host =
        !kernel && (!of_device || runs("__host__") || !h_.has(other.first, other.open, "__device__") ||
                    !d_.has(mine.first, mine.open, "__device__"));
    if (!of_host) return rename_in(mine.first, mine.last);
    if (!join_initialisers(mine, other))
      refused_.push_back(d_.place(mine.head) +
                         ": initialisers of a constructor that depend on __CUDA_ARCH__ in this form are not "
                         "supported here: use assignments in its body");
    if (!differ && !names_other(mine.open, mine.last)) return;
    const std::string back = mine.last < d_.tokens().size() ? d_.marker(mine.last) : "\n";
    if (of_device) {
      if (!d_.has(mine.first, mine.open, "__host__"))
        for (index i = mine.first; i < mine.open; ++i)
          if (d_.is(i, "__device__")) edits_.push_back({d_.tokens()[i].offset, 0, "__host__ "});
      put(mine, both(mine.open, mine.close, other.open, other.close) + back);
    } else if (complete_) {
      put(mine, h_.marker(other.open) + of_host_with_lambdas(mine, other) + back);
    }
  }
  void put(const item& mine, std::string body) {
    const std::size_t at = d_.tokens()[mine.open].offset;
    edits_.push_back({at, d_.end_of(mine.close) - at, std::move(body)});
  }
  // A body of the host's, in which lambdas for the device are the device's.
  std::string of_host_with_lambdas(const item& mine, const item& other) const {
    const auto ours = d_.lambdas(mine.open, mine.last), theirs = h_.lambdas(other.open, other.last);
    if (ours.size() != theirs.size()) return h_.raw(other.open, other.last);
    std::string all;
    index next = other.open;
    for (index n = 0; n < ours.size(); ++n) {
      const auto& [open, close, is_both] = theirs[n];
      if (d_.key(ours[n].open, ours[n].close, false) == h_.key(open, close, false) &&
          !names_other(ours[n].open, ours[n].close))
        continue;
      all += h_.raw(next, open) +
             (is_both ? both(ours[n].open, ours[n].close, open, close)
                      : d_.marker(ours[n].open) + of_device(ours[n].open, ours[n].close + 1)) +
             h_.marker(close + 1);
      next = close + 1;
    }
    return all + h_.raw(next, other.last);
  }
  std::string edited() {
    std::ranges::stable_sort(edits_, {}, &edit::offset);
    std::string out;
    std::size_t at = 0;
    for (const edit& e : edits_) {
      if (e.offset < at) continue;
      (out += text_.substr(at, e.offset - at)) += e.text;
      at = e.offset + e.length;
    }
    return out + text_.substr(at);
  }

  const std::string& text_;  // the device's
  side d_, h_;
  bool complete_;
  std::vector<std::pair<item, item>> functions_;
  std::vector<item> alone_;                     // the device's alone
  std::set<std::string_view> names_, members_;  // that get the suffix on the device
  std::vector<edit> edits_;
  std::vector<std::string> refused_;
};

}  // namespace

bool tells_sides(std::string_view preprocessed) {
  std::set<std::string> seen;
  bool tells = false;
  for_each_marker(preprocessed, [&](const std::string& file, bool, bool of_system) {
    if (tells || of_system || !seen.insert(file).second) return;
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    tells = std::move(text).str().find("__CUDA_ARCH_") != std::string::npos;
  });
  return tells;
}

std::set<std::string> system_headers(std::string_view preprocessed) {
  std::set<std::string> all;
  bool in_system = true;
  for_each_marker(preprocessed, [&](const std::string& file, bool entered, bool of_system) {
    if (entered && of_system && !in_system) all.insert(file);
    in_system = of_system;
  });
  return all;
}

sides of_both_sides(const std::string& device, const std::string& host, bool complete) {
  return merger(device, host, complete).run();
}

}  // namespace antiphase::plain
