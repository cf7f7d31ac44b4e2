// SPDX-License-Identifier: Apache-2.0
// Arrays in .npy files: reading, writing and element order.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tool/files/npy/npy_header.hpp"

namespace antiphase::tool {

class output_file;
struct npy_array;

// Throws bad_request if the elements are of another type.
void require_type(const npy_array& array, element wanted);

// An array in memory, in this machine's byte order. The data are a mapped file or a buffer, shared by copies
// of the array.
struct npy_array {
  std::string name;  // in messages: the path in quotes, or "standard input"
  element type;      // u8 for truths
  std::vector<std::int64_t> shape;
  storage_order order = storage_order::row_major;
  std::uint64_t trailing_bytes = 0;         // after the data of a regular file; ignored, as numpy does
  std::shared_ptr<const std::byte> data{};  // aligned for the type; null if there are no elements
  meaning means = meaning::numbers;

  std::int64_t count() const { return element_count(shape); }
  std::span<const std::byte> bytes() const { return {data.get(), data_bytes(type, shape)}; }
  // The elements as stored. Throws bad_request unless T is the array's type.
  template <class T> std::span<const T> values() const {
    require_type(*this, element_of<T>);
    return {reinterpret_cast<const T*>(data.get()), static_cast<std::size_t>(count())};
  }
};

// Reads an array of any supported type. "-" is standard input; a path that names an open descriptor
// (file_names.hpp) is read through it, from its current position. A regular file is mapped, or copied to
// memory if its bytes are swapped or misaligned. Other inputs are read as a stream, up to the end of the
// array and no further. Throws bad_input if the file cannot be opened or is not a valid .npy file. Nothing is
// allocated before the header has been validated, and then at most a small multiple of the data actually in
// the file.
npy_array read_npy(const std::string& path, booleans take = booleans::refused);

// The same array in C order; without a copy if it is in that order already.
npy_array in_c_order(npy_array array);

// Writes an array in C order; `data` must have exactly the size that the shape implies (else bad_request).
// The caller commits the file.
void write_npy(output_file& file, element type, std::span<const std::int64_t> shape,
               std::span<const std::byte> data, meaning means = meaning::numbers);

}  // namespace antiphase::tool
