// The split pass for devices without clusters (sm_80).
#include <antiphase/gemm/split_pass.cuh>

namespace antiphase::mm {
inline namespace AP_TARGET {

std::vector<split_instance> split_alone_kernels() { return {{split_alone, kernel_of<split_pass<split_alone>>("gemm.split-alone")}}; }

}  // namespace AP_TARGET
}  // namespace antiphase::mm
