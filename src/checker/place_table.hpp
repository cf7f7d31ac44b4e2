// SPDX-License-Identifier: Apache-2.0
// Places in the program, as numbers.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// Where the code of this binary starts, or of the program that it has loaded to check it: places of
// instrumented code are offsets from here.
extern std::uintptr_t code_base;

// Gives every place a number that a cell can hold, and tells its lines later. A place is known by file and
// line, by the address behind an instruction, or by both. It assumes that most code lies within 1 GiB behind
// code_base; other addresses are found one by one.
class place_table {
 public:
  // from here on: an entry of far_code_; below: an offset
  static constexpr place_number far_code = 0x40000000u;

  place_number number_of(machine::place where);
  place_number number_of(const void* code, machine::place where);
  place_number number_of_code(const void* code) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(code) - code_base;
    return offset < far_code ? static_cast<place_number>(offset) : number_of_far(code);
  }
  std::vector<code_place> lines(place_number p) const;  // the innermost first
  code_place first_line(place_number p) const;          // in the kernel, if any of them is
  const void* code_of(place_number p) const;            // the address behind the instruction; null: not known

 private:
  place_number number_of_far(const void* code);
  static constexpr place_number from_source = 0x80000000u;  // an entry of sources_

  std::vector<machine::place> sources_;
  std::unordered_map<place_number, machine::place> also_;  // places known by both
  std::map<std::tuple<const char*, unsigned, unsigned>, place_number> source_numbers_;
  std::vector<const void*> far_code_;
};

}  // namespace antiphase::checker_detail
