// SPDX-License-Identifier: Apache-2.0
// Arrays in .npy files: reading, writing, and the order of their elements.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tool/files/npy_header.hpp"

namespace antiphase::tool {

class output_file;
struct npy_array;

// Throws bad_request if the elements are of another type.
void require_type(const npy_array& array, element wanted);

// An array as it lies in memory, in this machine's byte order. The data are a mapped file or a buffer; copies
// of an array share them.
struct npy_array {
  std::string name;  // as messages call it: the path in quotes, or "standard input"
  element type;      // of truths u8
  std::vector<std::int64_t> shape;
  storage_order order = storage_order::row_major;
  std::uint64_t trailing_bytes = 0;         // of a regular file behind the data; ignored, as numpy does
  std::shared_ptr<const std::byte> data{};  // aligned for the type; null if there is no element
  meaning means = meaning::numbers;

  std::int64_t count() const { return element_count(shape); }
  std::span<const std::byte> bytes() const { return {data.get(), data_bytes(type, shape)}; }
  // The elements as they are stored. T has to be the array's type: bad_request otherwise.
  template <class T> std::span<const T> values() const {
    require_type(*this, element_of<T>);
    return {reinterpret_cast<const T*>(data.get()), static_cast<std::size_t>(count())};
  }
};

// Reads an array of any supported type; "-" is the standard input, and a path that names an open descriptor
// (file_names.hpp) is read through it, from where it stands. A regular file is mapped (converted to memory if
// its bytes are in the other order or not aligned), anything else is read as it comes, to the end of the
// array and no further. Throws bad_input if the file cannot be opened or is not what a .npy file has to be.
// Nothing is allocated before the header has been found good, and then not more than a small multiple of what
// the file really holds.
npy_array read_npy(const std::string& path, booleans take = booleans::refused);

// The same array in C order; without a copy if it is in that order already.
npy_array in_c_order(npy_array array);

// Writes an array in C order; `data` has to have exactly the size that the shape says (bad_request). The
// caller commits the file.
void write_npy(output_file& file, element type, std::span<const std::int64_t> shape,
               std::span<const std::byte> data, meaning means = meaning::numbers);

}  // namespace antiphase::tool
