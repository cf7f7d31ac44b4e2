// The kernel of products of split operands for devices without warpgroup operations (sm_80).
#include <antiphase/gemm/split_product_warps.cuh>
#include <vector>

namespace antiphase::mm {
inline namespace AP_TARGET {

std::vector<product_instance> product_warp_kernels() { return {{by_warps, kernel_of<split_product_warps<by_warps>>("gemm.split-mma")}}; }

}  // namespace AP_TARGET
}  // namespace antiphase::mm
