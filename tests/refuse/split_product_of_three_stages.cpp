// SPDX-License-Identifier: Apache-2.0
// A ring that cannot hold a chunk and the one before it.
// error: a chunk is let go while the next one is multiplied, so the ring needs room for both
#include "library/gemm/fp16/split_product.cuh"

using enough = antiphase::gemms::split_product<antiphase::gemms::product_policy{.stages = 4}>;
static_assert(enough::threads == 384);
#ifdef REFUSED
using few = antiphase::gemms::split_product<antiphase::gemms::product_policy{.stages = 3}>;
static_assert(few::threads == 384);
#endif
