// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/report/report.hpp"

#include <antiphase_cublas.h>
#include <link.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "preload/cublas/abi.hpp"
#include "preload/cublas/interpose/enable.hpp"
#include "preload/cublas/interpose/libraries.hpp"
#include "preload/cublas/report/record.hpp"
#include "preload/cublas/report/timer.hpp"
#include "preload/cublas/settings.hpp"

namespace antiphase::cublas {
namespace {

constexpr std::array<const char*, outcomes> texts = {"computed",
                                                     "ANTIPHASE_DISABLE",
                                                     "within cuBLAS",
                                                     "not FP32",
                                                     "factors on the device",
                                                     "unusual arguments",
                                                     "below ANTIPHASE_LEAST",
                                                     "no gain predicted",
                                                     "not measured on this GPU (see antiphase tune)",
                                                     "workspace beyond the limit",
                                                     "no memory",
                                                     "refused",
                                                     "failed"};

std::string written(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string written(const char* format, ...) {
  std::array<char, 256> text{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  return text.data();
}

// Total of all calls by cuBLAS: measured if timed, else predicted.
double seconds_of(const row& r) {
  const double each = r.timed > 0 ? r.mean.load() : r.each.cublas_seconds;
  return each * static_cast<double>(r.calls);
}
// The part of that which would be left with antiphase.
double left_of(const row& r) {
  const double share = r.each.cublas_seconds > 0 ? r.each.seconds / r.each.cublas_seconds : 1;
  return share * seconds_of(r);
}

constexpr std::array<const char*, call_kinds> kinds = {"products", "small products", "solvers", "attention",
                                                       "scans"};
struct sum {
  std::uint64_t calls = 0;
  double seconds = 0, left = 0;  // now, and with antiphase
};
using sums = std::array<sum, kinds.size()>;

// The slowest first.
using rows = std::vector<const row*>;
rows by_time(const record& b) {
  const auto words = [](const row* r) {
    const listed_product& p = r->product;
    const double time = -seconds_of(*r);
    return std::tuple(time, p.function, p.m, p.n, p.k, p.count, p.a, p.b, p.c, p.adds, p.epilogue, r->became);
  };
  rows all;
  for (const row& one : b.rows)
    if (one.calls > 0) all.push_back(&one);
  std::ranges::sort(all, {}, words);
  return all;
}

sums sums_of(const rows& all, const record* b) {
  sums of_all;
  for (const row* const r : all) {
    sum& s = of_all[static_cast<std::size_t>(kind_of(r->product))];
    s.calls += r->calls, s.seconds += seconds_of(*r);
    s.left += r->became == outcome::computed ? left_of(*r) : seconds_of(*r);
  }
  for (std::size_t i = 0; b != nullptr && i < call_kinds; ++i)
    if (const record::others& o = b->of_others[i]; o.calls > 0) of_all[i] = {o.calls, o.seconds, o.left};
  return of_all;
}
// Time that the GPU would save, and that the program would gain by it. Calls that were not measured, such as
// those captured into graphs, are taken not to wait for the host.
struct gain_of_program {
  double gpu = 0, program = 0;
  bool measured = false;
};
gain_of_program gain_of(const rows& all, const record& b) {
  gain_of_program g{.gpu = b.gpu_saved, .program = b.saved};
  for (const row* const r : all) {
    const double calls = static_cast<double>(r->calls), timed = static_cast<double>(r->timed);
    g.measured |= timed > 0;
    if (r->became != outcome::computed) continue;
    const double rest = (seconds_of(*r) - left_of(*r)) * std::max(0., calls - timed) / calls;
    g.gpu += rest, g.program += rest;
  }
  for (const record::others& o : b.of_others) g.gpu += o.not_measured, g.program += o.not_measured;
  g.measured |= b.gpu_saved > 0;
  return g;
}

// Text for the bits of cuBLASLt's epilogue.
std::string text_of_epilogue(std::uint32_t bits) {
  constexpr std::pair<std::uint32_t, const char*> parts[] = {{epilogue_bias, "bias"},
                                                             {epilogue_relu, "ReLU"},
                                                             {epilogue_gelu, "GELU"},
                                                             {epilogue_relu_gradient, "gradient of ReLU"},
                                                             {epilogue_gelu_gradient, "gradient of GELU"},
                                                             {epilogue_bias_gradient, "gradient of a bias"},
                                                             {epilogue_sums_of_a, "sums of A"},
                                                             {epilogue_sums_of_b, "sums of B"},
                                                             {epilogue_auxiliary, "an auxiliary matrix"}};
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : " + ") + name; };
  for (const auto& [bit, name] : parts) {
    if ((bits & bit) != 0) add(name);
    bits &= ~bit;
  }
  if (bits != 0) add(written("epilogue %" PRIu32, bits));
  return text;
}

std::string text_of(const listed_product& p) {
  std::string text = written("%" PRId64 " x %" PRId64 " x %" PRId64 " %c%c", p.m, p.n, p.k, p.a, p.b);
  if (p.c != 'N') text += " by rows";
  if (p.count != 1) text += written(", %" PRId64 " of them", p.count);
  if (p.adds) text += ", C added";
  if (p.epilogue > epilogue_none) text += ", " + text_of_epilogue(p.epilogue);
  return text;
}

// The process that a report is about.
struct subject {
  std::int64_t process;
  std::string rank;
  std::string (*why_nothing)();  // reason why no product was listed
  bool is_started = false;       // by `antiphase run`: reported even without products
  bool has_the_path = false;     // may use the path of a file without %p as it is; others append their number

