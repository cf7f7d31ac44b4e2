// SPDX-License-Identifier: Apache-2.0
// Arrays in .npy files: reading, writing and element order.
#include "tool/files/npy/npy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "tool/base/errors.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/file_names.hpp"
#include "tool/files/output_file.hpp"

namespace antiphase::tool {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 10'000;
// initial buffer for a stream, whose header may announce more data than follow
constexpr std::size_t first_buffer = std::size_t{16} << 20;

// An input that is being read, and its name in messages.
struct source {
  std::string name;
  file_handle file;
  struct stat about {};
};

source open_source(const std::string& path) {
  const std::optional<int> open = input_descriptor(path);
  source in{.name = input_name(path), .file = open ? duplicate(*open) : open_file(path, O_RDONLY)};
  if (!in.file || fstat(in.file.get(), &in.about) != 0)
    throw bad_input{fmt::format("{}: cannot be opened for reading: {}", in.name, error_text(errno))};
  if (S_ISDIR(in.about.st_mode))
    throw bad_input{fmt::format("{}: is a directory, expected a .npy file", in.name)};
  return in;
}

std::size_t read_some(const source& in, std::span<std::byte> into) {
  const std::ptrdiff_t got = read_fully(in.file.get(), into);
  if (got < 0) throw error{fmt::format("{}: reading failed: {}", in.name, error_text(errno))};
  return static_cast<std::size_t>(got);
}

struct found_header {
  npy_header header;
  std::size_t data_offset;
};

found_header read_header(const source& in, booleans take) {
  std::array<std::byte, 12> start{};  // magic, version, length: 2 bytes in version 1.0, else 4
  std::size_t found = read_some(in, std::span{start}.first(10));
  const auto value = [&](std::size_t i) { return static_cast<std::size_t>(start[i]); };
  const std::string_view text{reinterpret_cast<const char*>(start.data()), std::min(found, magic.size())};
  if (text != magic.substr(0, text.size()))
    throw bad_input{fmt::format("{}: not a .npy file: it begins with {}, expected {}{}", in.name,
                                quoted(text), quoted(magic),
                                text.starts_with("PK") ? "; an .npz file has to be unpacked first" : "")};
  const bool first_version = found >= 8 && value(6) == 1;
  if (found >= 8 && (value(6) < 1 || value(6) > 3 || value(7) != 0))
    throw bad_input{fmt::format("{}: .npy version {}.{} is unknown, expected 1.0, 2.0 or 3.0", in.name,
                                value(6), value(7))};
  std::size_t offset = 10;
  if (found == 10 && !first_version) {
    offset = 12;
    found += read_some(in, std::span{start}.subspan(10));
  }
  if (found < offset)
    throw bad_input{fmt::format("{}: too short for a .npy file: {} bytes found, at least {} expected",
                                in.name, found, offset)};

  std::size_t length = value(8) | value(9) << 8;
  if (!first_version) length |= value(10) << 16 | value(11) << 24;
  if (length > longest_header)
    throw bad_input{
        fmt::format("{}: the header claims {} bytes, expected at most {}", in.name, length, longest_header)};
  std::string header(length, '\0');
  found = read_some(in, std::as_writable_bytes(std::span{header}));
  if (found < length)
    throw bad_input{
        fmt::format("{}: the header is truncated: {} bytes found, {} expected", in.name, found, length)};
  return {parse_npy_header(header, in.name, take), offset + length};
}

[[noreturn]] void refuse_truncated(const source& in, const npy_header& header, std::uint64_t found) {
  throw bad_input{fmt::format(
      "{}: the data are truncated: {} bytes found, {} expected for the shape {} of {}", in.name, found,
      data_bytes(header.type, header.shape), shape_text(header.shape), numpy_name(header.type))};
}

// malloc instead of new: realloc moves whole pages without copying, and nothing is zero-filled first. Aligned
// to 16 bytes.
struct freed {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using buffer = std::unique_ptr<std::byte, freed>;

void grow(buffer& memory, std::size_t size, const std::string& name) {
  void* const larger = std::realloc(memory.get(), size);
  if (larger == nullptr) throw error{fmt::format("{}: not enough memory for {} bytes", name, size)};
  static_cast<void>(memory.release());
  memory.reset(static_cast<std::byte*>(larger));
}

buffer read_stream(const source& in, const npy_header& header) {
  const std::size_t expected = data_bytes(header.type, header.shape);
  buffer memory;
  std::size_t found = 0;
  for (std::size_t size = std::min(expected, first_buffer); found < expected;
       size = std::min(expected, 2 * size)) {
    grow(memory, size, in.name);
    found += read_some(in, {memory.get() + found, size - found});
    if (found < size) refuse_truncated(in, header, found);
  }
  return memory;
}

// The mapped file from `offset` on; null if it cannot be mapped.
std::shared_ptr<const std::byte> map_file(const source& in, std::size_t offset) {
  const std::size_t length = static_cast<std::size_t>(in.about.st_size);
  void* const start = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, in.file.get(), 0);
  if (start == MAP_FAILED) return nullptr;
  return {static_cast<const std::byte*>(start) + offset,
          [start, length](const std::byte*) { munmap(start, length); }};
}

void reverse_bytes(std::span<std::byte> data, std::size_t size) {
  for (std::size_t at = 0; at < data.size(); at += size) std::ranges::reverse(data.subspan(at, size));
}

// Copies an n-dimensional array from Fortran order to C order: the last index varies fastest in the result,
// the first in the source.
template <class T> void copy_to_c_order(const T* from, T* to, std::span<const std::int64_t> shape) {
  std::array<std::int64_t, most_dimensions> stride{};
  std::array<std::int64_t, most_dimensions> index{};
  std::int64_t next = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = next;
    next *= shape[axis];
  }
  const std::size_t last = shape.size() - 1;
  const std::int64_t rows = element_count(shape.first(last));
  std::int64_t offset = 0;  // of the row at `index`
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < shape[last]; ++i) *to++ = from[offset + i * stride[last]];
    for (std::size_t axis = last; axis-- > 0;) {
      offset += stride[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

// numpy treats every nonzero byte as true.
void make_truths_plain(npy_array& array) {
  const std::span<const std::byte> from = array.bytes();
  if (std::ranges::all_of(from, [](std::byte b) { return b <= std::byte{1}; })) return;
  buffer to;
  grow(to, from.size(), array.name);
  std::ranges::transform(from, to.get(), [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
  array.data = std::move(to);
}

}  // namespace

void require_type(const npy_array& array, element wanted) {
  if (array.type != wanted)
    throw bad_input{fmt::format("{}: the elements are {}, expected {}", array.name, numpy_name(array.type),
                                numpy_name(wanted))};
}

npy_array read_npy(const std::string& path, booleans take) {
  const source in = open_source(path);
  const bool from_the_start = lseek(in.file.get(), 0, SEEK_CUR) == 0;
  auto [header, offset] = read_header(in, take);
  const std::size_t expected = data_bytes(header.type, header.shape);
  const std::size_t size = size_of(header.type);
  npy_array array{.name = in.name,
                  .type = header.type,
                  .shape = header.shape,
                  .order = header.order,
                  .means = header.means};

  // Files of /proc are regular but report size 0. A descriptor opened earlier need not be at the start of its
  // file.
  const bool whole_file = S_ISREG(in.about.st_mode) && in.about.st_size > 0 && from_the_start && path != "-";
  if (whole_file) {
    const std::uint64_t behind_header =
        static_cast<std::uint64_t>(in.about.st_size) - std::min<std::uint64_t>(offset, in.about.st_size);
    if (behind_header < expected) refuse_truncated(in, header, behind_header);
    array.trailing_bytes = behind_header - expected;
  }
  if (expected == 0) return array;
  if (whole_file && header.bytes == byte_order::native && offset % size == 0)
    array.data = map_file(in, offset);
  // leaves the file position where reading would, for processes that share it
  if (array.data != nullptr) lseek(in.file.get(), static_cast<off_t>(expected), SEEK_CUR);
  if (array.data == nullptr) {
    buffer memory = read_stream(in, header);
    if (header.bytes == byte_order::swapped) reverse_bytes({memory.get(), expected}, size);
    array.data = std::move(memory);
  }
  if (array.means == meaning::truths) make_truths_plain(array);
  return array;
}

npy_array in_c_order(npy_array array) {
  if (array.order == storage_order::row_major) return array;
  array.order = storage_order::row_major;
  const std::span<const std::byte> from = array.bytes();
  const auto longer_than_one = [](std::int64_t extent) { return extent > 1; };
  // at most one dimension exceeds 1: both orders are the same
  if (from.empty() || std::ranges::count_if(array.shape, longer_than_one) < 2) return array;

  buffer to;
  grow(to, from.size(), array.name);
  with_stored_element(array.type, [&]<class T>() {
    copy_to_c_order(reinterpret_cast<const T*>(from.data()), reinterpret_cast<T*>(to.get()), array.shape);
  });
  array.data = std::move(to);
  return array;
}

void write_npy(output_file& file, element type, std::span<const std::int64_t> shape,
               std::span<const std::byte> data, meaning means) {
  if (data.size() != data_bytes(type, shape))
    throw bad_request{fmt::format("{}: {} bytes are given for the shape {} of {}, expected {}", file.name(),
                                  data.size(), shape_text(shape), numpy_name(type), data_bytes(type, shape))};
  file.write(npy_preamble(type, shape, storage_order::row_major, means));
  file.write(data);
}

}  // namespace antiphase::tool
