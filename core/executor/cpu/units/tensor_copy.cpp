// SPDX-License-Identifier: Apache-2.0
// Tensor maps of the CPU executor, and copies of boxes to and from shared memory.
#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <bit>
#include <cstring>
#include <iterator>
#include <type_traits>

#include <fmt/format.h>

#include "core/executor/cpu/units/tensor_elements.hpp"
#include "core/executor/cpu/worker.hpp"
#include "core/executor/tensor_layout.hpp"

namespace antiphase::cpu_detail {
namespace {

// Contents of this executor's tensor maps; the mark distinguishes them from CUDA's. They take half of a map's
// bytes: CuTe DSL copies no more of a map, as GPUs read no more.
constexpr std::uint16_t mark = 0x6170u;
struct element_type {  // one word, which a kernel may replace
  std::uint16_t mark;
  std::uint8_t bytes;
  machine::number_kind numbers;
};
struct record {
  const void* data;
  std::uint32_t stride[tensor_dimensions - 1];  // of all dimensions but the first
  std::uint32_t extent[tensor_dimensions];      // 0: 2^32
  std::uint16_t box[tensor_dimensions];
  std::uint8_t dimensions, pattern;
  element_type elements;
};
static_assert(sizeof(record) <= sizeof(tensor_map) / 2 && std::is_trivially_copyable_v<record>);

record recorded(const tensor_layout& t) {
  record r{
      .data = t.data,
      .stride = {},
      .extent = {},
      .box = {},
      .dimensions = static_cast<std::uint8_t>(t.dimensions),
      .pattern = static_cast<std::uint8_t>(t.pattern),
      .elements = {mark, static_cast<std::uint8_t>(t.element_bytes), machine::number_kind::unsigned_integer}};
  for (int d = 0; d < tensor_dimensions; ++d) {
    r.extent[d] = static_cast<std::uint32_t>(t.extent[d]);
    r.box[d] = static_cast<std::uint16_t>(t.box[d]);
    if (d == 0) continue;
    if (t.stride[d] > UINT32_MAX)
      throw bad_request(
          fmt::format("tensor map: stride {} is {} bytes, expected less than 2^32 on a CPU", d, t.stride[d]));
    r.stride[d - 1] = static_cast<std::uint32_t>(t.stride[d]);
  }
  return r;
}
tensor_layout layout_of(const record& r) {
  tensor_layout t{.data = r.data,
                  .element_bytes = r.elements.bytes,
                  .dimensions = r.dimensions,
                  .pattern = static_cast<swizzle>(r.pattern)};
  for (int d = 0; d < std::min<int>(r.dimensions, tensor_dimensions); ++d) {
    t.extent[d] = r.extent[d] == 0 ? std::uint64_t{1} << 32 : r.extent[d];
    t.box[d] = r.box[d];
    t.stride[d] = d > 0 ? r.stride[d - 1] : 0;
  }
  return t;
}

std::uint32_t row_bytes(const tensor_layout& t) {
  return t.box[0] * static_cast<std::uint32_t>(t.element_bytes);
}
std::uint32_t rows(const tensor_layout& t) {
  std::uint32_t count = 1;
  for (int d = 1; d < t.dimensions; ++d) count *= t.box[d];
  return count;
}

struct row_part {  // the part of a row of the box that lies inside the tensor
  unsigned char* address;
  std::uint32_t skipped;  // bytes before it
  std::uint32_t bytes;
};
row_part part_of(const tensor_box& b, std::uint32_t row) {
  const tensor_layout& t = b.layout;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(t.data));  // stores write to it
  for (int d = 1; d < t.dimensions; row /= t.box[d], ++d) {
    const std::int64_t index = std::int64_t{b.first.index[d]} + row % t.box[d];
    if (index < 0 || index >= static_cast<std::int64_t>(t.extent[d])) return {nullptr, 0, 0};
    at += index * static_cast<std::int64_t>(t.stride[d]);
  }
  const std::int64_t low = std::max<std::int64_t>(b.first.index[0], 0);
  const std::int64_t high =
      std::min(b.first.index[0] + std::int64_t{t.box[0]}, static_cast<std::int64_t>(t.extent[0]));
  if (low >= high) return {nullptr, 0, 0};
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::uint32_t>(elements * t.element_bytes);
  };
  return {at + low * t.element_bytes, bytes(low - b.first.index[0]), bytes(high - low)};
}

}  // namespace