  std::string name() const {
    const std::string of_rank = rank.empty() ? "" : ", rank " + rank;
    return "antiphase[" + std::to_string(process) + of_rank + "]";
  }
};

int stop_at_cublas(dl_phdr_info* library, std::size_t, void*) {
  return is_cublas_file(library->dlpi_name) ? 1 : 0;
}
std::string why_nothing_here() {
  return dl_iterate_phdr(stop_at_cublas, nullptr) != 0
             ? "cuBLAS was loaded, but no call of a product reached antiphase (docs/use/cublas.md says which "
               "programs "
               "it cannot serve)"
             : "no cuBLAS was loaded";
}
std::string why_nothing_is_left() {
  return "none was seen of a program that was killed, crashed, left by _exit, or could not be preloaded";
}

// A sentence: whether antiphase would help, and how much.
std::string verdict_text(const rows& all, const subject& of) {
  double now = 0, then = 0;
  std::uint64_t calls = 0, worth = 0;
  bool measured = true;
  for (const row* const r : all) {
    const bool takes = r->became == outcome::computed;
    now += seconds_of(*r), then += takes ? left_of(*r) : seconds_of(*r), calls += r->calls;
    if (takes) worth += r->calls, measured &= r->timed > 0;
  }
  if (calls == 0) return "no products: " + of.why_nothing() + "\n";
  if (worth == 0)
    return written(
        "antiphase would compute none of the %" PRIu64 " products: it would not help this program\n", calls);
  return written("antiphase would compute %" PRIu64 " of %" PRIu64
                 " products: %.3g s of products would become %.3g s, %.2f times as fast (%s; the rest of the "
                 "program stays as it is)\n",
                 worth, calls, now, then, now / then,
                 measured ? "times measured, gains predicted" : "predicted");
}

std::string table(const rows& all, std::uint64_t not_listed, const telling& how) {
  std::string text =
      written("%8s %11s %6s  %-40s %s\n", "calls", "seconds ", "gain", "product (m x n x k, A and B)", "by");
  for (const row* const r : all) {
    const std::uint64_t calls = r->calls;
    const double gain = r->each.seconds > 0 ? r->each.cublas_seconds / r->each.seconds : 0;
    const std::string seconds =
        r->timed > 0 || gain > 0 ? written("%.3g%c", seconds_of(*r), r->timed > 0 ? ' ' : '~') : "? ";
    text += written("%8" PRIu64 " %11s %6s  %-40s %-26s ", calls, seconds.c_str(),
                    gain > 0 ? written("%.2f", gain).c_str() : "", text_of(r->product).c_str(),
                    name_of(r->product.function));
    text += r->became != outcome::computed ? std::string("passed on: ") + cublas::text_of(r->became) + "\n"
            : how.profiles                 ? "would be computed\n"
                                           : "computed\n";
  }
  constexpr const char* no_room = "%8" PRIu64 " calls of other products are not listed, for lack of room\n";
  if (not_listed > 0) text += written(no_room, not_listed);
  return text;
}

// The table of kinds, and what the program gains.
std::string summary_of_profile(const rows& all, const record& b) {
  std::string text;
  const sums of_all = sums_of(all, &b);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (const sum& s = of_all[i]; s.calls > 0) {
      if (text.empty()) text = written("%8s %11s %11s  %s\n", "calls", "seconds ", "would be ", "kind");
      text += written("%8" PRIu64 " %10.3g  %10.3g   %s\n", s.calls, s.seconds, s.left, kinds[i]);
    }
  const gain_of_program g = gain_of(all, b);
  if (!g.measured || g.gpu == 0) return text;
  return text + written("of %.3g s that the GPU would save the program would gain %.3g s%s\n", g.gpu,
                        g.program,
                        g.program < .9 * g.gpu ? ": for the rest, the GPU would wait for the host" : "");
}

std::string json(const rows& all, std::uint64_t not_listed, const subject& of, const record* b) {
  std::string text = "{\n  \"schema\": 1,\n  \"products\": [";
  const char* separator = "\n";
  for (const row* const r : all) {
    const listed_product& p = r->product;
    const std::uint64_t calls = r->calls;
    text += separator;
    text += written("    {\"by\": \"%s\", \"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64
                    ", \"count\": %" PRId64 ", \"layout\": \"%c%c%c\", ",
                    name_of(p.function), p.m, p.n, p.k, p.count, p.a, p.b, p.c);
    text += written("\"adds\": %s, \"epilogue\": %" PRIu32 ", \"calls\": %" PRIu64
                    ", \"seconds\": %.6g, \"measured\": %s, ",
                    p.adds ? "true" : "false", p.epilogue, calls, seconds_of(*r),
                    r->timed > 0 ? "true" : "false");
    text += written("\"predicted\": {\"ours\": %.6g, \"cublas\": %.6g}, \"taken\": %s, \"why\": \"%s\"}",
                    r->each.seconds, r->each.cublas_seconds,
                    r->became == outcome::computed ? "true" : "false", cublas::text_of(r->became));
    separator = ",\n";
  }
  std::string sentence = verdict_text(all, of);
  sentence.pop_back();
  text += "\n  ],\n  \"kinds\": {";
  separator = "";
  const sums of_all = sums_of(all, b);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (const sum& s = of_all[i]; s.calls > 0) {
      text += written("%s\n    \"%s\": {\"calls\": %" PRIu64 ", \"seconds\": %.6g, \"would_be\": %.6g}",
                      separator, kinds[i], s.calls, s.seconds, s.left);
      separator = ",";
    }
  const gain_of_program g = b == nullptr ? gain_of_program() : gain_of(all, *b);
  text += written("\n  },\n  \"gain\": {\"gpu_seconds\": %.6g, \"seconds\": %.6g, \"measured\": %s},\n",
                  g.gpu, g.program, g.measured ? "true" : "false");
  text += written("  \"calls_not_listed\": %" PRIu64 ",\n", not_listed);
  return text + "  \"decision\": \"" + sentence + "\"\n}\n";
}

// One line: "147 of 159 products computed ..."
std::string summary(const record& b) {
  const std::uint64_t all = b.all(), computed = b.count_of(outcome::computed);
  const std::uint64_t verified = b.verified, not_verified = b.not_verified;
  std::string text = written("%" PRIu64 " of %" PRIu64 " products computed (%.0f %%)", computed, all,
                             all == 0 ? 0. : 100. * static_cast<double>(computed) / static_cast<double>(all));
  for (const call_kind kind : {call_kind::small_products, call_kind::solvers})
    if (const std::uint64_t n = b.computed[static_cast<std::size_t>(kind)]; n > 0)
      text += written(", %" PRIu64 " of them %s", n, kinds[static_cast<std::size_t>(kind)]);
  if (computed > 0)
    text += written(", %.3g s saved as predicted", 1e-12 * static_cast<double>(b.picoseconds_saved.load()));
  const char* separator = "; passed on: ";
  for (int i = 1; i < outcomes; ++i)
    if (const std::uint64_t n = b.count_of(static_cast<outcome>(i)); n > 0)
      text += written("%s%" PRIu64 " %s", separator, n, texts[static_cast<std::size_t>(i)]), separator = ", ";
  if (verified + not_verified > 0) {
    const auto& [relative, product] = b.differences[b.worst];
    text += written("; compared with cuBLAS: %" PRIu64, verified);
    if (verified > 0)
      text += written(", the worst differs by %.2g, of %s", relative, text_of(product).c_str());
    if (not_verified > 0) text += written(" (%" PRIu64 " could not be)", not_verified);
  }
  return text + "\n";
}

// %p in the path stands for the process number.
void write_to(std::string path, const std::string& text, const subject& of) {
  if (path.find("%p") == std::string::npos && !of.has_the_path) path += ".%p";
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;)
    path.replace(at, 2, std::to_string(of.process));
  std::FILE* const file = std::fopen(path.c_str(), "we");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file != nullptr && std::fclose(file) != 0) || !written)
    std::fprintf(stderr, "antiphase: cannot write '%s': %s\n", path.c_str(), std::strerror(errno));
}

