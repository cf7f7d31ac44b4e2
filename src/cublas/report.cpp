// SPDX-License-Identifier: Apache-2.0
#include "src/cublas/report.hpp"

#include <antiphase_cublas.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "src/cublas/abi.hpp"
#include "src/cublas/enable.hpp"
#include "src/cublas/libraries.hpp"
#include "src/cublas/settings.hpp"
#include "src/cublas/timer.hpp"
#include "src/per_process.hpp"

namespace antiphase::cublas {
namespace {

constexpr std::array<const char*, outcomes> texts = {"computed",
                                                     "ANTIPHASE_DISABLE",
                                                     "within cuBLAS",
                                                     "not FP32",
                                                     "factors on the device",
                                                     "unusual arguments",
                                                     "small",
                                                     "no gain predicted",
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

struct kept {
  std::uint64_t calls = 0, timed = 0;
  double measured = 0;  // seconds, of those that were
  prediction each;
  // Of all calls with cuBLAS.
  double seconds() const {
    const auto all = static_cast<double>(calls);
    return timed > 0 ? measured / static_cast<double>(timed) * all : each.cublas_seconds * all;
  }
  // What of that would be left.
  double left() const { return each.cublas_seconds > 0 ? seconds() * each.seconds / each.cublas_seconds : seconds(); }
};
using key = std::pair<listed_product, outcome>;
struct order {
  bool operator()(const key& x, const key& y) const {
    const auto words = [](const key& of) {
      const listed_product& p = of.first;
      return std::tuple(p.by, p.m, p.n, p.k, p.count, p.a, p.b, p.c, p.adds, p.epilogue, of.second);
    };
    return words(x) < words(y);
  }
};
using row = std::pair<const key, kept>;

struct books {
  std::array<std::atomic<std::uint64_t>, outcomes> counts{};
  std::atomic<std::int64_t> picoseconds_saved = 0;  // less what was lost, if one was taken all the same

  std::mutex change;  // of all below
  std::map<key, kept, order> products;
  std::uint64_t verified = 0, not_verified = 0;
  double worst = 0;
  listed_product worst_of;

  std::uint64_t count_of(outcome what) const { return counts[static_cast<std::size_t>(what)].load(std::memory_order_relaxed); }
  std::uint64_t all() const {
    std::uint64_t sum = 0;
    for (const auto& one : counts) sum += one.load(std::memory_order_relaxed);
    return sum;
  }
};

constinit lasting<per_process<books>> of_process;
books& open_books() { return of_process.is.get(); }

// What cublasLt's number of an epilogue means, bit by bit.
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

std::vector<const row*> by_time(const books& b) {
  std::vector<const row*> all;
  for (const row& one : b.products) all.push_back(&one);
  std::ranges::stable_sort(all, [](const row* x, const row* y) { return x->second.seconds() > y->second.seconds(); });
  return all;
}

// The process that `antiphase run` has become; its children inherit all of its environment.
bool was_started() {
  const char* const number = std::getenv("ANTIPHASE_STARTED");
  return number != nullptr && std::to_string(getpid()) == number;
}

// Who speaks: of several processes, and of a parallel program's ranks.
std::string speaker() {
  std::string text = "antiphase[" + std::to_string(getpid());
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(name); rank != nullptr && *rank != '\0') return text + ", rank " + rank + "]";
  return text + "]";
}

int stop_at_cublas(dl_phdr_info* library, std::size_t, void*) { return is_cublas_file(library->dlpi_name) ? 1 : 0; }
std::string why_nothing() {
  return dl_iterate_phdr(stop_at_cublas, nullptr) != 0
             ? "cuBLAS was loaded, and no product of it was called through here (docs/cublas.md says who is not served)"
             : "no cuBLAS was loaded";
}

// Whether it would help, and how much.
std::string judgement(const books& b) {
  double now = 0, then = 0;
  std::uint64_t calls = 0, worth = 0;
  bool measured = true;
  for (const auto& [what, k] : b.products) {
    const bool takes = what.second == outcome::computed;
    now += k.seconds(), then += takes ? k.left() : k.seconds(), calls += k.calls;
    if (takes) worth += k.calls, measured &= k.timed > 0;
  }
  if (calls == 0) return "no products: " + why_nothing() + "\n";
  if (worth == 0) return written("antiphase would compute none of the %" PRIu64 " products: it would not help this program\n", calls);
  return written("antiphase would compute %" PRIu64 " of %" PRIu64
                 " products: %.3g s of products would become %.3g s, %.2f times as fast (%s; the rest of the program stays as it is)\n",
                 worth, calls, now, then, now / then, measured ? "times measured, gains predicted" : "predicted");
}

std::string table(const books& b) {
  std::string text = written("%8s %11s %6s  %-40s %s\n", "calls", "seconds ", "gain", "product (m x n x k, A and B)", "by");
  for (const row* const one : by_time(b)) {
    const auto& [what, k] = *one;
    const double gain = k.each.seconds > 0 ? k.each.cublas_seconds / k.each.seconds : 0;
    const std::string seconds = k.timed > 0 || gain > 0 ? written("%.3g%c", k.seconds(), k.timed > 0 ? ' ' : '~') : "? ";
    text += written("%8" PRIu64 " %11s %6s  %-40s %-26s ", k.calls, seconds.c_str(), gain > 0 ? written("%.2f", gain).c_str() : "",
                    text_of(what.first).c_str(), name_of(what.first.by));
    text += what.second != outcome::computed ? std::string("passed on: ") + cublas::text_of(what.second) + "\n"
            : said().profiles                ? "would be computed\n"
                                             : "computed\n";
  }
  return text;
}

std::string json(const books& b) {
  std::string text = "{\n  \"schema\": 1,\n  \"products\": [";
  const char* separator = "\n";
  for (const row* const one : by_time(b)) {
    const auto& [what, k] = *one;
    const listed_product& p = what.first;
    text += separator;
    text += written("    {\"by\": \"%s\", \"m\": %" PRId64 ", \"n\": %" PRId64 ", \"k\": %" PRId64 ", \"count\": %" PRId64
                    ", \"layout\": \"%c%c%c\", ",
                    name_of(p.by), p.m, p.n, p.k, p.count, p.a, p.b, p.c);
    text += written("\"adds\": %s, \"epilogue\": %" PRIu32 ", \"calls\": %" PRIu64 ", \"seconds\": %.6g, \"measured\": %s, ",
                    p.adds ? "true" : "false", p.epilogue, k.calls, k.seconds(), k.timed > 0 ? "true" : "false");
    text += written("\"predicted\": {\"ours\": %.6g, \"cublas\": %.6g}, \"taken\": %s, \"why\": \"%s\"}", k.each.seconds,
                    k.each.cublas_seconds, what.second == outcome::computed ? "true" : "false", cublas::text_of(what.second));
    separator = ",\n";
  }
  std::string sentence = judgement(b);
  sentence.pop_back();
  return text + "\n  ],\n  \"judgement\": \"" + sentence + "\"\n}\n";
}

// "147 of 159 products computed ...", a line.
std::string summary(const books& b) {
  const std::uint64_t all = b.all(), computed = b.count_of(outcome::computed);
  std::string text = written("%" PRIu64 " of %" PRIu64 " products computed (%.0f %%)", computed, all,
                             all == 0 ? 0. : 100. * static_cast<double>(computed) / static_cast<double>(all));
  if (computed > 0) text += written(", %.3g s saved as predicted", 1e-12 * static_cast<double>(b.picoseconds_saved.load()));
  const char* separator = "; passed on: ";
  for (int i = 1; i < outcomes; ++i)
    if (const std::uint64_t n = b.count_of(static_cast<outcome>(i)); n > 0)
      text += written("%s%" PRIu64 " %s", separator, n, texts[static_cast<std::size_t>(i)]), separator = ", ";
  if (b.verified + b.not_verified > 0) {
    text += written("; compared with cuBLAS: %" PRIu64, b.verified);
    if (b.verified > 0) text += written(", the worst differs by %.2g, of %s", b.worst, text_of(b.worst_of).c_str());
    if (b.not_verified > 0) text += written(" (%" PRIu64 " could not be)", b.not_verified);
  }
  return text + "\n";
}

// %p in the path is the number of the process. Without it the process that was started has the path, and its children theirs.
void write_to(std::string path, const std::string& text) {
  if (path.find("%p") == std::string::npos && std::getenv("ANTIPHASE_STARTED") != nullptr && !was_started()) path += ".%p";
  for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos;) path.replace(at, 2, std::to_string(getpid()));
  std::FILE* const file = std::fopen(path.c_str(), "we");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file != nullptr && std::fclose(file) != 0) || !written)
    std::fprintf(stderr, "antiphase: cannot write '%s': %s\n", path.c_str(), std::strerror(errno));
}