tensor_map encode(const tensor_layout& tensor) {
  require_copyable(tensor);
  tensor_map map{};
  const record r = recorded(tensor);
  std::memcpy(&map, &r, sizeof r);
  return map;
}

namespace {
std::vector<std::span<const unsigned char>> parts_of(const tensor_box& b) {
  std::vector<std::span<const unsigned char>> all;
  for (std::uint32_t row = 0; row < rows(b.layout); ++row)
    if (const row_part p = part_of(b, row); p.bytes > 0) all.emplace_back(p.address, p.bytes);
  return all;
}
// Calls f(offset in shared memory, offset in the unswizzled box) for each piece of 16 bytes.
template <class F> void each_piece(const tensor_layout& t, std::uint32_t in_shared, F f) {
  for (std::uint32_t piece = 0; piece < rows(t) * row_bytes(t); piece += 16)
    f(swizzled(in_shared + piece, t.pattern), piece);
}
}  // namespace

std::vector<std::span<const unsigned char>> sources(const bulk_load_state& load) {
  if (load.value != nullptr) return {};
  if (load.box == nullptr) return {{static_cast<const unsigned char*>(load.source), load.bytes}};
  return parts_of(*load.box);
}
std::vector<std::span<const unsigned char>> destinations(const bulk_store_state& store) {
  if (store.box == nullptr) return {{static_cast<const unsigned char*>(store.destination), store.bytes}};
  return parts_of(*store.box);
}

void land_box(const block_state& block, const bulk_load_state& load) {
  const tensor_box& b = *load.box;
  const std::uint32_t bytes = row_bytes(b.layout);
  std::vector<unsigned char> box(std::size_t{rows(b.layout)} * bytes);
  for (std::uint32_t row = 0; row < rows(b.layout); ++row)
    if (const row_part p = part_of(b, row); p.bytes > 0)
      std::memcpy(box.data() + std::size_t{row} * bytes + p.skipped, p.address, p.bytes);
  each_piece(
      b.layout, static_cast<std::uint32_t>(static_cast<unsigned char*>(load.destination) - block.shared),
      [&](std::uint32_t at, std::uint32_t piece) { std::memcpy(block.shared + at, box.data() + piece, 16); });
}

std::vector<unsigned char> rows_of_box(const block_state& block, const bulk_store_state& store) {
  std::vector<unsigned char> box(store.bytes);
  each_piece(
      store.box->layout, static_cast<std::uint32_t>(store.source - block.shared),
      [&](std::uint32_t at, std::uint32_t piece) { std::memcpy(box.data() + piece, block.shared + at, 16); });
  return box;
}
void write_box(const bulk_store_state& store) {
  const tensor_box& b = *store.box;
  const std::uint32_t bytes = row_bytes(b.layout);
  for (std::uint32_t row = 0; row < rows(b.layout); ++row)
    if (const row_part p = part_of(b, row); p.bytes > 0) {
      const unsigned char* const from = store.captured->data() + std::size_t{row} * bytes + p.skipped;
      if (store.updates)
        update(p.address, from, p.bytes, *store.updates);
      else
        std::memcpy(p.address, from, p.bytes);
    }
}

}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

