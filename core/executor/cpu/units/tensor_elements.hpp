// SPDX-License-Identifier: Apache-2.0
// Types of the elements of tensor maps.
#pragma once
#include <antiphase/executor/cpu/machine_verbs.hpp>

namespace antiphase::cpu_detail {

struct tensor_element {
  int bytes;
  machine::number_kind numbers;
};
// By PTX's numbers of the types, u8 to tf32.ftz.
inline constexpr tensor_element tensor_elements[] = {
    {1, machine::number_kind::unsigned_integer}, {2, machine::number_kind::unsigned_integer},
    {4, machine::number_kind::unsigned_integer}, {4, machine::number_kind::signed_integer},
    {8, machine::number_kind::unsigned_integer}, {8, machine::number_kind::signed_integer},
    {2, machine::number_kind::floating},         {4, machine::number_kind::floating},
    {4, machine::number_kind::floating},         {8, machine::number_kind::floating},
    {2, machine::number_kind::bfloat},           {4, machine::number_kind::floating},
    {4, machine::number_kind::floating}};

}  // namespace antiphase::cpu_detail