void tell() noexcept try {
  books& b = open_books();
  const settings& s = said();
  const auto write = [&](const std::string& text, const std::string& in_file) {
    if (s.log_file.empty())
      std::fputs((speaker() + ": " + text).c_str(), stderr);
    else
      write_to(s.log_file, in_file);
    if (s.profiles && !s.profile_json.empty()) write_to(s.profile_json, json(b));
  };
  if (b.all() == 0) {
    if (!was_started() || !(s.profiles || s.reports.value_or(false))) return;
    const std::string line = "no products: " + why_nothing() + "\n";
    return write(line, speaker() + ": " + line);
  }
  finish_timing();
  const std::scoped_lock lock(b.change);
  if (s.profiles) {
    const std::string text = table(b) + judgement(b);
    return write("products of this program, all computed by cuBLAS\n" + text, text);
  }
  // Who has been led here while running is told only if he asks.
  if (!s.reports.value_or(b.count_of(outcome::computed) > 0 && !has_been_enabled())) return;
  const std::string line = summary(b);
  write(line, speaker() + ": " + line + table(b));
} catch (...) {  // there is no memory for words
}

const struct at_end {
  ~at_end() { tell(); }
} told_at_the_end;

}  // namespace

const char* text_of(outcome what) { return texts[static_cast<std::size_t>(what)]; }

