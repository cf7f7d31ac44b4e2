// SPDX-License-Identifier: Apache-2.0
// One PTX instruction: its name, its operands and the C++ for it.
#pragma once
#include <string>
#include <string_view>

namespace antiphase::plain {

// Thrown for what the table does not have.
struct unknown {
  std::string what;
  const char* instead = nullptr;  // null: the dialect's list
};

// Meaning of names in an asm statement. Throws unknown.
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

// C++ for a special register such as %laneid or %clock64. Empty: not supported.
std::string special_register(std::string_view name);

// C++ statement for an instruction, without the semicolon. Throws unknown.
std::string code_of(std::string_view name, std::string_view operands, const names& of);

}  // namespace antiphase::plain
