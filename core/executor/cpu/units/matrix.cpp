// SPDX-License-Identifier: Apache-2.0
// Tensor Core operations: a warp's, which are synchronous, and a warpgroup's, in flight between issue and
// wait.
#include "core/executor/cpu/units/matrix.hpp"

#include <antiphase/plain/rounded.h>
#include <algorithm>
#include <antiphase/executor/cpu/machine_tf32.hpp>
#include <cstring>

#include <fmt/format.h>

#include "core/executor/cpu/units/matrix_operands.hpp"
#include "core/executor/cpu/units/tensor_core.hpp"
#include "core/executor/cpu/units/warp_product.hpp"
#include "core/executor/cpu/worker.hpp"

namespace antiphase::cpu_detail {
using machine::operand_type;
namespace {

constexpr int warp = 32, warps_together = 4;
constexpr int rows_of_warp = operand_rows, depth = operand_depth;

// All threads of a warp or warpgroup meet at one place. The last to arrive calls `finish` once, with all of
// them in order of their index.
template <class Finish>
void together(thread_state& self, collective& m, int parties, condition why, place where, Finish finish) {
  if (self.index / parties * parties + parties > self.block->threads)
    fail(self, fault::barrier_misuse, where,
         fmt::format("a Tensor Core operation of {} threads: the block's {} are not a multiple", parties,
                     self.block->threads));
  if (m.arrived > 0 && !same(m.place, where))
    fail(self, fault::divergent_barrier, where,
         fmt::format("divergent Tensor Core operation: other threads of the {} are at the one in {}",
                     parties == warp ? "warp" : "warpgroup", text(m.place)));
  m.place = where;
  m.threads.resize(static_cast<std::size_t>(parties));
  m.threads[static_cast<std::size_t>(self.index % parties)] = &self;
  const bool last = ++m.arrived == parties;
  if (last) {
    finish(std::span<thread_state* const>(m.threads));
    meet_in_time(m.threads);
    for (thread_state* t : m.threads) self.owner->make_ready(*t);
    m.arrived = 0;
    ++self.owner->counts.warp_operations;
    self.owner->progress();
  }
  self.owner->suspend(self, last ? condition::ready : why, where);
}
constexpr int f64_takes = 16;  // times as long as f16
int multiply_adds_of(const machine::warp_product& of) {
  using enum machine::matrix_number;
  const int all = of.rows * of.columns * of.depth;
  switch (of.a) {
    case f64: return f64_takes * all;
    case tf32: return 2 * all;
    case e4m3:
    case e5m2:
    case s8:
    case u8: return all / 2;
    default: return all;
  }
}
void tell(thread_state& self, std::span<thread_state* const> lanes, int multiply_adds, place where) {
  if (observer* watch = self.owner->watch()) watch->matrix_multiplied(lanes, multiply_adds, where);
}
warp_matrices& matrices_of(const thread_state& t) {
  return t.home->matrices[static_cast<std::size_t>(t.index / warp)];
}
tensor_sums sums_of(thread_state& t) { return t.owner->launch().options.sums; }

// Which elements a lane's registers hold
// -----------------------------------------------------------------------------------------------

std::uint16_t half_of(std::uint32_t word, int i) { return static_cast<std::uint16_t>(word >> 16 * i); }

void take_a(std::uint16_t* a, int lane, const std::uint32_t* from) {
  for (int i = 0; i < 8; ++i)
    a[(lane / 4 + i / 2 % 2 * 8) * depth + lane % 4 * 2 + i / 4 * 8 + i % 2] = half_of(from[i / 2], i % 2);
}
void take_b(std::uint16_t* b, int lane, const std::uint32_t* from) {  // 16 x 8
  for (int i = 0; i < 4; ++i)
    b[(lane % 4 * 2 + i / 2 * 8 + i % 2) * 8 + lane / 4] = half_of(from[i / 2], i % 2);
}
// 16 x 8 words: a tf32, or four numbers of 8 bits.
void take_a_words(std::uint16_t* a, int lane, const std::uint32_t* from) {
  for (int i = 0; i < 4; ++i)
    std::memcpy(a + (lane / 4 + i % 2 * 8) * depth + 2 * (lane % 4 + i / 2 * 4), &from[i], sizeof from[i]);
}
int bytes_of(operand_type type) { return type < operand_type::tf32 ? 2 : type == operand_type::tf32 ? 4 : 1; }
std::vector<std::uint32_t> words_of(std::span<const std::uint16_t> halves) {
  std::vector<std::uint32_t> words(halves.size() / 2);
  std::memcpy(words.data(), halves.data(), 4 * words.size());
  return words;
}
template <class Do> void each_sum(int lane, int columns, Do f) {  // f(register, index in 16 x columns)
  for (int i = 0; i < columns / 2; ++i)
    f(i, (lane / 4 + i / 2 % 2 * 8) * columns + i / 4 * 8 + lane % 4 * 2 + i % 2);
}

// Registers in flight
// -----------------------------------------------------------------------------------------------------------

int words_of_sum(int columns, bool halves) { return columns / (halves ? 4 : 2); }
std::size_t bytes_of_sum(int columns, bool halves) {
  return sizeof(float) * static_cast<std::size_t>(words_of_sum(columns, halves));
}
// A sum in a thread's registers, the `i`th of them.
float sum_in(const float* registers, int i, bool halves) {
  if (!halves) return registers[i];
  std::uint16_t half = 0;
  std::memcpy(&half, reinterpret_cast<const std::uint16_t*>(registers) + i, sizeof half);
  return plain::from_half(half);
}
void put_sum(float* registers, int i, bool halves, float sum) {
  if (!halves) {
    registers[i] = sum;
    return;
  }
  const std::uint16_t half = plain::to_half(sum);
  std::memcpy(reinterpret_cast<std::uint16_t*>(registers) + i, &half, sizeof half);
}

// A signalling NaN: arithmetic on it leaves a quiet one, so that an update in place shows as well as a write.
constexpr std::uint32_t poison = 0x7FADBEEF;

void require_poison(const thread_state& t, const sum_in_flight& s, place where) {
  const float* registers = s.registers[t.index % warp];
  const auto is_poison = [](const float& x) {  // by bits: copying the float might make it a quiet NaN
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits == poison;
  };
  if (!std::all_of(registers, registers + words_of_sum(s.columns, s.halves), is_poison))
    fail(t, fault::barrier_misuse, where,
         "registers of a wgmma's sum were written before the wgmma_wait that covers it");
}

used_registers registers_at(const void* at, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(at);
  return {at, {first, first + bytes}};
}
bool are_as(const used_registers& r) { return std::memcmp(r.address, r.bytes.data(), r.bytes.size()) == 0; }
void remember(thread_state& t, used_registers r) {
  std::erase_if(t.used, [&](const used_registers& other) { return other.address == r.address; });
  t.used.push_back(std::move(r));
}
// Whether a wgmma may take the registers: there was a fence since they were last touched, or they have not
// been touched since a wgmma.
bool are_fenced(const thread_state& t, const void* at, std::size_t bytes) {
  const auto last = std::ranges::find(t.used, at, &used_registers::address);
  return t.registers_fenced && (last == t.used.end() || (last->bytes.size() == bytes && are_as(*last)));
}
// Whether the registers differ from what they were at the fence. Those of a sum that begins at zero may be of
// a variable that began later.
bool written_since_fence(const thread_state& t, const void* at, std::size_t bytes) {
  const used_registers& then = t.at_fence;
  const std::ptrdiff_t first =
      static_cast<const unsigned char*>(at) - static_cast<const unsigned char*>(then.address);
  const bool known = std::ranges::find(t.used, at, &used_registers::address) != t.used.end();
  if (known || then.address == nullptr || first < 0 ||
      static_cast<std::size_t>(first) + bytes > then.bytes.size())
    return false;
  return std::memcmp(at, then.bytes.data() + first, bytes) != 0;
}
constexpr std::size_t bytes_of_a = 4 * sizeof(std::uint32_t);

struct brought_step {  // the argument of one thread
  float* sum;
  machine::warpgroup_step step;
  const std::uint32_t* a;
  operand_type type;
  bool a_stays = true;  // A's registers belong to the kernel, which must not touch them before the wait
  std::uint32_t metadata = 0;  // of a sparse A
};
const brought_step& step_of(const thread_state* t) { return *static_cast<const brought_step*>(t->brought); }

// The sum of these lanes: a new one, or one in flight, to which the new operation adds after earlier ones.
std::shared_ptr<sum_in_flight> sum_of(warp_matrices& m, std::span<thread_state* const> lanes, place where) {
  const brought_step& first = step_of(lanes.front());
  for (auto& s : m.sums) {
    if (s->registers[0] != first.sum) continue;
    for (const thread_state* t : lanes) {
      if (s->registers[t->index % warp] != step_of(t).sum || s->columns != first.step.columns ||
          s->halves != first.step.half_sums)
        fail(*t, fault::barrier_misuse, where,
             "a wgmma adds to registers that are in flight for one of another shape");
      require_poison(*t, *s, where);
    }
    return s;
  }
  for (const thread_state* t : lanes)
    if (const std::size_t bytes = bytes_of_sum(first.step.columns, first.step.half_sums);
        !are_fenced(*t, step_of(t).sum, bytes) ||
        (first.step.accumulate && written_since_fence(*t, step_of(t).sum, bytes)))
      fail(*t, fault::barrier_misuse, where,
           "a wgmma takes registers that the thread may still be using: wgmma_fence comes before it");
  auto s = std::make_shared<sum_in_flight>();
  s->columns = first.step.columns;
  s->halves = first.step.half_sums;
  s->value.resize(static_cast<std::size_t>(rows_of_warp * s->columns));
  for (const thread_state* t : lanes) {
    const int lane = t->index % warp;
    float* registers = s->registers[lane] = step_of(t).sum;
    each_sum(lane, s->columns, [&](int i, int at) {
      s->value[static_cast<std::size_t>(at)] = sum_in(registers, i, s->halves);
    });
    for (int i = 0; i < words_of_sum(s->columns, s->halves); ++i)
      std::memcpy(&registers[i], &poison, sizeof poison);
  }
  m.sums.push_back(s);
  return s;
}

machine::matrix_number number_of_a(operand_type type) {
  using enum machine::matrix_number;
  static constexpr machine::matrix_number all[] = {f16, bf16, tf32, e4m3, e4m3, e5m2, e5m2, s8, s8, u8, u8};
  return all[static_cast<std::size_t>(type)];
}
// The columns in which the numbers of a warp's rows of a sparse A stand, by rows.
std::vector<std::uint8_t> columns_of_sparse(std::span<thread_state* const> lanes) {
  const brought_step& first = step_of(lanes.front());
  std::uint32_t words[warp][5] = {};  // metadata comes after four words of A
  lane_registers registers[warp] = {};
  for (std::size_t i = 0; i < warp; ++i) {
    words[i][4] = step_of(lanes[i]).metadata;
    registers[i].a = words[i];
  }
  const machine::matrix_number of = number_of_a(first.type);
  std::vector<std::uint8_t> all;
  for (int row = 0; row < rows_of_warp; ++row)
    for (int k = 0; k < 2 * depth / bytes_of(first.type); ++k)
      all.push_back(static_cast<std::uint8_t>(column_of_sparse(of, first.step.selector, registers, row, k)));
  return all;
}

void start(thread_state& self, std::span<thread_state* const> threads, place where) {
  const brought_step& first = step_of(threads.front());
  const machine::warpgroup_step& what = first.step;
  for (const thread_state* t : threads)
    if (step_of(t).step != what || (step_of(t).a == nullptr) != (first.a == nullptr) ||
        step_of(t).type != first.type)
      fail(*t, fault::barrier_misuse, where,
           "the threads of a warpgroup call wgmma with different descriptors");
  if (first.a == nullptr)
    require_inside(self, what.a_descriptor, what.a_transposed, rows_of_warp * warps_together, depth, "A",
                   where);
  require_inside(self, what.b_descriptor, what.b_transposed, what.columns, depth_of_b(what), "B", where);
  const bool now = self.owner->lands_now();
  for (int w = 0; w < warps_together; ++w) {
    const auto lanes = threads.subspan(static_cast<std::size_t>(w * warp), warp);
    warp_matrices& m = matrices_of(*lanes.front());
    matrix_operation o{.step = what, .sum = sum_of(m, lanes, where), .type = first.type};
    if (first.a != nullptr) {
      o.a.resize(rows_of_warp * depth);
      for (thread_state* t : lanes) {
        if (first.a_stays) {
          if (!are_fenced(*t, step_of(t).a, bytes_of_a))
            fail(*t, fault::barrier_misuse, where,
                 "a wgmma takes A from registers the thread may still be writing: wgmma_fence comes before "
                 "it");
          o.a_registers.push_back(registers_at(step_of(t).a, bytes_of_a));
          remember(*t, o.a_registers.back());
        }
        (first.type >= operand_type::tf32 ? take_a_words : take_a)(o.a.data(), t->index % warp, step_of(t).a);
      }
    }
    if (is_sparse(what)) o.column = columns_of_sparse(lanes);
    ++o.sum->operations;
    if (observer* watch = self.owner->watch())
      watch->matrix_issued(lanes, ranges_of(*self.home, o, w), rows_of_warp * what.columns * depth, where);
    if (now) read_operands(*self.home, o, w);
    m.operations.push_back(std::move(o));
    ++m.open;
  }
}

void bring(thread_state& self, const brought_step& mine, place where) {
  self.brought = &mine;
  const int parties = warp * warps_together;
  auto& group = self.home->warpgroup[static_cast<std::size_t>(self.index / parties)];
  together(self, group, parties, condition::at_warpgroup, where,
           [&](std::span<thread_state* const> threads) { start(self, threads, where); });
}

void multiply(operand_type type, std::span<const std::uint16_t> a, std::span<const std::uint16_t> b,
              sum_in_flight& s, tensor_sums how) {
  if (type == operand_type::bf16)
    multiply_step_bf16(a, b, rows_of_warp, s.columns, s.value, how);
  else if (type == operand_type::tf32)
    multiply_step_tf32(words_of(a), words_of(b), rows_of_warp, s.columns, s.value, how);
  else if (type != operand_type::f16)
    multiply_bytes(type, a, b, rows_of_warp, s.columns, s.value);
  else
    multiply_step(a, b, rows_of_warp, s.columns, s.value, how);
}
// A sparse A is multiplied as two dense ones, of the lower and the upper half of its columns.
void multiply_sparse(const matrix_operation& o, sum_in_flight& s, tensor_sums how) {
  constexpr std::size_t row_bytes = 2 * depth;
  const auto size = static_cast<std::size_t>(bytes_of(o.type));
  std::vector<unsigned char> dense(rows_of_warp * 2 * row_bytes);
  for (std::size_t i = 0; i < o.column.size(); ++i) {
    const std::size_t row = i / (row_bytes / size), at = o.column[i] * size;
    std::memcpy(&dense[(at / row_bytes * rows_of_warp + row) * row_bytes + at % row_bytes],
                reinterpret_cast<const unsigned char*>(o.a.data()) + i * size, size);
  }
  const std::size_t of_half = o.b.size() / 2;
  for (std::size_t half = 0; half < 2; ++half) {
    std::vector<std::uint16_t> a(rows_of_warp * depth), b(of_half);
    std::memcpy(a.data(), &dense[half * rows_of_warp * row_bytes], rows_of_warp * row_bytes);
    for (std::size_t i = 0; i < of_half; ++i)
      b[i] =
          o.b[o.type >= operand_type::tf32 ? (i / depth * 2 + half) * depth + i % depth : half * of_half + i];
    multiply(o.type, a, b, s, how);
  }
}

void land(thread_state& self, warp_matrices& m, std::span<thread_state* const> lanes, place where) {
  matrix_operation& o = m.operations.front();
  read_operands(*self.home, o, self.index / warp % warps_together);
  for (const used_registers& r : o.a_registers)
    if (!are_as(r))
      fail(*lanes[static_cast<std::size_t>(&r - o.a_registers.data())], fault::barrier_misuse, where,
           "registers of a wgmma's A were written before the wgmma_wait that covers it");
  sum_in_flight& s = *o.sum;
  if (!o.step.accumulate) std::fill(s.value.begin(), s.value.end(), 0.f);
  if (o.step.negated)
    for (std::size_t i = 0; i < o.a.size(); ++i)
      o.a[i] ^= static_cast<std::uint16_t>(o.type < operand_type::tf32   ? 0x8000
                                           : o.type > operand_type::tf32 ? 0x8080
                                                                         : i % 2 << 15);
  if (is_sparse(o.step))
    multiply_sparse(o, s, sums_of(self));
  else
    multiply(o.type, o.a, o.b, s, sums_of(self));
  if (s.halves)
    for (float& sum : s.value) sum = plain::from_half(plain::to_half(sum));
  if (--s.operations == 0) {
    for (thread_state* t : lanes) {
      require_poison(*t, s, where);
      float* registers = s.registers[t->index % warp];
      each_sum(t->index % warp, s.columns, [&](int i, int at) {
        put_sum(registers, i, s.halves, s.value[static_cast<std::size_t>(at)]);
      });
      remember(*t, registers_at(registers, bytes_of_sum(s.columns, s.halves)));
    }
    std::erase(m.sums, o.sum);
  }
  m.operations.pop_front();
  ++m.landed;
}
// A group belongs to the warpgroup: once one warp has waited for it, operands have been read for all four
// warps and may be overwritten.
void read_for_others(thread_state& self, const warp_matrices& m) {
  const int first = self.index / warp / warps_together * warps_together;
  for (int w = 0; w < warps_together; ++w) {
    warp_matrices& other = self.home->matrices[static_cast<std::size_t>(first + w)];
    for (std::size_t i = 0; i < other.operations.size() && other.landed + i < m.landed; ++i)
      read_operands(*self.home, other.operations[i], w);
  }
}

}  // namespace
}  // namespace antiphase::cpu_detail

