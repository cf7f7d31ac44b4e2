// SPDX-License-Identifier: Apache-2.0
// cp.async of any size, in pieces as large as alignment allows, issued by one thread or the threads of a
// group.
#pragma once
#include "cuda_runtime.h"

namespace antiphase::plain {

inline int piece_of(const void* to, const void* from, std::size_t bytes) {
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 0;
}
// Copies pieces first, first + step, ...; at once by ordinary accesses where cp.async is not possible.
AP_VERB void copy_async_pieces(void* to, const void* from, std::size_t bytes, std::size_t first,
                               std::size_t step, place where) {
  const int piece = piece_of(to, from, bytes);
  if (piece == 0) {
    for (std::size_t i = first; i < bytes; i += step)
      static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    return;
  }
  const auto size = static_cast<std::size_t>(piece);
  for (std::size_t i = first * size; i < bytes; i += step * size)
    machine::copy_async(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, piece, piece, where);
}
AP_VERB void copy_async_of_thread(void* to, const void* from, std::size_t bytes, place where) {
  copy_async_pieces(to, from, bytes, 0, 1, where);
}
template <class Group>
AP_VERB void copy_async_of_group(const Group& g, void* to, const void* from, std::size_t bytes, place where) {
  copy_async_pieces(to, from, bytes, g.thread_rank(), g.size(), where);
}

}  // namespace antiphase::plain