// `b` is null if there were no products. how.reports must be set.
void tell(const record* b, const subject& of, const telling& how) {
  const bool none = b == nullptr || b->all() == 0;
  const bool others =
      b != nullptr && std::ranges::any_of(b->of_others, [](const auto& o) { return o.calls > 0; });
  if (!(how.profiles || *how.reports) || (none && !others && !of.is_started)) return;
  const rows all = !none && how.lists() ? by_time(*b) : rows();
  const std::uint64_t not_listed = none ? 0 : b->not_listed.load();
  std::string text, in_file;
  if (!none && how.profiles) {
    in_file = table(all, not_listed, how) + summary_of_profile(all, *b) + verdict_text(all, of);
    text = "products of this program, all computed by cuBLAS\n" + in_file;
  } else {
    text = none ? verdict_text(all, of) : summary(*b);
    if (none && how.profiles && b != nullptr) text += summary_of_profile(all, *b);
    in_file = of.name() + ": " + text + (none ? "" : table(all, not_listed, how));
  }
  if (how.log_file.empty())
    std::fputs((of.name() + ": " + text).c_str(), stderr);
  else
    write_to(how.log_file, in_file, of);
  if (how.profiles && !how.profile_json.empty()) write_to(how.profile_json, json(all, not_listed, of, b), of);
}