namespace antiphase::machine {

using namespace cpu_detail;

void load_matrices(std::uint32_t (&to)[4], const void* row, bool transposed, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  const auto* at = static_cast<const unsigned char*>(row);
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    fail(self, fault::bad_copy, where, "a row of ldmatrix is not aligned to 16 bytes");
  if (at < self.block->shared || at + 16 > self.block->shared + self.block->shared_bytes)
    fail(self, fault::bad_copy, where,
         fmt::format("a row of ldmatrix does not lie in the block's {} bytes of shared memory",
                     self.block->shared_bytes));
  if (observer* watch = self.owner->watch()) watch->read_by_verb(self, row, 16);
  struct brought {
    std::uint32_t* destination;
    const void* row;
  } mine{to, row};
  self.brought = &mine;
  together(self, matrices_of(self).lanes, warp, condition::at_warp, where,
           [&](std::span<thread_state* const> lanes) {
             std::uint16_t value[4][8][8];
             for (std::size_t i = 0; i < lanes.size(); ++i)
               std::memcpy(value[i / 8][i % 8], static_cast<const brought*>(lanes[i]->brought)->row, 16);
             for (std::size_t i = 0; i < lanes.size(); ++i)
               for (std::size_t m = 0; m < 4; ++m) {
                 const std::size_t g = i / 4, q = i % 4 * 2;
                 const std::uint32_t low = transposed ? value[m][q][g] : value[m][g][q],
                                     high = transposed ? value[m][q + 1][g] : value[m][g][q + 1];
                 static_cast<const brought*>(lanes[i]->brought)->destination[m] = low | high << 16;
               }
           });
}

void warp_multiply(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], place where) {
  warp_multiply(operand_type::f16, sum, a, b, where);
}
void warp_multiply(operand_type type, float (&sum)[4], const std::uint32_t (&a)[4],
                   const std::uint32_t (&b)[2], place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  struct brought {
    float* sum;
    const std::uint32_t *a, *b;
  } mine{sum, a, b};
  self.brought = &mine;
  together(self, matrices_of(self).lanes, warp, condition::at_warp, where,
           [&](std::span<thread_state* const> lanes) {
             std::uint16_t all_a[rows_of_warp * depth], all_b[depth * 8];
             float all[rows_of_warp * 8];
             for (int i = 0; i < warp; ++i) {
               const auto& of = *static_cast<const brought*>(lanes[static_cast<std::size_t>(i)]->brought);
               take_a(all_a, i, of.a);
               take_b(all_b, i, of.b);
               each_sum(i, 8, [&](int r, int at) { all[at] = of.sum[r]; });
             }
             if (type == operand_type::bf16)
               multiply_step_bf16(all_a, all_b, rows_of_warp, 8, all, sums_of(self));
             else
               multiply_step(all_a, all_b, rows_of_warp, 8, all, sums_of(self));
             tell(self, lanes, rows_of_warp * 8 * depth, where);
             for (int i = 0; i < warp; ++i) {
               const auto& of = *static_cast<const brought*>(lanes[static_cast<std::size_t>(i)]->brought);
               each_sum(i, 8, [&](int r, int at) { of.sum[r] = all[at]; });
             }
           });
}

