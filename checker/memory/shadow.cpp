// SPDX-License-Identifier: Apache-2.0
#include "shadow.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <cstring>
#include <new>

namespace antiphase::checker_detail {
namespace {

constexpr std::size_t alignment = 256, huge_page = std::size_t{2} << 20;

void* reserve(std::size_t bytes) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}
void forget(void* memory, std::size_t bytes) {
  if (bytes > 0) madvise(memory, bytes, MADV_DONTNEED);
}

}  // namespace

shadow::shadow()
    : base_(static_cast<unsigned char*>(reserve(size()))),
      cells_(static_cast<cell*>(reserve(size() / 4 * sizeof(cell)))),
      uniform_(static_cast<std::uint32_t*>(reserve(size() / chunk * sizeof(std::uint32_t)))) {
  reset();
}

shadow::~shadow() {
  munmap(base_, size());
  munmap(cells_, size() / 4 * sizeof(cell));
  munmap(uniform_, size() / chunk * sizeof(std::uint32_t));
}

void shadow::reset() {
  // Zeroed cells are no thread's.
  forget(base_, shared_used_);
  forget(cells_, shared_used_ / 4 * sizeof(cell));
  forget(base_ + shared_bytes, next_ - shared_bytes);
  const std::size_t first = shared_bytes / 4 * sizeof(cell), last = next_ / 4 * sizeof(cell);
  forget(reinterpret_cast<unsigned char*>(cells_) + first, (last - first + 4095) / 4096 * 4096);
  forget(uniform_, (next_ / chunk * sizeof(std::uint32_t) + 4095) / 4096 * 4096);
  alike_.assign(1, {});  // number 0 means none
  single_chunks_ = 0;
  next_ = shared_bytes + least_gap;
  gaps_left_ = gap_bytes;
  shared_used_ = 0;
  variables_bytes_ = 0;
  shared_by_variables = false;
  host_ranges_.clear();
  past_host_ranges_.clear();
  allocations_.clear();
  split_.assign(1, {});  // number 0 means none
  free_splits_.clear();
  lines_.assign(1, {});
  free_groups_ = {};
}

// Takes an ever smaller share of what is left, so that no number of allocations uses it up.
std::size_t shadow::gap_beside(std::size_t bytes) {
  constexpr std::size_t share = 64;
  const std::size_t gap = std::min(std::max(bytes, usual_gap), gaps_left_ / share);
  gaps_left_ -= 2 * gap;
  return gap / alignment * alignment;
}

void* shadow::allocate(std::size_t bytes) {
  const std::size_t beside = gap_beside(bytes), start = next_ + beside, end = start + bytes;
  if (bytes > global_bytes || end + beside + least_gap > size())
    throw device_error(
        fmt::format("the checker follows at most {} MiB of device memory in a run, {} more bytes do not fit",
                    global_bytes >> 20, bytes));
  next_ = (end + beside + least_gap + alignment - 1) / alignment * alignment;
  allocations_.emplace_back(start, bytes);
  set(base_ + start, bytes, cell_state::uninitialised);
  if (bytes >= 8 * huge_page) {  // otherwise small pages are faulted in, and copied by fork, one by one
    const auto first =
        (reinterpret_cast<std::uintptr_t>(base_ + start) + huge_page - 1) / huge_page * huge_page;
    madvise(reinterpret_cast<void*>(first), bytes - huge_page, MADV_HUGEPAGE);
  }
  return base_ + start;
}

namespace {

void repeat(unsigned char* to, std::span<const unsigned char> value, std::size_t bytes) {
  if (value.size() == 1)
    std::memset(to, value.front(), bytes);
  else
    for (std::size_t i = 0; i < bytes; ++i) to[i] = value[i % value.size()];
}

// Maps pages that hold these bytes over and over, which share their memory until they are written.
bool map_filled(unsigned char* to, std::span<const unsigned char> value, std::size_t bytes) {
  constexpr int access = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (std::ranges::all_of(value, [](unsigned char c) { return c == 0; })) {
    if (mmap(to, bytes, access, how | MAP_ANONYMOUS, -1, 0) != to) return false;
    madvise(to, bytes, MADV_HUGEPAGE);
    return true;
  }
  const int page = memfd_create("filled", MFD_CLOEXEC);
  if (page < 0) return false;
  std::vector<unsigned char> text(huge_page);
  repeat(text.data(), value, huge_page);
  bool mapped = write(page, text.data(), huge_page) == static_cast<ssize_t>(huge_page);
  for (std::size_t at = 0; mapped && at < bytes; at += huge_page)
    mapped = mmap(to + at, huge_page, access, how, page, 0) == to + at;
  close(page);
  return mapped;
}

}  // namespace

