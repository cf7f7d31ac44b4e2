// SPDX-License-Identifier: Apache-2.0
// A race three calls deep, through functions that the compiler inlines and one that it does not.
#include <antiphase/device/kernel.cuh>

namespace antiphase::test {
inline namespace AP_TARGET {

struct calling {
  using params = std::uint32_t*;
  struct storage {};
  static constexpr int threads = 64;
  static void innermost(std::uint32_t* to) { *to += 1; }  // line of the access
  [[gnu::noinline]] static void apart(std::uint32_t* to) {
    innermost(to);  // line of the first call
  }
  static void in_between(std::uint32_t* to) {
    apart(to);  // line of the second call
  }
  void operator()(const params& p) const {
    if (thread_index() % 40 == 0) in_between(p);  // line of the third call
  }
};
kernel calling_kernel() { return kernel_of<calling>("calling"); }

}  // namespace AP_TARGET
}  // namespace antiphase::test