void warp_multiply(double (&sum)[4], const double (&a)[2], double b, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  struct brought {
    double* sum;
    const double* a;
    double b;
  } mine{sum, a, b};
  self.brought = &mine;
  together(self, matrices_of(self).lanes, warp, condition::at_warp, where,
           [&](std::span<thread_state* const> lanes) {
             double all_a[rows_of_warp][4], all_b[4][8], all[rows_of_warp][8];
             for (int i = 0; i < warp; ++i) {
               const auto& of = *static_cast<const brought*>(lanes[static_cast<std::size_t>(i)]->brought);
               for (int half = 0; half < 2; ++half) all_a[i / 4 + 8 * half][i % 4] = of.a[half];
               all_b[i % 4][i / 4] = of.b;
               each_sum(i, 8, [&](int r, int at) { all[at / 8][at % 8] = of.sum[r]; });
             }
             multiply_step_f64(all_a, all_b, all);
             tell(self, lanes, rows_of_warp * 8 * 4 * f64_takes, where);
             for (int i = 0; i < warp; ++i) {
               const auto& of = *static_cast<const brought*>(lanes[static_cast<std::size_t>(i)]->brought);
               each_sum(i, 8, [&](int r, int at) { of.sum[r] = all[at / 8][at % 8]; });
             }
           });
}