static_assert(sizeof(tensor_place::index) == tensor_dimensions * sizeof(int));
namespace {

record record_in(const void* map) {
  record r;
  std::memcpy(static_cast<void*>(&r), map, sizeof r);
  return r;
}

// The box of a copy. Fails the launch if TMA would not take it.
std::shared_ptr<const tensor_box> box_of(const thread_state& self, const tensor_map& map, tensor_place first,
                                         int dimensions, const void* in_shared, const char* what,
                                         const char* direction, place where) {
  const record r = record_in(&map);
  if (r.elements.mark != mark)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} takes a map that was not encoded, or by tensormap.replace without an element type",
                     what));
  const tensor_layout t = layout_of(r);
  try {
    require_copyable(t);  // a kernel may have replaced something
  } catch (const bad_request& e) {
    fail(self, fault::bad_copy, where, fmt::format("a {} by a {}", what, e.what()));
  }
  if (t.dimensions != dimensions)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} by {} indices of a tensor of {} dimensions", what, dimensions, t.dimensions));
  if (const auto at = static_cast<const unsigned char*>(in_shared) - self.block->shared; at % 128 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} {} byte {} of shared memory: expected a multiple of 128", what, direction, at));
  if (const std::int64_t at = std::int64_t{first.index[0]} * t.element_bytes; at % 16 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} from index {} on, {} bytes into a row: the engine takes multiples of 16 bytes",
                     what, first.index[0], at));
  return std::make_shared<const tensor_box>(tensor_box{t, first});
}
std::uint32_t bytes_of(const tensor_box& b) { return rows(b.layout) * row_bytes(b.layout); }

void load_box(thread_state& self, void* to, const tensor_map& map, tensor_place first, int dimensions,
              std::uint64_t* word, unsigned ranks, place where, int half = -1) {
  const auto box = box_of(self, map, first, dimensions, to, "tensor load", "to", where);
  issue(self,
        {.destination = to,
         .source = box->layout.data,
         .bytes = bytes_of(*box),
         .word = word,
         .box = box,
         .half = half},
        ranks, where);
}

}  // namespace

