// SPDX-License-Identifier: Apache-2.0
// Registers of the kernels of a program, as ptxas assigns them.
#pragma once
#include <antiphase/executor/limits.hpp>
#include <antiphase/plain_cuda.hpp>
#include <map>
#include <optional>
#include <string>

namespace antiphase::tool {

class kernel_registers {
 public:
  bool empty() const { return counts_.empty(); }
  // Registers of a thread, the most of all kernels with that name, namespaces and template arguments aside.
  std::optional<int> of(const std::string& kernel) const;
  // Takes the output of `nvcc -Xptxas -v`.
  void add(const std::string& said);

 private:
  std::map<std::string, int> counts_;
};
// Empty where there is no nvcc, or it does not compile the program.
kernel_registers registers_of(const plain_program& program, const device_limits& on);

}  // namespace antiphase::tool
