// SPDX-License-Identifier: Apache-2.0
// Arbitrary bytes as a .npy file, through libFuzzer: refused as bad input, or an array that is the same
// however it is read and written.
#include <sanitizer/allocator_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "tool/base/errors.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/files/output_file.hpp"

namespace {

using namespace antiphase::tool;

constexpr std::size_t small_change = 64 << 10;                // headers, messages and the like
constexpr std::size_t stream_buffer = std::size_t{16} << 20;  // allocated before a stream's length is known

std::size_t allocated = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_npy: %s\n", what);
  std::abort();
}

// An anonymous regular file.
class memory_file {
 public:
  memory_file()
      : descriptor_{memfd_create("fuzz_npy", MFD_CLOEXEC)},
        path_{"/proc/self/fd/" + std::to_string(descriptor_)} {
    check(descriptor_ >= 0, "no file in memory can be made");
  }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  void fill(const std::uint8_t* data, std::size_t size) {
    empty();
    check(write(descriptor_, data, size) == static_cast<ssize_t>(size),
          "the file in memory cannot be written");
    rewind();
  }
  void empty() {
    check(ftruncate(descriptor_, 0) == 0, "the file in memory cannot be emptied");
    rewind();
  }
  void rewind() { check(lseek(descriptor_, 0, SEEK_SET) == 0, "the file in memory cannot be rewound"); }
  void become(int standard) {
    check(dup2(descriptor_, standard) == standard, "a standard descriptor cannot be replaced");
  }

 private:
  int descriptor_;
  std::string path_;
};

struct outcome {
  std::optional<npy_array> array;
  std::string refusal{};  // without the file name
};

// Any other exception ends the process, which libFuzzer reports.
outcome read(const std::string& path, std::size_t most_memory) {
  const std::size_t before = allocated;
  outcome result;
  try {
    result.array = read_npy(path);
  } catch (const bad_input& refused) {
    result.refusal = refused.what();
    result.refusal.erase(0, result.refusal.find(": "));
    check(!result.refusal.empty(), "a refusal does not begin with the name of the file");
  }
  check(allocated - before <= most_memory, "reading took more memory than the file holds");
  return result;
}

void check_same(const npy_array& a, const npy_array& b, const char* what) {
  check(a.type == b.type && a.shape == b.shape && a.order == b.order, what);
  check(std::ranges::equal(a.bytes(), b.bytes()), what);  // hence every byte is read once
}

// Checks that the C order holds each element of the Fortran order at its indices.
void check_order(const npy_array& from, const npy_array& to) {
  const std::size_t size = size_of(from.type);
  for (std::int64_t n = 0; n < from.count(); ++n) {
    // the last index runs fastest in n; `stride` is that of Fortran order
    std::int64_t left = n, position = 0, stride = 1;
    for (const std::int64_t extent : from.shape) stride *= extent;
    for (std::size_t axis = from.shape.size(); axis-- > 0;) {
      stride /= from.shape[axis];
      position += left % from.shape[axis] * stride;
      left /= from.shape[axis];
    }
    const auto at = static_cast<std::size_t>(from.order == storage_order::row_major ? n : position);
    check(std::ranges::equal(from.bytes().subspan(at * size, size),
                             to.bytes().subspan(static_cast<std::size_t>(n) * size, size)),
          "an element is somewhere else in C order");
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const auto count = [](const volatile void*, std::size_t size) { allocated += size; };
  const auto ignore = [](const volatile void*) {};
  check(__sanitizer_install_malloc_and_free_hooks(count, ignore) > 0, "allocations cannot be counted");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static memory_file input, output;
  input.fill(data, size);
  input.become(STDIN_FILENO);
  const outcome mapped = read(input.path(), small_change + 2 * size);
  input.rewind();
  const outcome streamed = read("-", small_change + std::max(stream_buffer, 4 * size));
  check(mapped.refusal == streamed.refusal, "a file and a stream of the same bytes are refused differently");
  if (!mapped.array) return 0;
  check_same(*mapped.array, *streamed.array, "a file and a stream of the same bytes differ");
  for (const std::int64_t extent : mapped.array->shape) check(extent >= 0, "a dimension is negative");
  check(mapped.array->trailing_bytes + mapped.array->bytes().size() < size,
        "the array is larger than the file");

  const npy_array ordered = in_c_order(*mapped.array);
  check_order(*mapped.array, ordered);
  output.empty();
  output.become(STDOUT_FILENO);
  {
    output_file file{"-"};
    write_npy(file, ordered.type, ordered.shape, ordered.bytes());
    file.commit();
  }
  output.rewind();
  const outcome again = read(output.path(), small_change);
  check(again.array.has_value(), "what was written is refused");
  check_same(ordered, *again.array, "what was written reads back differently");
  return 0;
}