map_part part_of_map(const void* map, map_field field, int index, std::uint64_t value, place where) {
  const thread_state& self = called_from(__builtin_return_address(0));
  const record r = record_in(map);
  if (r.elements.mark != 0 && r.elements.mark != mark)
    fail(self, fault::bad_copy, where, "a field is replaced in a map that was neither encoded nor zeros");
  const int most = field == map_field::global_stride ? tensor_dimensions - 1 : tensor_dimensions;
  if (index < 0 || index >= most) return {};
  const auto part = [&](const auto& member, std::uint64_t stored) {
    return map_part{stored,
                    static_cast<std::uint32_t>(reinterpret_cast<const char*>(&member) -
                                               reinterpret_cast<const char*>(&r)),
                    sizeof member};
  };
  switch (field) {
    case map_field::global_address: return part(r.data, value);
    case map_field::rank: return part(r.dimensions, value + 1);  // given less one
    case map_field::box_dim: return part(r.box[index], value);
    case map_field::global_dim: return part(r.extent[index], value);
    case map_field::global_stride: return part(r.stride[index], value);
    case map_field::element_stride:
      if (value != 1)
        fail(self, fault::bad_copy, where,
             fmt::format("tensormap.replace sets an element stride of {}: maps have strides of 1 here",
                         value));
      return {};
    case map_field::elemtype:
      if (value >= std::size(tensor_elements))
        fail(self, fault::bad_copy, where,
             fmt::format("tensormap.replace sets the element type {}: expected one of 0 to 12", value));
      return part(r.elements, std::bit_cast<std::uint32_t>(
                                  element_type{mark, static_cast<std::uint8_t>(tensor_elements[value].bytes),
                                               tensor_elements[value].numbers}));
    case map_field::swizzle_mode:
      if (value > static_cast<std::uint64_t>(swizzle::bytes_128))
        fail(self, fault::bad_copy, where,
             fmt::format("tensormap.replace sets the swizzle mode {}: expected one of 0 to 3", value));
      return part(r.pattern, value);
  }
  return {};
}
void tensor_load(void* to, const tensor_map& map, tensor_place first, int dimensions, std::uint64_t* word,
                 place where) {
  load_box(called_from(__builtin_return_address(0)), to, map, first, dimensions, word, 0, where);
}
void tensor_load_multicast(void* to, const tensor_map& map, tensor_place first, int dimensions,
                           std::uint64_t* word, unsigned ranks, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (ranks == 0) fail(self, fault::bad_copy, where, "a tensor load for no block of the cluster");
  load_box(self, to, map, first, dimensions, word, ranks, where);
}
void tensor_load_of_pair(void* to, const tensor_map& map, tensor_place first, int dimensions,
                         std::uint64_t* word, unsigned ranks, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const auto blocks = self.home->cluster->blocks;
  const auto* const at = reinterpret_cast<const unsigned char*>(word);
  for (std::size_t half = 0; half < 2; ++half) {
    const std::size_t rank = (static_cast<std::size_t>(self.home->cluster_rank) & ~std::size_t{1}) | half;
    if (rank >= blocks.size()) break;
    if (const block_state& b = *blocks[rank]; at >= b.shared && at < b.shared + b.shared_bytes)
      return load_box(self, to, map, first, dimensions, word, ranks, where, static_cast<int>(half));
  }
  fail(self, fault::bad_copy, where, "the mbarrier of a tensor load for a pair of blocks is in neither");
}
namespace {
void store_box(thread_state& self, const tensor_map& map, const void* from, tensor_place first,
               int dimensions, std::optional<bulk_step> updates, place where) {
  const char* const what = updates ? "tensor reduction" : "tensor store";
  const auto box = box_of(self, map, first, dimensions, from, what, "from", where);
  const tensor_layout& t = box->layout;
  for (int d = 0; d < dimensions; ++d)
    if (first.index[d] < 0)
      fail(self, fault::bad_copy, where,
           fmt::format("a {} from index {} on in dimension {}: the engine takes no negative index of a store",
                       what, first.index[d], d));
  const std::uint64_t size = static_cast<std::uint64_t>(t.element_bytes), row = t.extent[0] * size,
                      begin = static_cast<std::uint64_t>(first.index[0]) * size;
  if (begin < row && row < begin + row_bytes(t) && row % 16 != 0)
    fail(self, fault::bad_copy, where,
         fmt::format("a {} across the end of a row of {} bytes: the engine writes whole pieces of 16, "
                     "expected a box that ends before, or such rows",
                     what, row));
  issue(self,
        bulk_store_state{.destination = nullptr,
                         .source = static_cast<const unsigned char*>(from),
                         .bytes = bytes_of(*box),
                         .box = box,
                         .updates = updates},
        where);
}
}  // namespace
void tensor_store(const tensor_map& map, const void* from, tensor_place first, int dimensions, place where) {
  store_box(called_from(__builtin_return_address(0)), map, from, first, dimensions, {}, where);
}
void set_numbers(tensor_map& map, number_kind of) {
  record r = record_in(&map);
  r.elements.numbers = of;
  std::memcpy(&map, &r, sizeof r);
}
void tensor_reduce(const tensor_map& map, const void* from, tensor_place first, int dimensions,
                   bulk_update what, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const record r = record_in(&map);
  const bool floating =
                 r.elements.numbers == number_kind::floating || r.elements.numbers == number_kind::bfloat,
             orders = what == bulk_update::min || what == bulk_update::max;
  if (r.elements.mark == mark &&
      (floating ? what != bulk_update::add && (r.elements.bytes != 2 || !orders) : r.elements.bytes < 4))
    fail(self, fault::bad_copy, where,
         fmt::format(
             "a tensor reduction of {} of {} bytes: the engine adds integers of 4 and 8 bytes and "
             "floating numbers, and finds extremes and bits of the former and extremes of f16 and bf16",
             floating ? "floating numbers" : "integers", r.elements.bytes));
  store_box(self, map, from, first, dimensions, bulk_step{what, r.elements.numbers, r.elements.bytes}, where);
}

}  // namespace antiphase::machine
