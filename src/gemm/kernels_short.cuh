// The kernel of products with few values of k (sm_75).
#include <antiphase/gemm/short_product.cuh>
#include <vector>

namespace antiphase::mm {
inline namespace AP_TARGET {

std::vector<short_instance> short_kernels() { return {{kernel_of<short_product>("gemm.short")}}; }

}  // namespace AP_TARGET
}  // namespace antiphase::mm
