// SPDX-License-Identifier: Apache-2.0
// Loads of a PTX module that may read what no thread has written, as libraries load an element too many and
// drop it: an error only if the value makes a difference. The checker knows them by the name of this file.
#pragma once
#include "ptx.h"

namespace antiphase::plain::ptx::by_use {

template <class T, int Count> AP_VERB pack<T, Count> load(const void* p) {
  return *static_cast<const pack<T, Count>*>(p);
}
template <class T, int Count> AP_VERB pack<T, Count> load_volatile(const void* p) {
  pack<T, Count> all;
  const volatile T* const from = vector_at<T, Count>(p);
  for (int i = 0; i < Count; ++i) all.x[i] = from[i];
  return all;
}

}  // namespace antiphase::plain::ptx::by_use
