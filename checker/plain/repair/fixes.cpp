// SPDX-License-Identifier: Apache-2.0
// find_fixes() and find_needless(): one compilation holds all changes, and each run takes one of them.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <thread>
#include <tuple>

#include "checker/order/places.hpp"
#include "checker/plain/runtime/runtime.hpp"
#include "checker/plain/translate/compile/compile.hpp"
#include "checker/plain/translate/passes/statements.hpp"

namespace antiphase {
namespace {

using plain::source_line;
using plain::source_text;
using plain::statement;
using clock = std::chrono::steady_clock;

// Barriers, waits and fences.
const std::regex& ordering() {
  static const std::regex all(
      R"((__syncthreads|__syncwarp|__threadfence\w*|__pipeline_wait_prior|[\w.:()]*(\.|->|::)(sync|arrive_and_wait|consumer_wait|consumer_release|producer_acquire|wait)\s*\(|\bcudaDeviceSynchronize|\bcudaStreamSynchronize|\bfence_\w+|\bblock_barrier|\bcluster_barrier|\bcopy_async_wait|\basm\b.*"\s*(bar\.|barrier\.|fence|membar|cp\.async\.wait|cp\.async\.bulk\.wait|wgmma\.(fence|wait))))");
  return all;
}

// A change, as a number in the program: antiphase_tried(number).
struct change {
  std::string file;
  int line = 0;
  std::string old, text;  // `old` empty: a statement added after the line
  int cost = 0;           // the lower, the sooner it is proposed
  bool borrowed = false;  // uses the program's names, which may mean nothing there
};

class sources {
 public:
  const source_text& text(const std::string& file) {
    const auto [known, fresh] = known_.try_emplace(file);
    if (fresh) known->second = plain::read_source(file);
    return known->second;
  }

 private:
  std::map<std::string, source_text> known_;
};

// The edits that hold all changes. Number i + 1 is changes[i].
std::vector<plain_edit> edits_of(const std::vector<change>& changes) {
  std::vector<plain_edit> edits;
  std::map<std::tuple<std::string, int, std::string>, std::string> replaced;
  std::map<std::pair<std::string, int>, std::string> added;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const change& c = changes[i];
    if (c.old.empty())
      added[{c.file, c.line}] += fmt::format(" if (antiphase_tried({})) {{ {} }}", i + 1, c.text);
    else
      replaced[{c.file, c.line, c.old}] +=
          fmt::format("if (antiphase_tried({})) {{ {} }} else ", i + 1, c.text);
  }
  for (const auto& [key, text] : replaced) {
    const auto& [file, line, from] = key;
    edits.push_back({file, line, from, fmt::format("{{ {}{{ {} }} }}", text, from)});
  }
  for (const auto& [key, text] : added) edits.push_back({key.first, key.second, "", text});
  return edits;
}