void shadow::fill(void* to, std::span<const unsigned char> value, std::size_t bytes) {
  auto* const first = static_cast<unsigned char*>(to);
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const std::size_t before = (address + huge_page - 1) / huge_page * huge_page - address;
  if (address - lowest() < size() && bytes >= 8 * huge_page && before % value.size() == 0) {
    const std::size_t mapped = (bytes - before) / huge_page * huge_page;
    if (map_filled(first + before, value, mapped)) {
      repeat(first, value, before);
      return repeat(first + before + mapped, value, bytes - before - mapped);
    }
  }
  repeat(first, value, bytes);
}

void shadow::free(void* memory) {
  if (memory != nullptr) set(memory, allocated(memory), cell_state::freed);
}

void shadow::follow_variables(std::uintptr_t low, std::uintptr_t high) {
  variables_ = static_cast<const unsigned char*>(allocate(high - low));
  set(variables_, high - low, cell_state::written);
  variables_low_ = low;
  variables_bytes_ = high - low;
}

void shadow::follow_host(const void* p, std::size_t bytes) {
  const auto low = reinterpret_cast<std::uintptr_t>(p);
  auto* const first = static_cast<unsigned char*>(allocate(low % alignment + bytes)) + low % alignment;
  set(first, bytes, cell_state::written);
  host_ranges_.push_back({low, bytes, static_cast<std::size_t>(first - base_)});
}
void shadow::forget_host(const void* p) {
  std::erase_if(host_ranges_, [&](const host_range& r) {
    if (r.low != reinterpret_cast<std::uintptr_t>(p)) return false;
    past_host_ranges_.push_back(r);
    return true;
  });
}
const shadow::host_range* shadow::host_range_at(const void* p) const {
  const auto at = std::ranges::find_if(host_ranges_, [&](const host_range& r) {
    return reinterpret_cast<std::uintptr_t>(p) - r.low < r.bytes;
  });
  return at != host_ranges_.end() ? &*at : nullptr;
}
const shadow::host_range* shadow::host_range_of(std::size_t offset) const {
  for (const auto* ranges : {&host_ranges_, &past_host_ranges_})
    for (const host_range& r : *ranges)
      if (offset - r.offset < r.bytes) return &r;
  return nullptr;
}
std::size_t shadow::offset_of_host(const void* p, std::size_t bytes) const {
  const host_range* const r = host_range_at(p);
  const std::size_t offset = r != nullptr ? reinterpret_cast<std::uintptr_t>(p) - r->low : 0;
  return r != nullptr && bytes <= r->bytes - offset ? r->offset + offset : outside;
}

void shadow::begin_shared_variable(const void* p, std::size_t bytes) {
  if (bytes > 0 && byte(offset_of(p)).state == cell_state::nobodys) set(p, bytes, cell_state::uninitialised);
}

std::size_t shadow::allocated(const void* memory) const {
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(memory) - base_);
  const auto at = std::lower_bound(allocations_.begin(), allocations_.end(), offset,
                                   [](const auto& a, std::size_t x) { return a.first < x; });
  return at != allocations_.end() && at->first == offset ? at->second : 0;
}

shadow::neighbours shadow::allocations_beside(const void* address) const {
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(address) - base_);
  const auto at = std::upper_bound(allocations_.begin(), allocations_.end(), offset,
                                   [](std::size_t x, const auto& a) { return x < a.first; });
  return {at == allocations_.begin() ? nullptr : base_ + std::prev(at)->first,
          at == allocations_.end() ? nullptr : base_ + at->first};
}

namespace {

bool same(const reader& a, const reader& b) {
  return a.same_group(b) && a.time == b.time && a.lanes == b.lanes && a.place == b.place;
}
bool same(const cell& a, const cell& b) {
  return a.block == b.block && a.writer == b.writer && a.state == b.state && a.strength == b.strength &&
         a.time == b.time && a.place == b.place && same(a.first, b.first);
}

}  // namespace

