// The kernels of products that split A themselves (sm_90a).
#include <antiphase/gemm/converting_product.cuh>
#include <vector>

namespace antiphase::mm {
inline namespace AP_TARGET {

template <int Cluster> product_instance converting_instance_of(const char* name) {
  constexpr product_policy how{.stages = 7, .cluster = Cluster, .by = multiplier::converting};
  return {how, kernel_of<converting_product<how>>(name)};
}

std::vector<product_instance> converting_kernels() {
  return {converting_instance_of<1>("gemm.split-inside"), converting_instance_of<2>("gemm.split-inside-2"),
          converting_instance_of<4>("gemm.split-inside-4"), converting_instance_of<8>("gemm.split-inside-8")};
}

}  // namespace AP_TARGET
}  // namespace antiphase::mm