void warp_multiply_of(const warp_product& what, void* d, const void* a, const void* b, const void* c,
                      place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  lane_registers mine{d, a, b, c};
  self.brought = &mine;
  together(self, matrices_of(self).lanes, warp, condition::at_warp, where,
           [&](std::span<thread_state* const> threads) {
             lane_registers lanes[warp];
             for (std::size_t i = 0; i < warp; ++i)
               lanes[i] = *static_cast<const lane_registers*>(threads[i]->brought);
             multiply_warp(what, lanes);
             tell(self, threads, multiply_adds_of(what), where);
           });
}

void warpgroup_multiply(float* sum, const warpgroup_step& what, const std::uint32_t* a, place where) {
  bring(called_from(__builtin_return_address(0)), {sum, what, a, operand_type::f16}, where);
}
void warpgroup_multiply(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                        place where) {
  bring(called_from(__builtin_return_address(0)), {sum, what, a, type}, where);
}
void warpgroup_multiply_tf32(float* sum, int columns, bool accumulate, const std::uint32_t* a,
                             std::uint64_t b_descriptor, place where) {
  bring(called_from(__builtin_return_address(0)),
        {sum, {columns, accumulate, false, false, 0, b_descriptor}, a, operand_type::tf32}, where);
}
void warpgroup_multiply_of(operand_type type, float* sum, const warpgroup_step& what, const std::uint32_t* a,
                           std::uint32_t metadata, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (what.columns % 8 != 0 || what.columns < 8 || what.columns > 256)
    fail(self, fault::barrier_misuse, where,
         fmt::format("a wgmma of {} columns: expected a multiple of 8, up to 256", what.columns));
  bring(self, {sum, what, a, type, false, metadata}, where);
}