// Looks at the last three only: the same cell is usually asked for again soon.
std::uint32_t shadow::number_of(const cell& c) {
  for (std::size_t i = alike_.size(); i > 1 && i + 4 > alike_.size(); --i)
    if (same(alike_[i - 1], c)) return static_cast<std::uint32_t>(i - 1);
  alike_.push_back(c);
  return static_cast<std::uint32_t>(alike_.size() - 1);
}

void shadow::drop(cell& c) {
  if (c.state == cell_state::split) {
    for (cell& b : split_[c.more]) clear_readers(b);
    free_splits_.push_back(c.more);
  } else {
    clear_readers(c);
  }
}

void shadow::touch(std::size_t number) {
  const std::uint32_t as = std::exchange(uniform_[number], single);
  ++single_chunks_;
  if (as != untouched) std::fill_n(cells_ + number * (chunk / 4), chunk / 4, alike_[as]);
}

void shadow::set_chunk(std::size_t number, std::uint32_t as) {
  if (std::exchange(uniform_[number], as) != single) return;
  --single_chunks_;
  cell* const first = cells_ + number * (chunk / 4);
  for (cell* c = first; c < first + chunk / 4; ++c) drop(*c);
  std::fill_n(first, chunk / 4, cell{});
}

void shadow::set(const void* memory, std::size_t bytes, const cell& as) {
  const auto offset = static_cast<std::size_t>(static_cast<const unsigned char*>(memory) - base_);
  if (offset < shared_bytes) shared_used_ = std::max(shared_used_, (offset + bytes + 4095) / 4096 * 4096);
  const std::size_t end = offset + bytes;
  const std::uint32_t number = bytes >= chunk ? number_of(as) : untouched;
  for (std::size_t at = offset; at < end;) {
    if (at % chunk == 0 && end - at >= chunk) {
      set_chunk(at / chunk, number);
      at += chunk;
      continue;
    }
    cell& c = touched(at);
    const std::size_t word_end = at / 4 * 4 + 4;
    if (at % 4 == 0 && word_end <= end) {
      drop(c);
      c = as;
    } else {
      if (c.state != cell_state::split) split(c);
      for (std::size_t i = at; i < std::min(end, word_end); ++i) {
        cell& b = split_[c.more][i % 4];
        clear_readers(b);
        b = as;
      }
    }
    at = word_end;
  }
}

void shadow::split(cell& c) {
  std::uint32_t index = 0;
  if (free_splits_.empty()) {
    index = static_cast<std::uint32_t>(split_.size());
    split_.emplace_back();
  } else {
    index = free_splits_.back();
    free_splits_.pop_back();
  }
  for (cell& b : split_[index]) {
    b = c;
    b.more = 0;
    for (std::uint32_t g = c.more; g != 0; g = group(g).next) {
      const reader of = group(g).reader;
      reader_group& copy = add_group(b, of, of.lanes);
      std::copy_n(group(g).lanes(), of.lanes, copy.lanes());
    }
  }
  if (c.more != 0) drop_groups(c.more);
  c = {};
  c.state = cell_state::split;
  c.more = index;
}

reader_group& shadow::add_group(cell& c, const reader& of, std::uint32_t warps) {
  const std::uint32_t lines = lines_for(warps);
  std::uint32_t& free = free_groups_[lines];
  std::uint32_t number = free;
  if (number == 0) {
    number = static_cast<std::uint32_t>(lines_.size());
    lines_.resize(lines_.size() + lines);
  } else {
    free = group(number).next;
  }
  reader_group& g = group(number);
  g.reader = of;
  g.reader.lanes = warps;
  g.next = c.more;
  std::fill_n(g.lanes(), warps, 0u);
  c.more = number;
  return g;
}

void shadow::drop_groups(std::uint32_t first) {
  while (first != 0) {
    reader_group& g = group(first);
    std::uint32_t& free = free_groups_[lines_for(g.warps())];
    const std::uint32_t next = std::exchange(g.next, free);
    free = std::exchange(first, next);
  }
}

std::uint64_t shadow::bytes_kept() const {
  return single_chunks_ * (chunk / 4) * sizeof(cell) + alike_.size() * sizeof alike_[0] +
         split_.size() * sizeof split_[0] + lines_.size() * sizeof lines_[0];
}

std::uint64_t shadow::bytes_tracked() const {
  std::uint64_t bytes = shared_used_;
  for (const auto& a : allocations_) bytes += a.second;
  return bytes;
}

}  // namespace antiphase::checker_detail