std::string indent_of(const std::string& line) {
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

std::string diff_of(const change& c, const source_text& text) {
  constexpr int around = 2;
  const int lines = static_cast<int>(text.lines.size());
  const int from = std::max(1, c.line - around), to = std::min(lines, c.line + around);
  const bool adds = c.old.empty();
  const int before = to - from + 1;
  std::string out = fmt::format("--- {}\n+++ {}\n@@ -{},{} +{},{} @@\n", c.file, c.file, from, before, from,
                                before + (adds ? 1 : 0));
  for (int n = from; n <= to; ++n) {
    const std::string& line = text.lines[static_cast<std::size_t>(n - 1)].text;
    if (n != c.line || adds) out += " " + line + "\n";
    if (n != c.line) continue;
    if (adds) {
      const std::string& code = text.lines[static_cast<std::size_t>(n - 1)].code;
      const std::size_t last = code.find_last_not_of(" \t\r");
      const bool opens = last != std::string::npos && code[last] == '{';
      out += fmt::format("+{}{}{}\n", indent_of(line), opens ? "  " : "", c.text);
    } else {
      const statement at = plain::find_loosely(line, c.old);
      out += fmt::format("-{}\n+{}{}{}\n", line, line.substr(0, at.begin), c.text, line.substr(at.end));
    }
  }
  return out;
}

// Runs a compiled program with one of its changes.
class trials {
 public:
  trials(const plain_program& program, const std::vector<change>& changes, check_options options,
         double seconds)
      : program_(program), options_(std::move(options)) {
    program_.edits = edits_of(changes);
    options_.shorten = options_.draw = false;
    options_.output = program_output::none;
    options_.progress = {};
    options_.exhaustive = 0;
    plain::allow_more_shared(options_.limits);
    constexpr double longest = 20;
    options_.process_seconds =
        std::min(options_.process_seconds > 0 ? options_.process_seconds : longest, longest);
    built_.emplace(program_);
    end_ = clock::now() + std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  }
  bool over() const { return clock::now() > end_; }
  const check_options& options() const { return options_; }

  std::optional<check_report> run(int number, const check_options& how) const {
    try {
      return check(
          [&](const context& where) {
            plain::try_change(number);
            plain::run_main(built_->object(), program_, where);
          },
          how);
    } catch (const error&) {
      return {};  // it launches nothing any more, or uses what is refused
    }
  }
  // f(i) for i in [0, count), several at a time, until the time is over; how many were begun.
  int each(int count, const std::function<void(int)>& f) const {
    std::atomic<int> next{0}, begun{0};
    const auto work = [&] {
      for (int i = next++; i < count && !over(); i = next++) ++begun, f(i);
    };
    const unsigned cores = options_.workers > 0 ? static_cast<unsigned>(options_.workers)
                                                : std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> others;
    for (unsigned i = 1; i < cores; ++i) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();
    return begun;
  }

 private:
  plain_program program_;
  check_options options_;
  clock::time_point end_;
  std::optional<plain::compiled> built_;
};

std::tuple<finding_kind, std::string, int> key_of(const finding& f) {
  return {f.kind, f.access.place.file, f.access.place.line};
}

// candidates
// -----------------------------------------------------------------------------------------------------------

bool has(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

// Statements with a count, and the same with others.
void add_counts(const std::string& file, const source_text& text, const std::set<int>& functions,
                std::vector<change>& to) {
  static const std::regex waits(
      R"((__pipeline_wait_prior\s*\(\s*|wait_group(?:\.read)?(?:\.sync\.aligned)?\s+|wait_prior\s*<\s*|copy_async_wait\s*<\s*)(\d+))");
  static const std::regex inits(R"((\binit\s*\(\s*&?[^;,]+,\s*|\.init\s*\(\s*)([^;,()]+)\s*\)\s*;)");
  for (std::size_t n = 0; n < text.lines.size(); ++n) {
    const source_line& l = text.lines[n];
    if (l.function < 0 || !functions.contains(l.function)) continue;
    const auto replace = [&](const std::smatch& m, const std::vector<std::string>& counts) {
      const statement s = plain::statement_around(l, static_cast<std::size_t>(m.position(0)));
      if (s.end == 0) return;
      const std::string old = l.text.substr(s.begin, s.end - s.begin);
      const std::size_t at = static_cast<std::size_t>(m.position(2)) - s.begin;
      for (const std::string& count : counts)
        if (count != m[2].str())
          to.push_back({file, static_cast<int>(n + 1), old,
                        old.substr(0, at) + count + old.substr(at + static_cast<std::size_t>(m.length(2))),
                        0});
    };
    std::smatch m;
    const std::string shown = l.text;
    if (std::regex_search(shown, m, waits)) {
      std::vector<std::string> fewer;
      for (int k = std::stoi(m[2]) - 1; k >= 0 && fewer.size() < 3; --k) fewer.push_back(std::to_string(k));
      replace(m, fewer);
    } else if (std::regex_search(shown, m, inits)) {
      const std::string count = m[2];
      std::vector<std::string> others{"1", "blockDim.x", "blockDim.x * blockDim.y", "blockDim.x / 32"};
      if (count.find_first_not_of("0123456789") == std::string::npos && count.size() < 9) {
        others.push_back(std::to_string(std::stoi(count) + 1));
        if (std::stoi(count) > 1) others.push_back(std::to_string(std::stoi(count) - 1));
      } else {
        others.push_back(count + " + 1");
        others.push_back(count + " - 1");
      }
      replace(m, others);
    }
  }
}

// Orders that may be missing, as they are proposed.
std::vector<std::string> texts_for(const std::vector<const finding*>& group, const source_text& text) {
  std::string all;
  for (const source_line& l : text.lines) all += l.text + '\n';
  const std::string wait = has(all, "__pipeline_") ? "__pipeline_wait_prior(0);"
                                                   : R"(asm volatile("cp.async.wait_all;" ::: "memory");)";
  std::vector<std::string> texts;
  const auto add = [&](const std::string& t) {
    if (std::ranges::find(texts, t) == texts.end()) texts.push_back(t);
  };
  bool one_warp = true, barrier = false, waits = false, fence = false, proxy = false, cluster = false;
  for (const finding* f : group) {
    const missing_order order = f->missing.order();
    const order_scope scope = f->missing.scope();
    const bool same_block = f->earlier && f->earlier->block == f->access.block;
    const bool of_copy = order == missing_order::copy_wait || order == missing_order::bulk_wait ||
                         order == missing_order::tensor_wait;
    one_warp = one_warp && same_block && f->access.thread / 32 == f->earlier->thread / 32;
    cluster = cluster || (!same_block && scope == order_scope::cluster);
    proxy = proxy || order == missing_order::proxy_fence;
    waits = waits || f->kind == finding_kind::never_waited_for || of_copy;
    fence = fence || (order == missing_order::release_acquire && scope == order_scope::device);
    barrier = barrier || order == missing_order::block_barrier || order == missing_order::warp_sync ||
              order == missing_order::mbarrier_phase || order == missing_order::mbarrier_arrival ||
              order == missing_order::proxy_fence || order == missing_order::write ||
              (of_copy && scope == order_scope::block);
  }
  if (cluster)
    add(has(all, "cooperative_groups")
            ? "cooperative_groups::this_cluster().sync();"
            : R"(asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");)");
  if (proxy) add(R"(asm volatile("fence.proxy.async;" ::: "memory");)");
  if (fence) add("__threadfence();");
  if (waits) add(wait);
  if (barrier && one_warp) add("__syncwarp();");
  if (barrier) add("__syncthreads();");
  if (waits && barrier) add(wait + " __syncthreads();");
  return texts;
}

// Statements that order threads, as the functions have them elsewhere: "bar.arrive_and_wait();".
std::vector<std::string> orders_in(const source_text& text, const std::set<int>& functions) {
  std::vector<std::string> all;
  constexpr std::size_t most = 4;
  for (const source_line& l : text.lines) {
    std::smatch m;
    if (!functions.contains(l.function) || !std::regex_search(l.text, m, ordering())) continue;
    const statement s = plain::statement_around(l, static_cast<std::size_t>(m.position(0)));
    const std::string found = l.text.substr(s.begin, s.end - s.begin);
    if (s.end > 0 && all.size() < most && std::ranges::find(all, found) == all.end()) all.push_back(found);
  }
  return all;
}

std::vector<change> changes_for(const std::vector<const finding*>& group, const plain_program& program,
                                sources& files) {
  std::vector<change> changes;
  std::map<std::string, std::set<int>> lines;  // of the two sides and of those who called there
  bool host = false, grid = false;
  for (const finding* f : group) {
    const missing_order order = f->missing.order();
    grid = grid || order == missing_order::grid_wait;
    host = host || order == missing_order::host_sync || order == missing_order::stream_order;
    const auto add = [&](const finding_side& side) {
      if (side.place.line > 0) lines[side.place.file].insert(side.place.line);
      for (const code_place& p : side.callers) lines[p.file].insert(p.line);
    };
    add(f->access);
    if (f->earlier) add(*f->earlier);
  }
  for (const auto& [file, near_lines] : lines) {
    if (file.ends_with(".ptx") || file.ends_with(".py"))
      continue;  // a statement of C++ is no change of these
    const source_text& text = files.text(file);
    const auto function_of = [&](int line) {
      return line <= static_cast<int>(text.lines.size())
                 ? text.lines[static_cast<std::size_t>(line - 1)].function
                 : -1;
    };
    std::set<int> functions;
    for (const int line : near_lines)
      for (const int near : {line, line - 1})  // a function of one line ends where it begins
        if (near > 0 && function_of(near) >= 0) functions.insert(function_of(near));
    std::vector<std::string> texts = texts_for(group, text);
    const std::size_t own = texts.size();
    if (own > 0)
      for (const std::string& t : orders_in(text, functions))
        if (std::ranges::find(texts, t) == texts.end()) texts.push_back(t);
    int last_begun = -1;
    for (std::size_t n = 0; grid && n < text.lines.size(); ++n) {
      const source_line& l = text.lines[n];
      if (!l.boundary || !functions.contains(l.function) || l.function == last_begun) continue;
      last_begun = l.function;  // where it begins, before all else
      changes.push_back({file, static_cast<int>(n + 1), "", "cudaGridDependencySynchronize();", 0});
    }
    const int first = *near_lines.begin(), last = *near_lines.rbegin();
    for (std::size_t n = 0; n < text.lines.size(); ++n) {
      const source_line& l = text.lines[n];
      const int line = static_cast<int>(n + 1);
      if (!l.boundary || !functions.contains(l.function)) continue;
      const bool between = line >= first && line < last;
      const int away = between ? last - line : line < first ? first - line : line - last;
      for (std::size_t t = 0; t < texts.size(); ++t)
        changes.push_back(
            {.file = file,
             .line = line,
             .old = "",
             .text = texts[t],
             .cost = 1 + static_cast<int>(t) * 1000 + (between ? 0 : 100) + 20 * l.depth + std::min(away, 50),
             .borrowed = t >= own});
    }
    std::set<int> all;
    for (std::size_t i = 0; i < text.functions.size(); ++i) all.insert(static_cast<int>(i));
    add_counts(file, text, all, changes);
  }
  if (host)
    for (const std::string& source : program.sources) {
      const std::string file = checker_detail::shown(source);
      const source_text& text = files.text(file);
      for (std::size_t n = 0; n < text.lines.size(); ++n) {
        const source_line& l = text.lines[n];
        if (l.boundary && l.function >= 0 &&
            !text.functions[static_cast<std::size_t>(l.function)].on_device &&
            (has(l.code, "<<<") || has(l.code, "cuda")))
          changes.push_back({file, static_cast<int>(n + 1), "", "cudaDeviceSynchronize();", 1});
      }
    }
  std::ranges::stable_sort(changes, {}, &change::cost);
  constexpr std::size_t most = 400;
  if (changes.size() > most) changes.resize(most);
  return changes;
}

// The program with all changes that compile; null: none does. Drops the others.
std::unique_ptr<trials> compiled_with(const plain_program& program, std::vector<change>& changes,
                                      const check_options& options, double seconds) {
  constexpr int most = 4;
  for (int i = 0; i < most && !changes.empty(); ++i) try {
      return std::make_unique<trials>(program, changes, options, seconds);
    } catch (const bad_source& e) {
      const std::string said = e.what();
      const auto fails = [&](const change& c) { return has(said, fmt::format("{}:{}:", c.file, c.line)); };
      if (std::erase_if(changes, [&](const change& c) { return c.borrowed && fails(c); }) == 0 &&
          std::erase_if(changes, fails) == 0)
        break;
    }
  return nullptr;
}

}  // namespace

