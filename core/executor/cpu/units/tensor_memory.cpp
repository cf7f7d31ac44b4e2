// SPDX-License-Identifier: Apache-2.0
#include <antiphase/executor/cpu/machine_tensor_memory.hpp>

#include "core/executor/cpu/worker.hpp"

namespace antiphase::machine {

using namespace cpu_detail;

std::uint64_t tensor_begin(tensor_work kind, const char* name, const memory_range* all, std::size_t count,
                           place where, const void* code) {
  thread_state& self = called_from(code);
  self.time.instructions(1);
  self.owner->in_turn(self);
  observer* const watch = self.owner->watch();
  return watch != nullptr ? watch->tensor_begun(self, kind, name, {all, count}, where) : 0;
}
void tensor_wait(tensor_work kind, std::uint64_t last) {
  thread_state& self = called_from(__builtin_return_address(0));
  if (observer* watch = self.owner->watch()) watch->tensor_waited(self, kind, last);
}
extent3 cancel_launch() {
  const thread_state& self = called_from(__builtin_return_address(0));
  return self.owner->cancel_cluster();
}

}  // namespace antiphase::machine
