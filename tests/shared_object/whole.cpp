// SPDX-License-Identifier: Apache-2.0
// A user's shared object that contains the whole library, and its interface for a program that does not use
// antiphase.
#include <antiphase/gemm.hpp>
#include <antiphase/scan.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

// Stands for the CUDA runtime's thread-local storage, which is page-aligned: the object's whole TLS block
// then exceeds a page.
alignas(4096) thread_local unsigned char page[4096];

std::string wrong_with(const std::vector<float>& found, const char* of, auto expected) {
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != expected(i))
      return std::string(of) + " " + std::to_string(i) + " is " + std::to_string(found[i]);
  return {};
}

std::string use(const std::string& where) {
  using namespace antiphase;
  const context on = context::on(where);
  constexpr std::size_t m = 40, n = 50, k = 30;
  const device_array<float> a(on, std::vector<float>(m * k, 1.5f)), b(on, std::vector<float>(k * n, 2));
  device_array<float> c(on, m * n);
  const gemms::problem p{
      .a = row_major(a.data(), m, k), .b = row_major(b.data(), k, n), .c = row_major(c.data(), m, n)};
  for (const char* policy : {"auto", "async-3"}) {
    gemm(on, p, {.policy = policy});
    if (auto wrong = wrong_with(c.to_host(), "output", [](std::size_t) { return 90.f; }); !wrong.empty())
      return wrong;
  }
  device_array<float> sums(on, std::vector<float>(10000, 1));
  scan(on, {.in = sums.data(), .out = sums.data(), .length = 10000});
  return wrong_with(sums.to_host(), "sum", [](std::size_t i) { return static_cast<float>(i + 1); });
}

}  // namespace

// Writes the fault found, in at most `room` characters; an empty text if there is none.
extern "C" void use_antiphase(const char* where, char* text, std::size_t room) {
  std::string wrong;
  try {
    if (reinterpret_cast<std::uintptr_t>(page) % sizeof page != 0) wrong = "the page is misaligned";
    if (++page[5] == 0) wrong = "the page is not this thread's";
    if (wrong.empty()) wrong = use(where);
  } catch (const std::exception& e) {
    wrong = e.what();
  }
  text[wrong.copy(text, room - 1)] = '\0';
}
