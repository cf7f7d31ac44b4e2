// SPDX-License-Identifier: Apache-2.0
// One instruction of PTX: its name in parts, its operands, and the C++ for it.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// Something that is not in the table.
struct unknown {
  std::string what;
};

// What the names in an asm statement stand for; throws unknown.
class names {
 public:
  names() = default;
  names(const names&) = delete;
  names& operator=(const names&) = delete;
  virtual std::string value_of(std::string_view word) const = 0;
  virtual bool is_predicate(std::string_view word) const = 0;

 protected:
  ~names() = default;
};

// C++ for a register that tells where a thread is or what time it is: %laneid, %clock64. Empty: there is no
// such one here.
std::string special_register(std::string_view name);

// A statement of C++ without its semicolon. Throws unknown.
std::string code_of(std::string_view name, std::string_view operands, const names& of);

}  // namespace antiphase::plain