std::vector<plain_fix> find_fixes(const plain_program& program, check_options options,
                                  const check_report& report, double seconds) {
  std::map<int, std::vector<const finding*>> groups;
  std::set<std::tuple<finding_kind, std::string, int>> known;
  for (const finding& f : report.findings) {
    if (f.severity() == finding_severity::error) groups[f.group].push_back(&f);
    known.insert(key_of(f));
  }
  for (const finding& f : report.left_out) known.insert(key_of(f));
  sources files;
  std::vector<plain_fix> fixes;
  for (const auto& [number, group] : groups) {
    plain_fix& fix = fixes.emplace_back(plain_fix{.group = number});
    std::vector<change> changes = changes_for(group, program, files);
    if (changes.empty()) continue;
    const auto program_with = compiled_with(program, changes, options, seconds);
    if (program_with == nullptr) continue;
    std::set<std::tuple<finding_kind, std::string, int>> gone;
    for (const finding* f : group) gone.insert(key_of(*f));
    const auto helps = [&](const std::optional<check_report>& r) {
      return r && r->unfinished == 0 && std::ranges::none_of(r->findings, [&](const finding& f) {
               return gone.contains(key_of(f)) || !known.contains(key_of(f));
             });
    };
    // first the schedule that showed the first of them
    std::vector<char> may(changes.size(), 0);
    check_options once = program_with->options();
    once.replay = group.front()->first;
    once.workers = 1;
    const int count = static_cast<int>(changes.size());
    fix.tried = program_with->each(count, [&](int i) {
      may[static_cast<std::size_t>(i)] = helps(program_with->run(i + 1, once)) ? 1 : 0;
    });
    fix.all_tried = fix.tried == count;
    for (std::size_t i = 0; i < changes.size() && !program_with->over(); ++i) {
      if (may[i] == 0 || !helps(program_with->run(static_cast<int>(i + 1), program_with->options())))
        continue;
      const change& c = changes[i];
      fix.place = {c.file, c.line};
      fix.change = c.old.empty() ? fmt::format("{} after line {}", c.text, c.line)
                                 : fmt::format("{} in line {} in place of {}", c.text, c.line, c.old);
      fix.diff = diff_of(c, files.text(c.file));
      break;
    }
    if (fix.change.empty() && program_with->over()) fix.all_tried = false;
  }
  return fixes;
}

