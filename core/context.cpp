// SPDX-License-Identifier: Apache-2.0
// Choosing where to run.
#include <antiphase/context.hpp>

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
#include <charconv>
#include <cstddef>
#include <limits>

namespace antiphase {

context context::on(std::string_view where) {
  if (where == "cpu") return context(make_cpu_executor());
  if (where == "cuda") return context(make_cuda_executor());
  constexpr std::string_view prefix = "cuda:";
  if (where.starts_with(prefix)) {
    const std::string_view digits = where.substr(prefix.size());
    int device = -1;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), device);
    if (failed == std::errc{} && end == digits.data() + digits.size() && device >= 0)
      return context(make_cuda_executor({.device = device}));
  }
  throw bad_request(fmt::format("cannot run on '{}': expected cpu, cuda or cuda:N", shortened(where)));
}

context context::best(std::string* why_not_cuda) {
  std::string why;
  if (!cuda_devices(&why).empty()) return context(make_cuda_executor());
  if (why_not_cuda != nullptr) *why_not_cuda = why;
  return context(make_cpu_executor());
}

namespace array_detail {

std::size_t bytes_of(std::size_t size, std::size_t element_bytes) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(size, element_bytes, &bytes) || bytes > most)
    throw bad_request(
        fmt::format("a device array of {} elements of {} bytes: expected less than 2^63 bytes in all", size,
                    element_bytes));
  return bytes;
}

void require_source(const void* host, std::size_t count, std::size_t size) {
  if (count > size)
    throw bad_request(fmt::format("copy_from of {} elements: the device array has room for {}", count, size));
  if (host == nullptr && count > 0)
    throw bad_request(
        fmt::format("copy_from of {} elements from a null pointer: expected their address", count));
}

}  // namespace array_detail

}  // namespace antiphase
