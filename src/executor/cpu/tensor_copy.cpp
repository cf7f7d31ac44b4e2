// SPDX-License-Identifier: Apache-2.0
// Tensor maps of the CPU executor, and boxes on their way to shared memory.
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "src/executor/tensor_layout.hpp"
#include "worker.hpp"

namespace antiphase::cpu_detail {
namespace {

// What a tensor map of this executor holds; the mark tells it from one of CUDA's.
constexpr std::uint64_t mark = 0x616E'7469'6D61'7031ull;
struct record {
  std::uint64_t mark;
  tensor_layout tensor;
};
static_assert(sizeof(record) <= sizeof(tensor_map) && std::is_trivially_copyable_v<record>);

std::uint32_t row_bytes(const tensor_layout& t) { return t.box[0] * static_cast<std::uint32_t>(t.element_bytes); }
std::uint32_t rows(const tensor_layout& t) {
  std::uint32_t count = 1;
  for (int d = 1; d < t.dimensions; ++d) count *= t.box[d];
  return count;
}

struct row_source {  // of a row of the box: what lies inside of the tensor
  const unsigned char* from;
  std::uint32_t skipped;  // bytes before it
  std::uint32_t bytes;
};
row_source source_of(const tensor_box& b, std::uint32_t row) {
  const tensor_layout& t = b.of;
  const auto* at = static_cast<const unsigned char*>(t.data);
  for (int d = 1; d < t.dimensions; row /= t.box[d], ++d) {
    const std::int64_t index = std::int64_t{b.first.index[d]} + row % t.box[d];
    if (index < 0 || index >= static_cast<std::int64_t>(t.extent[d])) return {nullptr, 0, 0};
    at += index * static_cast<std::int64_t>(t.stride[d]);
  }
  const std::int64_t low = std::max<std::int64_t>(b.first.index[0], 0);
  const std::int64_t high = std::min(b.first.index[0] + std::int64_t{t.box[0]}, static_cast<std::int64_t>(t.extent[0]));
  if (low >= high) return {nullptr, 0, 0};
  const auto bytes = [&](std::int64_t elements) { return static_cast<std::uint32_t>(elements * t.element_bytes); };
  return {at + low * t.element_bytes, bytes(low - b.first.index[0]), bytes(high - low)};
}

}  // namespace

tensor_map encode(const tensor_layout& tensor) {
  require_copyable(tensor);
  tensor_map map{};
  const record r{mark, tensor};
  std::memcpy(&map, &r, sizeof r);
  return map;
}

std::vector<std::span<const unsigned char>> sources(const bulk_load_state& load) {
  if (load.box == nullptr) return {{static_cast<const unsigned char*>(load.from), load.bytes}};
  std::vector<std::span<const unsigned char>> all;
  for (std::uint32_t row = 0; row < rows(load.box->of); ++row)
    if (const row_source s = source_of(*load.box, row); s.bytes > 0) all.emplace_back(s.from, s.bytes);
  return all;
}

void land_box(const block_state& block, const bulk_load_state& load) {
  const tensor_box& b = *load.box;
  const std::uint32_t bytes = row_bytes(b.of);
  const auto to = static_cast<std::uint32_t>(static_cast<unsigned char*>(load.to) - block.shared);
  std::vector<unsigned char> line(bytes);
  for (std::uint32_t row = 0; row < rows(b.of); ++row) {
    const row_source s = source_of(b, row);
    std::fill(line.begin(), line.end(), static_cast<unsigned char>(0));
    if (s.bytes > 0) std::memcpy(line.data() + s.skipped, s.from, s.bytes);
    for (std::uint32_t piece = 0; piece < bytes; piece += 16)
      std::memcpy(block.shared + swizzled(to + row * bytes + piece, b.of.pattern), line.data() + piece, 16);
  }
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

static_assert(sizeof(tensor_place::index) == tensor_dimensions * sizeof(int));
void tensor_load(void* to, const tensor_map& map, tensor_place first, int dimensions, std::uint64_t* word, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  record r;
  std::memcpy(static_cast<void*>(&r), &map, sizeof r);
  if (r.mark != mark) fail(self, fault::bad_copy, where, "a tensor load takes a map that this executor has not encoded");
  const tensor_layout& t = r.tensor;
  if (t.dimensions != dimensions)
    fail(self, fault::bad_copy, where, fmt::format("a tensor load by {} indices of a tensor of {} dimensions", dimensions, t.dimensions));
  const std::uint32_t alignment = std::max(128u, t.pattern == swizzle::none ? 0u : period_of(t.pattern));
  if (const auto at = static_cast<unsigned char*>(to) - self.block->shared; at % alignment != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a tensor load to byte {} of shared memory: expected a multiple of {} with rows of {} bytes swizzled", at, alignment,
                     width_of(t.pattern)));
  if (const std::int64_t at = std::int64_t{first.index[0]} * t.element_bytes; at % 16 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a tensor load from index {} on, {} bytes into a row: the engine takes multiples of 16 bytes", first.index[0], at));
  issue(self, {to, t.data, rows(t) * row_bytes(t), word, std::make_shared<const tensor_box>(tensor_box{t, first})}, where);
}

}  // namespace antiphase::machine