plain_needless find_needless(const plain_program& program, check_options options, double seconds) {
  sources files;
  std::vector<change> changes;
  for (const std::string& source : program.sources) {
    const std::string file = checker_detail::shown(source);
    const source_text& text = files.text(file);
    for (std::size_t n = 0; n < text.lines.size(); ++n) {
      const source_line& l = text.lines[n];
      if (l.function < 0 && l.code.find('}') == std::string::npos) continue;
      for (auto m = std::sregex_iterator(l.text.begin(), l.text.end(), ordering());
           m != std::sregex_iterator(); ++m) {
        const auto at = static_cast<std::size_t>(m->position(0));
        if (l.code[at] != l.text[at]) continue;  // in a comment
        const statement s = plain::statement_around(l, at);
        if (s.end > 0)
          changes.push_back({file, static_cast<int>(n + 1), l.text.substr(s.begin, s.end - s.begin), ";", 0});
      }
    }
  }
  plain_needless out;
  if (changes.empty()) return out;
  const auto program_without = compiled_with(program, changes, options, seconds);
  if (program_without == nullptr) return out;
  check_options one = program_without->options();
  one.workers = 1;
  std::vector<char> state(changes.size(), 0);
  const int count = static_cast<int>(changes.size());
  out.tried = program_without->each(count, [&](int i) {
    const std::optional<check_report> r = program_without->run(i + 1, one);
    const bool run = r && r->tried_change;
    state[static_cast<std::size_t>(i)] = !r || r->errors() > 0 || r->unfinished > 0 ? 0 : run ? 1 : 2;
  });
  out.all_tried = out.tried == count;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (state[i] == 1) out.needless.push_back({{changes[i].file, changes[i].line}, changes[i].old});
    out.not_run += state[i] == 2 ? 1 : 0;
  }
  return out;
}

}  // namespace antiphase
