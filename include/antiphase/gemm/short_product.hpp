// Products with few values of k.
#pragma once
#include <antiphase/executor/kernel.hpp>
#include <antiphase/gemm/policy.hpp>

namespace antiphase::mm {

// The longest K of such a product: by the rates of an H200, as many FP64 multiply-adds as pass while C is written.
constexpr int short_k = 16;
constexpr extent2 short_tile{64, 128};  // outputs of a block

struct short_instance {
  kernel code;
};

}  // namespace antiphase::mm
