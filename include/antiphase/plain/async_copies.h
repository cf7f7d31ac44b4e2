// SPDX-License-Identifier: Apache-2.0
// cp.async of any size, in pieces as large as alignment allows, issued by one thread or the threads of a
// group.
#pragma once
#include <antiphase/executor/cpu/machine_verbs.hpp>

#include "cuda_runtime.h"

#include "letters.h"

namespace antiphase::plain {

inline int piece_of(const void* to, const void* from, std::size_t bytes) {
  if (!__isShared(to)) return 0;
  const std::uintptr_t all =
      reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) | bytes;
  return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 0;
}
// Copies pieces first, first + step, ...; at once by ordinary accesses where cp.async is not possible.
// `counts`: the mbarrier whose phase alone waits for them; null: they join the thread's group.
AP_VERB void copy_async_pieces(void* to, const void* from, std::size_t bytes, std::size_t first,
                               std::size_t step, unsigned long* counts, place where) {
  const int piece = piece_of(to, from, bytes);
  if (piece == 0) {
    for (std::size_t i = first; i < bytes; i += step)
      static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    return;
  }
  const auto size = static_cast<std::size_t>(piece);
  for (std::size_t i = first * size; i < bytes; i += step * size)
    if (counts != nullptr)
      machine::bound_copy(static_cast<char*>(to) + i, static_cast<const char*>(from) + i,
                          static_cast<unsigned>(piece), counts, where);
    else
      machine::copy_async(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, piece, piece,
                          where);
}
// cuda::aligned_size_t<A> guarantees addresses and a size that are multiples of A; a number does not.
template <class Size>
AP_VERB std::size_t promised(const void* to, const void* from, const Size& bytes, place where) {
  if constexpr (requires { Size::align; }) machine::require_promise(to, from, bytes, Size::align, where);
  return bytes;
}
template <class Size> AP_VERB void copy_async_of_thread(void* to, const void* from, const Size& bytes,
                                                        unsigned long* counts, place where) {
  copy_async_pieces(to, from, promised(to, from, bytes, where), 0, 1, counts, where);
}
template <class Group, class Size> AP_VERB void copy_async_of_group(const Group& g, void* to,
                                                                    const void* from, const Size& bytes,
                                                                    unsigned long* counts, place where) {
  copy_async_pieces(to, from, promised(to, from, bytes, where), g.thread_rank(), g.size(), counts, where);
}

}  // namespace antiphase::plain

#include "letters.h"
