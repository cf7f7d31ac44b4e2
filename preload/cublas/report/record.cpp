// SPDX-License-Identifier: Apache-2.0
#include "preload/cublas/report/record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/per_process.hpp"

namespace antiphase::cublas {
namespace {

constinit lasting<per_process<own_record>> of_process;
constinit std::atomic<pid_t> recorded = 0;  // last process that has made one

const char* folder_of_records() {
  const char* const folder = std::getenv("ANTIPHASE_RECORDS");
  return folder == nullptr || *folder == '\0' ? nullptr : folder;
}
std::string told_in(const std::string& folder) { return folder + "/told"; }

mapped_record mapped(int protection, int kind, int file) {
  void* const memory = mmap(nullptr, sizeof(record), protection, kind, file, 0);
  return mapped_record(memory == MAP_FAILED ? nullptr : static_cast<record*>(memory));
}

// Allocates at once. A write into a hole of a mapped file would kill the program if the disk is full; so
// would a file above RLIMIT_FSIZE.
bool has_room(int file) {
  rlimit most{};
  if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < sizeof(record)) return false;
  int failed = EINTR;
  while (failed == EINTR) failed = posix_fallocate(file, 0, sizeof(record));
  return failed == 0;
}

// Null, with an empty name, if that fails.
mapped_record in_a_file(const char* folder, std::string& name) {
  name = std::string(folder) + "/" + std::to_string(getpid()) + ".XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  mapped_record made;
  if (file >= 0) {
    if (has_room(file)) made = mapped(PROT_READ | PROT_WRITE, MAP_SHARED, file);
    if (made == nullptr) unlink(name.c_str());
    close(file);
  }
  if (made == nullptr) name.clear();
  return made;
}

std::size_t hash_of(const listed_product& p, outcome what) {
  std::uint64_t h = 0;
  const auto mix = [&h](auto word) {
    h = (h ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  };
  for (const std::int64_t extent : {p.m, p.n, p.k, p.count}) mix(extent);
  for (const char layout : {p.a, p.b, p.c}) mix(layout);
  mix(p.adds), mix(p.epilogue), mix(p.function), mix(what);
  return h;
}

// The product's row, or a free one in its probe sequence; null: neither within `tries`.
row* row_of(record& r, const listed_product& p, outcome what) {
  constexpr std::size_t tries = 64;
  const std::size_t first = hash_of(p, what);
  for (std::size_t i = 0; i < tries; ++i) {
    row& one = r.rows[(first + i) % r.rows.size()];
    if (one.calls == 0 || (one.became == what && one.product == p)) return &one;
  }
  return nullptr;
}

record* counted() noexcept try { return record_of_process().get(); } catch (...) {
  return nullptr;  // out of memory
}
template <class F> void change(F f) noexcept try {
  own_record& own = record_of_process();
  const std::scoped_lock lock(own.change());
  if (record* const r = own.get(); r != nullptr) f(*r);
} catch (...) {
}

}  // namespace

std::uint64_t record::all() const {
  std::uint64_t sum = 0;
  for (const auto& one : counts) sum += one.load(std::memory_order_relaxed);
  return sum;
}

void unmapped::operator()(record* of) const noexcept { munmap(of, sizeof(record)); }

mapped_record record_in(const std::string& file) {
  const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return nullptr;
  struct stat about {};
  const bool whole = fstat(opened, &about) == 0 && about.st_size == off_t{sizeof(record)};
  mapped_record found = whole ? mapped(PROT_READ, MAP_SHARED, opened) : nullptr;
  close(opened);
  return found != nullptr && found->layout == layout_of_records ? std::move(found) : nullptr;
}

own_record::own_record() noexcept try {
  if (const char* const folder = folder_of_records(); folder != nullptr) is_ = in_a_file(folder, file_);
  if (is_ == nullptr) is_ = mapped(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (is_ == nullptr) return;
  is_->process = getpid();
  rank_of_process().copy(is_->rank.data(), is_->rank.size() - 1);
  is_->layout.store(layout_of_records, std::memory_order_release);
  recorded = getpid();
} catch (...) {
}
own_record::~own_record() { forget_file(); }
void own_record::forget_file() noexcept {
  if (!file_.empty()) unlink(file_.c_str());
}

own_record& record_of_process() { return of_process.value.get(); }
bool has_record() noexcept { return recorded == getpid(); }

std::string rank_of_process() {
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* const rank = std::getenv(name); rank != nullptr && *rank != '\0') return rank;
  return {};
}
bool was_started() {
  const char* const number = std::getenv("ANTIPHASE_STARTED");
  return number != nullptr && std::to_string(getpid()) == number;
}

void mark_told() noexcept try {
  if (const char* const folder = folder_of_records(); folder != nullptr && was_started())
    close(open(told_in(folder).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (has_record()) record_of_process().forget_file();
} catch (...) {
}
bool has_told(const std::string& folder) { return access(told_in(folder).c_str(), F_OK) == 0; }

void count(outcome what, const prediction& predicted) noexcept {
  record* const r = counted();
  if (r == nullptr) return;
  r->counts[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  if (what != outcome::computed) return;
  const double saved = predicted.cublas_seconds - predicted.seconds;
  r->picoseconds_saved.fetch_add(static_cast<std::int64_t>(saved * 1e12), std::memory_order_relaxed);
}

void count_computed(call_kind kind) noexcept {
  if (record* const r = counted(); r != nullptr)
    r->computed[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

void list(const listed_product& p, outcome what, const prediction& predicted) noexcept {
  change([&](record& r) {
    row* const to = row_of(r, p, what);
    if (to == nullptr) {
      ++r.not_listed;
      return;
    }
    if (to->calls == 0) to->product = p, to->became = what;
    to->each = predicted;
    ++to->calls;
  });
}
void list_time(const listed_product& p, outcome what, double measured) noexcept {
  change([&](record& r) {
    row* const to = row_of(r, p, what);
    if (to == nullptr || to->calls == 0) return;
    // A running mean stays valid if a crash lets only one of both stores through.
    to->mean = to->mean + (measured - to->mean) / static_cast<double>(to->timed + 1);
    ++to->timed;
  });
}
void list_saved(double gpu, double program) noexcept {
  change([&](record& r) { r.gpu_saved = gpu, r.saved = program; });
}
void list_others(call_kind kind, double seconds, double left, bool measured) noexcept {
  change([&](record& r) {
    record::others& all = r.of_others[static_cast<std::size_t>(kind)];
    ++all.calls, all.seconds = all.seconds + seconds, all.left = all.left + left;
    if (!measured) all.not_measured = all.not_measured + seconds - left;
  });
}
void count_verified(const listed_product& p, double difference) noexcept {
  change([&](record& r) {
    const std::uint32_t worst = r.worst;
    if (r.verified == 0 || !(difference <= r.differences[worst].relative)) {
      r.differences[1 - worst] = {.relative = difference, .product = p};
      r.worst = 1 - worst;
    }
    ++r.verified;
  });
}
void count_not_verified() noexcept {
  change([](record& r) { ++r.not_verified; });
}

}  // namespace antiphase::cublas