void warpgroup_fence(place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  self.registers_fenced = true;
  self.used.clear();
  // The warp meets here only if an observer watches: nothing else depends on it.
  if (self.owner->watch() == nullptr) return;
  constexpr std::size_t most = 16 * 1024;
  const auto* const frame = static_cast<const unsigned char*>(__builtin_frame_address(0));
  const auto* const top = static_cast<const unsigned char*>(self.self.bottom) + self.self.size;
  self.at_fence = registers_at(frame, std::min(static_cast<std::size_t>(top - frame), most));
  together(self, matrices_of(self).lanes, warp, condition::at_warp, where,
           [](std::span<thread_state* const>) {});
}

void warpgroup_commit(place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  warp_matrices& m = matrices_of(self);
  together(self, m.lanes, warp, condition::at_warp, where, [&](std::span<thread_state* const> lanes) {
    if (observer* watch = self.owner->watch()) watch->matrices_committed(lanes);
    m.groups.push_back(std::exchange(m.open, 0));
  });
}

void warpgroup_wait(int groups_left, place where) {
  thread_state& self = called_from(__builtin_return_address(0));
  warp_matrices& m = matrices_of(self);
  together(self, m.lanes, warp, condition::at_warp, where, [&](std::span<thread_state* const> lanes) {
    if (observer* watch = self.owner->watch()) watch->matrices_waited(lanes, groups_left);
    for (; m.groups.size() > static_cast<std::size_t>(groups_left); m.groups.pop_front())
      for (std::size_t i = 0; i < m.groups.front(); ++i) land(self, m, lanes, where);
    read_for_others(self, m);
  });
}

}  // namespace antiphase::machine
