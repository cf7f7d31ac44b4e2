// SPDX-License-Identifier: Apache-2.0
// Source places as 32-bit numbers.
#pragma once
#include <antiphase/checker.hpp>
#include <antiphase/executor/cpu/machine.hpp>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "knowledge.hpp"

namespace antiphase::checker_detail {

// Load address of this binary, or of the program loaded to be checked: places of instrumented code are
// offsets from it.
extern std::uintptr_t code_base;

// Numbers places so that a cell can hold them; lines are looked up later. A place is known by file and line,
// by the return address after its instruction, or by both. Assumes: most code lies within 1 GiB above
// code_base; other addresses go into a list, with linear search.
class place_table {
 public:
  // numbers from here on index far_code_; smaller ones are offsets
  static constexpr place_number far_code = 0x40000000u;

  place_number number_of(machine::place where);
  place_number number_of(const void* code, machine::place where);
  place_number number_of_code(const void* code) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(code) - code_base;
    return offset < far_code ? static_cast<place_number>(offset) : number_of_far(code);
  }
  std::vector<code_place> lines(place_number p) const;  // innermost first
  code_place first_line(place_number p) const;          // first line outside the machinery, if there is one
  const void* code_of(place_number p) const;            // address after the instruction; null: unknown

 private:
  place_number number_of_far(const void* code);
  static constexpr place_number from_source = 0x80000000u;  // an index into sources_

  std::vector<machine::place> sources_;
  std::unordered_map<place_number, machine::place> also_;  // of places known by both
  std::map<std::tuple<const char*, unsigned, unsigned>, place_number> source_numbers_;
  std::vector<const void*> far_code_;
};

}  // namespace antiphase::checker_detail
