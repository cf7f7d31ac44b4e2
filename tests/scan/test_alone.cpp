// SPDX-License-Identifier: Apache-2.0
// The scans of warps and blocks called from a user's kernel: any number of elements, any type, order of
// operands kept.
#include "tests/scan/kernels.hpp"
#include "tests/scan/support.hpp"

namespace antiphase::scan_test {

// One list per target.
namespace cpu {
std::vector<alone_kernel> kernels_alone();
}
namespace cuda {
std::vector<alone_kernel> kernels_alone();
}

namespace {

constexpr std::uint32_t modulus = 65521;

template <class T, class Op>
void expect_right(const context& where, const alone_kernel& k, int count, scan_kind kind, Op op) {
  std::vector<T> host, expected;
  const auto length = static_cast<std::size_t>(count);
  for (int group = 0; group < k.groups; ++group) {
    for (int i = 0; i <= count; ++i) host.push_back(element_at<T>(group * 1000 + i));
    const std::vector<T> mine(host.end() - count - 1, host.end() - 1);
    const std::vector<T> scanned = expected_scan(mine, {1, count, 1}, kind, host.back(), op);
    expected.insert(expected.end(), scanned.begin(), scanned.end());
    expected.push_back(expected_scan(mine, {1, count, 1}, scan_kind::inclusive, host.back(), op)[length - 1]);
  }
  guarded<T> in(where, host), out(where, host);
  const alone_arguments all{.in = in.data(),
                            .out = out.data(),
                            .count = count,
                            .exclusive = kind == scan_kind::exclusive,
                            .modulus = modulus};
  where.runs_on().launch(k.code, {1, 1, 1}, &all, nullptr);
  where.runs_on().synchronize(nullptr);
  EXPECT_TRUE(out.to_host() == expected)
      << k.name << ", " << count << " elements, kind " << static_cast<int>(kind);
}

class scans_alone : public on_device {};
TEST_P(scans_alone, of_any_number_of_elements) {
#if ANTIPHASE_HAS_CUDA
  const std::vector<alone_kernel> kernels = is_cuda() ? cuda::kernels_alone() : cpu::kernels_alone();
#else
  const std::vector<alone_kernel> kernels = cpu::kernels_alone();
#endif
  ASSERT_EQ(kernels.size(), 12u);
  std::vector<context> contexts = several();
  for (const alone_kernel& k : kernels)
    for (const scan_kind kind : {scan_kind::inclusive, scan_kind::exclusive})
      for (const int count : {1, 2, 3, k.tile / 3, k.tile / 2 + 1, k.tile - 2, k.tile - 1, k.tile}) {
        if (count < 1) continue;
        const context& where = contexts[static_cast<std::size_t>(count) % contexts.size()];
        switch (k.type) {
          case carried::brackets: expect_right<brackets>(where, k, count, kind, concatenated{}); break;
          case carried::nullable: expect_right<nullable>(where, k, count, kind, last_present{}); break;
          case carried::matrix: expect_right<matrix>(where, k, count, kind, times{}); break;
          case carried::affine: expect_right<affine>(where, k, count, kind, composed{modulus}); break;
          case carried::triangle:
          case carried::step64: FAIL() << "it has no kernels here";
        }
        ASSERT_FALSE(HasFailure());
      }
}
AP_ON_BOTH_DEVICES(scans_alone);

}  // namespace
}  // namespace antiphase::scan_test