void count(outcome what, const prediction& predicted) noexcept {
  books& b = open_books();
  b.counts[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  if (what == outcome::computed)
    b.picoseconds_saved.fetch_add(static_cast<std::int64_t>((predicted.cublas_seconds - predicted.seconds) * 1e12),
                                  std::memory_order_relaxed);
}

namespace {

// Changes what stands under the lock; for want of memory not.
template <class F> void change(F f) noexcept try {
  books& b = open_books();
  const std::scoped_lock lock(b.change);
  f(b);
} catch (...) {
}

}  // namespace

void list(const listed_product& p, outcome what, const prediction& predicted) noexcept {
  change([&](books& b) {
    kept& k = b.products[{p, what}];
    ++k.calls, k.each = predicted;
  });
}
void list_time(const listed_product& p, outcome what, double measured) noexcept {
  change([&](books& b) {
    kept& k = b.products[{p, what}];
    ++k.timed, k.measured += measured;
  });
}
void count_verified(const listed_product& p, double difference) noexcept {
  change([&](books& b) {
    if (b.verified++ == 0 || !(difference <= b.worst)) b.worst = difference, b.worst_of = p;
  });
}
void count_not_verified() noexcept {
  change([](books& b) { ++b.not_verified; });
}

std::string report() { return "antiphase: " + summary(open_books()); }

}  // namespace antiphase::cublas

size_t antiphase_cublas_report(char* text, size_t room) try {
  const std::string all = antiphase::cublas::report();
  if (text != nullptr && room > 0) text[all.copy(text, room - 1)] = '\0';
  return all.size();
} catch (...) {
  return 0;
}