void tell_of_this_process() noexcept try {
  telling how = said();
  const subject of{.process = getpid(),
                   .rank = rank_of_process(),
                   .why_nothing = why_nothing_here,
                   .is_started = was_started(),
                   .has_the_path = was_started() || std::getenv("ANTIPHASE_STARTED") == nullptr};
  record* const b = has_record() ? record_of_process().get() : nullptr;
  // A program that was redirected while running gets a report only if asked for.
  if (!how.reports) how.reports = b != nullptr && b->count_of(outcome::computed) > 0 && !has_been_enabled();
  if (b == nullptr) return tell(nullptr, of, how);
  finish_timing();
  const std::scoped_lock lock(record_of_process().change());
  tell(b, of, how);
} catch (...) {  // out of memory
}

const struct at_end {
  ~at_end() {
    tell_of_this_process();
    mark_told();
  }
} told_at_the_end;

// False for zombies, too.
bool lives(std::int64_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::size_t name_ends = text.rfind(") ");
  if (name_ends == std::string::npos) return kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM;
  const char state = text[name_ends + 2];
  return state != 'Z' && state != 'X';
}

}  // namespace

call_kind kind_of(const listed_product& p) {
  constexpr double small = 256. * 256 * 256;
  if (splits_a_triangle(p.function)) return call_kind::solvers;
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  return real(p.m) * real(p.n) * real(p.k) * real(p.count) < small ? call_kind::small_products
                                                                   : call_kind::products;
}

const char* text_of(outcome what) { return texts[static_cast<std::size_t>(what)]; }

std::string report() {
  const record* const b = record_of_process().get();
  return "antiphase: " + (b == nullptr ? "there was no memory to count products\n" : summary(*b));
}

void tell_what_is_left(const std::string& folder, std::int64_t started) noexcept try {
  const telling asked = telling_of_environment();
  bool told = has_told(folder);
  const auto tell_of = [&](const record* b, std::int64_t process, const std::string& rank) {
    telling how = asked;
    if (!how.reports) how.reports = b != nullptr && b->count_of(outcome::computed) > 0;
    const bool is_it = process == started && !told;
    told |= is_it;
    subject of{.process = process, .rank = rank, .why_nothing = why_nothing_is_left};
    of.is_started = of.has_the_path = is_it;
    tell(b, of, how);
  };
  std::vector<std::string> files;
  for (const auto& one : std::filesystem::directory_iterator(folder)) files.push_back(one.path().string());
  std::ranges::sort(files);
  for (const std::string& file : files) {
    const mapped_record b = record_in(file);
    if (b != nullptr && !lives(b->process)) tell_of(b.get(), b->process, b->rank.data());
  }
  if (!told) tell_of(nullptr, started, rank_of_process());
} catch (const std::exception& failed) {
  std::fprintf(stderr, "antiphase: cannot read the records in '%s': %s\n", folder.c_str(), failed.what());
}

}  // namespace antiphase::cublas

void* antiphase_cublas_begin(antiphase_stream stream) try {
  antiphase::cublas::record_of_process();  // what it will list is reported at the end
  return new antiphase::cublas::timing(stream);
} catch (...) {
  return nullptr;
}
int antiphase_cublas_end(void* begun, const char* kind, double seconds, double would_be) {
  using namespace antiphase::cublas;
  const std::unique_ptr<timing> time(static_cast<timing*>(begun));
  const outcome what = would_be < seconds ? outcome::computed : outcome::no_gain;
  for (const call_kind one : {call_kind::attention, call_kind::scans})
    if (kind != nullptr && std::strcmp(kind, kinds[static_cast<std::size_t>(one)]) == 0) {
      if (time == nullptr || !time->ends_with(one, {}, what, {would_be, seconds}))
        list_others(one, seconds, would_be, false);
      return 0;
    }
  return -1;
}

size_t antiphase_cublas_report(char* text, size_t room) try {
  const std::string all = antiphase::cublas::report();
  if (text != nullptr && room > 0) text[all.copy(text, room - 1)] = '\0';
  return all.size();
} catch (...) {
  return 0;
}
