// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: what the array's bytes mean.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase::tool {

enum class storage_order { row_major, column_major };  // C order, Fortran order
enum class byte_order { native, swapped };             // of the file, as seen from this machine
enum class meaning { numbers, truths };                // truths: numpy's bool, one byte each, 0 or 1
enum class booleans { refused, taken };                // whether the caller accepts numpy's bool

constexpr int most_dimensions = 64;  // the limit of numpy 2

struct npy_header {
  element type;  // u8 for truths
  meaning means = meaning::numbers;
  byte_order bytes = byte_order::native;
  storage_order order = storage_order::row_major;
  std::vector<std::int64_t> shape;
};

// Parses the text of a header: one Python dictionary with exactly the keys descr, fortran_order and shape, in
// any order and spacing, with either kind of quotes. Anything else is refused with bad_input; `file` is the
// file's name in messages. The size of the data is checked: data_bytes() cannot overflow afterwards.
npy_header parse_npy_header(std::string_view text, std::string_view file, booleans take = booleans::refused);

// Everything before the data in a version 1.0 file written on this machine; a multiple of 64 bytes.
std::string npy_preamble(element type, std::span<const std::int64_t> shape,
                         storage_order order = storage_order::row_major, meaning means = meaning::numbers);

// Number of elements; 1 for the shape ().
std::int64_t element_count(std::span<const std::int64_t> shape);
std::size_t data_bytes(element type, std::span<const std::int64_t> shape);

// A shape in Python's notation: (), (5,), (2, 3).
std::string shape_text(std::span<const std::int64_t> shape);
// A type in numpy's notation without the byte order: f4, u1, b1. numpy has no bf16.
std::string numpy_name(element type, meaning means = meaning::numbers);

}  // namespace antiphase::tool
