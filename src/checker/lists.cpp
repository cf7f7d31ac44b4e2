#include "lists.hpp"

#include <antiphase/gemm/half_ladder.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/short_product.hpp>
#include <antiphase/gemm/split_pass.hpp>
#include <antiphase/gemm/split_product.hpp>
#include <antiphase/scan/ladder.hpp>
#include <mutex>

#include "src/checked_list.hpp"
#include "src/named_lists.hpp"
#include "src/scan/one_wave.hpp"
#include "src/scan/single_pass.hpp"

namespace antiphase {

namespace mm::checked {
std::vector<instance> plain_kernels();
std::vector<instance> async_kernels();
std::vector<instance> vector_kernels();
std::vector<product_instance> product_kernels();
std::vector<product_instance> product_warp_kernels();
std::vector<product_instance> converting_kernels();
std::vector<short_instance> short_kernels();
std::vector<split_instance> split_kernels();
std::vector<split_instance> split_alone_kernels();
std::vector<instance> strict_kernels();
std::vector<half_instance> tensor_core_kernels();
std::vector<half_instance> tensor_core_tma_kernels();
}  // namespace mm::checked
namespace prefix::checked {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
std::vector<wave_instance> one_wave_kernels();
std::vector<single_pass_instance> single_pass_kernels();
std::vector<single_pass_instance> single_pass_wide_kernels();
std::vector<single_pass_instance> single_pass_segments_kernels();
std::vector<single_pass_instance> single_pass_async_kernels();
std::vector<single_pass_instance> single_pass_async_wide_kernels();
std::vector<single_pass_instance> single_pass_async_segments_kernels();
}  // namespace prefix::checked

namespace checker_detail {

void enter_checked_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    checked_list<mm::instance>() = concatenate<mm::instance>(
        {&mm::checked::plain_kernels, &mm::checked::async_kernels, &mm::checked::vector_kernels, &mm::checked::strict_kernels});
    checked_list<mm::half_instance>() =
        concatenate<mm::half_instance>({&mm::checked::tensor_core_kernels, &mm::checked::tensor_core_tma_kernels});
    checked_list<mm::product_instance>() = concatenate<mm::product_instance>(
        {&mm::checked::product_kernels, &mm::checked::product_warp_kernels, &mm::checked::converting_kernels});
    checked_list<mm::short_instance>() = mm::checked::short_kernels();
    checked_list<mm::split_instance>() = concatenate<mm::split_instance>({&mm::checked::split_kernels, &mm::checked::split_alone_kernels});
    checked_list<prefix::instance>() =
        concatenate<prefix::instance>({&prefix::checked::ladder_kernels, &prefix::checked::arithmetic_kernels,
                                       &prefix::checked::minimum_kernels, &prefix::checked::maximum_kernels});
    checked_list<prefix::single_pass_instance>() = concatenate<prefix::single_pass_instance>(
        {&prefix::checked::single_pass_kernels, &prefix::checked::single_pass_wide_kernels, &prefix::checked::single_pass_segments_kernels,
         &prefix::checked::single_pass_async_kernels, &prefix::checked::single_pass_async_wide_kernels,
         &prefix::checked::single_pass_async_segments_kernels});
    checked_list<prefix::wave_instance>() = prefix::checked::one_wave_kernels();
  });
}

}  // namespace checker_detail
}  // namespace antiphase
