// SPDX-License-Identifier: Apache-2.0
// __shared__ variables: where they lie in a block, and how much a kernel may have.
#include <fmt/format.h>

#include <antiphase/plain/ptx.h>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/run.hpp"
#include "core/executor/cpu/observer.hpp"

namespace antiphase::plain {
namespace {
constexpr std::size_t gap = 1024;  // unallocated bytes between shared variables, or more
// As many bytes as the variable has: an out-of-bounds index hits unowned memory, not the next array.
std::size_t gap_next_to(std::size_t variable) { return std::clamp(variable, gap, static_shared); }
// Room for __shared__ variables: one kernel uses only some of the program's.
constexpr std::size_t shared_room = 3 * static_shared + 64 * gap;
struct shared_size {
  std::size_t bytes, align;
  const char* name = "";
};
// Of the kernel that runs.
struct placement {
  std::size_t least_alignment = 1;  // of all variables
  std::size_t most_together = 0;    // static and dynamic shared memory
  std::size_t dynamic = 0, placed = 0, gap_after = 0, capacity = 0;
  std::vector<std::size_t> offsets;  // of variables, by number; 0: not declared yet
};
placement placed_here;
std::vector<shared_size>& shared_sizes() {
  static std::vector<shared_size> all;
  return all;
}
}  // namespace

std::size_t begin_shared_variables(std::size_t dynamic) {
  placement& p = placed_here;
  p.dynamic = dynamic;
  p.placed = (dynamic + 15) / 16 * 16;
  p.gap_after = gap_next_to(dynamic);
  p.offsets.assign(shared_sizes().size(), 0);
  std::size_t variables = 0;
  for (const shared_size& s : shared_sizes()) variables += s.bytes + s.align + 2 * gap_next_to(s.bytes);
  p.capacity = p.placed + p.gap_after + std::min(variables, shared_room);
  return p.capacity;
}
void limit_shared(std::size_t most_together) { placed_here.most_together = most_together; }

std::size_t bytes_of_shared_variables() {  // those that the kernel has declared so far
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < placed_here.offsets.size(); ++i)
    bytes += placed_here.offsets[i] != 0 ? shared_sizes()[i].bytes : 0;
  return bytes;
}
void check_shared_variables() {
  const std::size_t bytes = bytes_of_shared_variables();
  if (bytes > static_shared)
    refuse_launch(running_launch.kernel, running_launch.place,
                  fmt::format("{} bytes of __shared__ variables", bytes),
                  fmt::format("at most {}: more must be extern __shared__", static_shared), cudaSuccess);
  else if (bytes > 0 && bytes + placed_here.dynamic > placed_here.most_together)
    refuse_launch(running_launch.kernel, running_launch.place,
                  fmt::format("{} bytes of __shared__ variables and {} of dynamic shared memory", bytes,
                              placed_here.dynamic),
                  fmt::format("at most {} together; cudaFuncSetAttribute(kernel, "
                              "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows "
                              "up to {}",
                              placed_here.most_together, most_shared),
                  cudaSuccess);
}
void allow_more_shared(device_limits& limits) {
  limits.shared_opt_in =
      static_cast<decltype(limits.shared_opt_in)>(most_shared + static_shared + shared_room);
}
// Name of the shared variable at an offset of the block's shared memory, or of one next to it.
std::string shared_place(std::size_t offset) {
  const auto text = [&](std::string_view name, std::size_t start, std::size_t bytes) {
    return offset - start < bytes
               ? fmt::format("{}, byte {} of {} in shared memory", name, offset - start, bytes)
               : fmt::format("{} bytes past the end of {}, {} bytes of shared memory", offset - start - bytes,
                             name, bytes);
  };
  std::string found = text("the launch's dynamic memory", 0, placed_here.dynamic);
  std::size_t first = 0, end = placed_here.dynamic, next = 0;  // of the one before, and of the one after
  const char* next_name = "";
  for (std::size_t i = 0; i < placed_here.offsets.size(); ++i) {
    const std::size_t start = placed_here.offsets[i];
    const shared_size& s = shared_sizes()[i];
    if (start == 0) continue;
    if (start <= offset && start >= first)
      found = text(s.name, start, s.bytes), first = start, end = start + s.bytes;
    if (offset < start && (next == 0 || start < next)) next = start, next_name = s.name;
  }
  if (next != 0 && offset >= end && next - offset < offset - end)
    return fmt::format("{} bytes before {} in shared memory", next - offset, next_name);
  return found;
}
std::string mbarrier_name(std::size_t offset, const std::uint64_t* word) {
  for (std::size_t i = 0; i < placed_here.offsets.size(); ++i) {
    const std::size_t start = placed_here.offsets[i], bytes = shared_sizes()[i].bytes;
    if (start == 0 || offset < start || offset - start >= bytes) continue;
    const std::size_t index = (offset - start) / sizeof *word;
    bool is_array = (offset - start) % sizeof *word == 0;
    for (std::size_t before = 1; is_array && before <= index; ++before)
      is_array = cpu_detail::parties_of(*(word - before)) > 0;
    if (is_array && bytes == sizeof *word) return shared_sizes()[i].name;
    if (is_array) return fmt::format("{}[{}]", shared_sizes()[i].name, index);
    break;
  }
  return shared_place(offset);
}
int register_shared(std::size_t bytes, std::size_t align) {
  shared_sizes().push_back({bytes, align, ""});
  return static_cast<int>(shared_sizes().size()) - 1;
}
int align_shared(std::size_t least) {
  placed_here.least_alignment = least;
  return 0;
}
void* shared_memory(const int* number, const char* name) noexcept {
  std::size_t& offset = placed_here.offsets[static_cast<std::size_t>(*number)];
  shared_size& s = shared_sizes()[static_cast<std::size_t>(*number)];
  if (offset == 0) {
    s.name = name;
    const std::size_t align = std::max(s.align, placed_here.least_alignment),
                      left = placed_here.capacity - placed_here.placed, needed = s.bytes + align;
    const std::size_t wanted =
        std::max(gap_next_to(s.bytes), std::exchange(placed_here.gap_after, gap_next_to(s.bytes)));
    // Variables lie as aligned as without gaps: what follows 16 bytes takes vectors of 16.
    constexpr std::size_t whole = 256;
    const std::size_t between = std::min(wanted, (left - std::min(left, needed)) / 2) / whole * whole;
    offset = (placed_here.placed + between + align - 1) / align * align;
    if (left < needed) {
      check_shared_variables();
      followed().history.stop("more __shared__ variables than there is room for");
    }
    placed_here.placed = offset + s.bytes;
  }
  unsigned char* const p = machine::current->block->shared + offset;
  followed().memory.begin_shared_variable(p, s.bytes);
  return p;
}
void* dynamic_shared_memory(std::size_t) {
  unsigned char* const p = machine::current->block->shared;
  followed().memory.begin_shared_variable(p, placed_here.dynamic);
  return p;
}
unsigned dynamic_shared_bytes() noexcept { return static_cast<unsigned>(placed_here.dynamic); }
void* in_block(void* mine, int rank, place where) {
  auto* const at = static_cast<unsigned char*>(mine);
  unsigned char* const own = machine::current->block->shared;
  const std::ptrdiff_t away = machine::to_shared_of(mine, rank, where);
  const auto offset = static_cast<std::size_t>(at - own);
  // A variable also exists in a block that has not declared it yet.
  for (std::size_t i = 0; i < placed_here.offsets.size(); ++i)
    if (const std::size_t first = placed_here.offsets[i];
        first != 0 && offset >= first && offset < first + shared_sizes()[i].bytes)
      followed().memory.begin_shared_variable(own + away + first, shared_sizes()[i].bytes);
  if (offset < placed_here.dynamic) followed().memory.begin_shared_variable(own + away, placed_here.dynamic);
  return at + away;
}
int block_of(const void* p, place where) {
  const machine::block_view& block = *machine::current->block;
  const auto* const at = static_cast<const unsigned char*>(p);
  for (int rank = 0; rank < block.cluster_extent; ++rank) {
    const auto* const first = block.shared + machine::to_shared_of(block.shared, rank, where);
    if (at >= first && at < first + block.shared_bytes) return rank;
  }
  machine::trap("an address of shared::cluster that is in no block's shared memory", where);
  return 0;
}
unsigned char* shared_base() noexcept { return machine::current->block->shared; }
unsigned shared_rank_bits() noexcept {
  return static_cast<unsigned>(machine::current->block->cluster_rank) * bytes_of_rank;
}
void* in_cluster(unsigned address) {
  const machine::block_view& block = *machine::current->block;
  const unsigned rank = address / bytes_of_rank, offset = address % bytes_of_rank;
  if (rank >= static_cast<unsigned>(block.cluster_extent) || offset >= block.shared_bytes)
    return block.shared + static_cast<int>(address - shared_rank_bits());  // no memory, as its use will show
  return in_block(block.shared + offset, static_cast<int>(rank), place::current());
}
unsigned to_cluster(const void* p) {
  const machine::block_view& block = *machine::current->block;
  const auto* const at = static_cast<const unsigned char*>(p);
  for (int rank = 0; rank < block.cluster_extent; ++rank) {
    const auto* const first = block.shared + machine::to_shared_of(block.shared, rank, place::current());
    if (at >= first && at < first + block.shared_bytes)
      return static_cast<unsigned>(at - first) + static_cast<unsigned>(rank) * bytes_of_rank;
  }
  return static_cast<unsigned>(at - block.shared) + shared_rank_bits();
}
}  // namespace antiphase::plain
