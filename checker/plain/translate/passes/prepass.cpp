// SPDX-License-Identifier: Apache-2.0
// The pass over a source: words, scopes, and the text that results.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "checker/plain/translate/compile/missing_headers.hpp"
#include "checker/plain/translate/dialect.hpp"
#include "checker/plain/translate/passes/source_pass.hpp"

namespace antiphase::plain {
namespace {

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

// Words that something else says in C++.
constexpr std::pair<std::string_view, const char*> plain_words[] = {
    {"__align__", "alignas"},
    {"__forceinline__", "inline __attribute__((always_inline))"},
    {"__noinline__", "__attribute__((noinline))"}};

}  // namespace

translation source_pass::run() {
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
void source_pass::replace(index first, index last, std::string with) {
  const std::string_view old = text(first, last);
  with.append(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
  edits_.push_back({t_[first].offset, old.size(), std::move(with)});
}
void source_pass::insert_before(index i, std::string what) {
  edits_.push_back({t_[i].offset, 0, std::move(what)});
}
void source_pass::drop(index first, index last) { replace(first, last, " "); }
void source_pass::refuse(index i, std::string_view what, std::string_view instead) {
  std::string use(instead);
  if (in_device_ && instead != launch_by_host) use += or_by_nvcc;
  refused_.emplace_back(i, refusal{file_of(i), t_[i].line, std::string(what), std::move(use)});
}
std::vector<refusal> source_pass::refusals() const {
  std::vector<refusal> all;
  for (const auto& one : refused_)
    if (const refusal& r = one.second; std::none_of(all.begin(), all.end(), [&](const refusal& o) {
          return o.file == r.file && o.subject == r.subject;
        }))
      all.push_back(r);
  return all;
}
void source_pass::follow_scopes(index i) {
  if (is(i, "{")) {
    bool names = false, on_device = in_device_, generic = in_template_;
    for (index k = i; k-- > 0 && !is(k, ";") && !is(k, "{") && !is(k, "}");) {
      generic |= is(k, "template");
      names |= is(k, "namespace") || (is(k, "extern") && t_[k + 1].kind == token_kind::text && k + 2 == i);
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
bool source_pass::in_namespace() const {
  return std::all_of(scopes_.begin(), scopes_.end(), [](bool names) { return names; });
}
// Arguments of a call that takes a kernel's address keep the kernel's type. False: no such call.
bool source_pass::keeps_types(index i) {
  const std::string_view w = t_[i].text;
  if (!is(i + 1, "(")) return false;
  if (w == "cudaLaunchKernel" || w == "cudaLaunchCooperativeKernel" || w == "cudaFuncSetAttribute" ||
      w == "cudaFuncGetAttributes") {
    keep_type(i + 2);
    return true;
  }
  if (w != "cudaLaunchKernelExC") return false;
  for (index k = i + 2; k < matching(i + 1); ++k) {
    if (is(k, "(") || is(k, "[") || is(k, "{")) k = matching(k);
    if (!is(k, ",")) continue;
    keep_type(k + 1);
    break;
  }
  return true;
}
index source_pass::word(index i) {
  const std::string_view w = t_[i].text;
  if (dynamic_.contains(w) && !is(i - 1, ".") && !is(i - 1, "->") && !is(i - 1, "::")) use_as_array(i);
  if (older_ && std::ranges::find(words_of_newer, w) != std::end(words_of_newer))
    replace(i, i + 1, std::string(w) + "_ap_name");
  if (w == "__shared__") return shared(i);
  if (w == "__device__" || w == "__constant__" || w == "__managed__") return device(i);
  if ((w == "asm" || w == "__asm__" || w == "__asm") && !is(i - 1, "]")) return inline_ptx(i);
  if (keeps_types(i)) {
  } else if (in_device_ && is(i + 1, "(") && !is(i - 1, ".") && !is(i - 1, "->") &&
             std::find(std::begin(called_by_launchers), std::end(called_by_launchers), w) !=
                 std::end(called_by_launchers)) {
    refuse(i, fmt::format("{}() in a kernel", w), launch_by_host);
  } else if (generic_.contains(w) && take_address(i)) {
  } else if (w == "__global__" || w == "__host__" || w == "__grid_constant__" || w == "__nv_pure__") {
    if (w == "__global__") note_parameters(i);
    drop(i, i + 1);
  } else if (w == "__launch_bounds__" && is(i + 1, "(")) {
    const index end = matching(i + 1);
    note_bounds(i, end);
    drop(i, end + 1);
    return end;
  } else if (w == "__cluster_dims__" && is(i + 1, "(")) {
    return cluster_dimensions(i);
  } else if (w == "main" && is(i + 1, "(") && in_namespace() && is_driven(i)) {
    replace(i, i + 1, "antiphase_plain_main_of_kernels");
  } else if (const auto* const plain =
                 std::ranges::find(plain_words, w, &std::pair<std::string_view, const char*>::first);
             plain != std::end(plain_words) && (w != "__noinline__" || !is(i + 1, ")"))) {
    replace(i, i + 1, plain->second);
  } else if (reads_built_in(t_, i)) {
    replace(i, i + 1, built_in(w));
  } else if (const auto s = file_wide_.find(w);
             s != file_wide_.end() && !is(i - 1, ".") && !is(i - 1, "->") && !is(i - 1, "::")) {
    replace(i, i + 1, s->second);
  } else if (const unsupported_name* u = unsupported(w);
             u != nullptr && (w != "texture" || is(i + 1, "<")) && !is(i - 1, ".") && !is(i - 1, "->")) {
    refuse(i, u->name, u->instead);
  } else if (const unsupported_name* call = unsupported_of_library(w, is(i + 1, "("), source_);
             call != nullptr && !is(i - 1, ".") && !is(i - 1, "->") && !own_functions_.contains(w)) {
    refuse(i, w, call->instead);
  }
  return i;
}
std::string source_pass::assembled() {
  edits_.insert(edits_.end(), ways_out_.begin(), ways_out_.end());
  edits_.insert(edits_.begin(), rounds_.begin(), rounds_.end());  // insertions go before replacements
  std::stable_sort(edits_.begin(), edits_.end(),
                   [](const edit& a, const edit& b) { return a.offset < b.offset; });
  std::string out;
  std::size_t at = 0;
  for (const edit& e : edits_) {
    if (e.offset < at) continue;  // inside an edit that replaced it
    out += source_.substr(at, e.offset - at);
    out += e.text;
    at = e.offset + e.length;
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

std::string to_text(const refusal& r) {
  return fmt::format("{}:{}: {} is not supported here: use {}", r.file, r.line, r.subject, r.instead);
}

translation translate(std::string_view preprocessed, int& numbers, const driven& sources, bool whole,
                      bool older) {
  return source_pass(preprocessed, numbers, sources, whole, older).run();
}

}  // namespace antiphase::plain
