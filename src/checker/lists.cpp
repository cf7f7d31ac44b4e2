#include "lists.hpp"

#include <antiphase/gemm/ladder.hpp>
#include <antiphase/scan/ladder.hpp>
#include <mutex>

#include "src/checked_list.hpp"
#include "src/named_lists.hpp"

namespace antiphase {

namespace mm::checked {
std::vector<instance> plain_kernels();
std::vector<instance> async_kernels();
std::vector<instance> vector_kernels();
}  // namespace mm::checked
namespace prefix::checked {
std::vector<instance> arithmetic_kernels();
std::vector<instance> minimum_kernels();
std::vector<instance> maximum_kernels();
std::vector<instance> ladder_kernels();
std::vector<instance> single_pass_kernels();
}  // namespace prefix::checked

namespace checker_detail {

void enter_checked_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    checked_list<mm::instance>() =
        concatenate<mm::instance>({mm::checked::plain_kernels(), mm::checked::async_kernels(), mm::checked::vector_kernels()});
    checked_list<prefix::instance>() = concatenate<prefix::instance>(
        {prefix::checked::ladder_kernels(), prefix::checked::arithmetic_kernels(), prefix::checked::minimum_kernels(),
         prefix::checked::maximum_kernels(), prefix::checked::single_pass_kernels()});
  });
}

}  // namespace checker_detail
}  // namespace antiphase
