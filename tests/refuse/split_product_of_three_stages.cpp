// A ring that cannot hold a chunk and the one before it.
// error: a chunk is let go while the next one is multiplied, so the ring needs room for both
#include <antiphase/gemm/split_product.cuh>

using enough = antiphase::mm::split_product<antiphase::mm::product_policy{.stages = 4}>;
static_assert(enough::threads == 384);
#ifdef REFUSED
using few = antiphase::mm::split_product<antiphase::mm::product_policy{.stages = 3}>;
static_assert(few::threads == 384);
#endif
