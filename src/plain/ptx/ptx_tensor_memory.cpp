// SPDX-License-Identifier: Apache-2.0
// tcgen05: Tensor Memory, and the products that accumulate in it.
#include "ptx_families.hpp"

namespace antiphase::plain::ptx_code {

namespace {
template <class... A> text in_tensor_memory(view function, const A&... arguments) {
  return call("tensor_memory::" + text(function), arguments...);
}
bool is_of_pair(instruction& i) {
  const view group = i.take_one({"cta_group::1", "cta_group::2"});
  if (group.empty()) i.refuse();
  return group.back() == '2';
}
void require_one_block(instruction& i) {
  if (is_of_pair(i)) i.refuse();
}
// [d]
text address(const instruction& i, std::size_t operand) {
  const auto parts = i.inside(operand);
  if (parts.size() != 1) i.refuse();
  const auto sum = split(parts[0], '+');
  text all = fmt::format("::antiphase::plain::ptx::get<unsigned>({})", i.value(sum[0]));
  for (std::size_t k = 1; k < sum.size(); ++k) all += fmt::format(" + {}", i.value(sum[k]));
  return fmt::format("static_cast<unsigned>({})", all);
}
int bits_of_shape(instruction& i) {
  const view shape = i.take_one({"32x32b", "16x128b", "16x256b"});
  if (shape.empty()) i.refuse();
  return shape == "32x32b" ? 32 : shape == "16x128b" ? 128 : 256;
}
}  // namespace

text tensor_allocate(instruction& i) {
  require_one_block(i);
  i.skip({"sync", "aligned", "b32"});
  return in_tensor_memory("allocate", i.pointer(0, i.space()), i.get("unsigned", 1), here);
}
text tensor_deallocate(instruction& i) {
  require_one_block(i);
  i.skip({"sync", "aligned", "b32"});
  return in_tensor_memory("deallocate", i.get("unsigned", 0), i.get("unsigned", 1), here);
}
text tensor_relinquish(instruction& i) {
  require_one_block(i);
  i.skip({"sync", "aligned"});
  return in_tensor_memory("relinquish", here);
}
text tensor_load(instruction& i) {
  i.skip({"sync", "aligned", "b32"});
  const int bits = bits_of_shape(i);
  i.take_beginning("x");
  const auto to = i.list(0);
  text code = fmt::format(
      "const auto ap_v = {}",
      in_tensor_memory(fmt::format("load_numbers<{}, {}>", bits, to.size()), address(i, 1), here));
  for (std::size_t k = 0; k < to.size(); ++k) code += "; " + call("put", to[k], fmt::format("ap_v.x[{}]", k));
  return code;
}
text tensor_store(instruction& i) {
  i.skip({"sync", "aligned", "b32"});
  const int bits = bits_of_shape(i);
  i.take_beginning("x");
  const std::size_t count = i.list(1).size();
  return in_tensor_memory(fmt::format("store_numbers<{}, {}>", bits, count), address(i, 0),
                          "{" + i.gets("unsigned", 1) + "}", here);
}
text tensor_wait(instruction& i) {
  i.skip({"sync", "aligned"});
  return in_tensor_memory("wait_for_accesses", here);
}
// [d], a, b, instruction, [disabled lanes,] adds
text tensor_multiply(instruction& i) {
  require_one_block(i);
  const view kind = i.take_one({"kind::f16", "kind::tf32"});
  if (kind.empty() || i.count() != 5) i.refuse();
  const bool in_memory = i.operand(1).starts_with("[");
  return in_tensor_memory(
      "multiply",
      fmt::format("{{{}, {}, {}, {}, {}, {}, {}, ::antiphase::plain::ptx::tensor_memory::operand_kind::{}}}",
                  address(i, 0), in_memory ? address(i, 1) : "0u",
                  in_memory ? "0ul" : i.get("unsigned long", 1), i.get("unsigned long", 2),
                  i.get("unsigned", 3), i.get("bool", 4), in_memory, kind.substr(6)),
      here);
}
text tensor_commit(instruction& i) {
  require_one_block(i);
  i.skip({"mbarrier::arrive::one", "b64"});
  if (i.count() != 1) i.refuse();
  return in_tensor_memory("commit", i.barrier(0, i.space()), here);
}

// Launches of a block in place of another that has not begun. All blocks begin here: the answer is no.
text cancel_launch(instruction& i) {
  i.skip({"async", "mbarrier::complete_tx::bytes", "b128"});
  const text space = i.space();
  return fmt::format("::antiphase::machine::bulk_load({}, ap_no_block, 16, {}, {})", i.pointer(0, space),
                     i.barrier(1, "in_shared"), here);
}
text is_canceled(instruction& i) {
  i.skip({"pred", "b128"});
  return i.put(0, fmt::format("static_cast<bool>({} & 1)", i.get("unsigned __int128", 1)));
}
text canceled_block(instruction& i) {  // zeros: no block is canceled
  while (!i.done()) i.skip_head(1);
  text code;
  for (const text& one : i.list(0)) code += (code.empty() ? "" : "; ") + call("put", one, "0u");
  return code;
}

}  // namespace antiphase::plain::ptx_code
