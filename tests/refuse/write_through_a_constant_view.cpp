// SPDX-License-Identifier: Apache-2.0
// A view of constant elements does not convert to a writable one.
// error: conversion from ... matrix_view<const float>
#include <antiphase/core/view.hpp>

void fill(antiphase::matrix_view<float> target, antiphase::matrix_view<const float> source) {
  const antiphase::matrix_view<const float> reads = target;
  target(0, 0) = reads(0, 1) + source(1, 0);
#ifdef REFUSED
  const antiphase::matrix_view<float> writes = source;
  writes(0, 0) = 0;
#endif
}
