// SPDX-License-Identifier: Apache-2.0
// Times a lab's kernel on a GPU, for `antiphase course check --on cuda`: compiled with LAB, its number, and
// START, the student's file. Prints a line of JSON for a kernel. An argument divides the sizes, for the CPU
// executor.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define main main_of_the_lab
#include START
#undef main

namespace gpu {

void require(cudaError_t met, const char* call) {
  if (met == cudaSuccess) return;
  std::fprintf(stderr, "%s failed: %s\n", call, cudaGetErrorString(met));
  std::exit(3);
}

// Small integers that depend on their place, so that sums are exact in float.
int number(std::size_t i, unsigned seed) {
  return static_cast<int>((i * 2654435761u + seed * 40503u) >> 7 & 7) - 3;
}
template <class T> std::vector<T> numbers(std::size_t n, unsigned seed) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<T>(static_cast<float>(number(i, seed)));
  return all;
}

template <class T> class array {
 public:
  explicit array(std::size_t n) : size_(n) {
    require(cudaMalloc(&data_, n * sizeof(T)), "cudaMalloc");
    require(cudaMemset(data_, 0, n * sizeof(T)), "cudaMemset");
  }
  explicit array(const std::vector<T>& values) : array(values.size()) {
    require(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  ~array() { cudaFree(data_); }
  operator T*() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> all(size_);
    require(cudaMemcpy(all.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return all;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// Microseconds of a launch: the median of seven, after one that is not counted.
template <class F> double microseconds(F launch) {
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "cudaEventCreate"), require(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> all(7);
  launch();
  require(cudaGetLastError(), "the launch"), require(cudaDeviceSynchronize(), "the kernel");
  for (float& one : all) {
    cudaEventRecord(begin), launch(), cudaEventRecord(end);
    require(cudaEventSynchronize(end), "the kernel");
    require(cudaEventElapsedTime(&one, begin, end), "cudaEventElapsedTime");
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  std::sort(all.begin(), all.end());
  return 1000.0 * all[3];
}

// The measure of a kernel: a step of the ladder, as `antiphase ladder` is asked for it, or a time in
// microseconds. `alike`: it does the same work, so that the times can be compared, and not only the gains.
struct reference {
  std::string name, ladder;
  double us;
  bool alike;
};
const reference none{"", "", 0, false};
reference step(const std::string& family, const std::string& policy, const std::string& size) {
  return {policy, family + " --policy " + policy + " " + size, 0, true};
}
// A copy on the device that reads and writes as many bytes in all.
reference copy(std::size_t bytes) {
  const array<char> from(bytes / 2), to(bytes / 2);
  return {"a copy", "", microseconds([&] { cudaMemcpyAsync(to, from, bytes / 2, cudaMemcpyDeviceToDevice); }),
          true};
}

void print(const std::string& name, double us, double amount, const char* unit, bool right,
           const reference& other) {
  std::printf(
      "{\"name\": \"%s\", \"us\": %.4f, \"amount\": %.0f, \"unit\": \"%s\", \"right\": %s, "
      "\"reference\": {\"name\": \"%s\", \"ladder\": \"%s\", \"us\": %.4f, \"alike\": %s}}\n",
      name.c_str(), us, amount, unit, right ? "true" : "false", other.name.c_str(), other.ladder.c_str(),
      other.us, other.alike ? "true" : "false");
}

// C = A·B of n x n numbers, timed and compared in 64 places. `launch` is called with A, B and C.
template <class T, class F>
void product(const std::string& name, int size, const reference& other, F launch) {
  const std::size_t n = static_cast<std::size_t>(size), all = n * n;
  const array<T> a(numbers<T>(all, 1)), b(numbers<T>(all, 2));
  const array<float> c(all);
  const double us = microseconds([&] { launch(a, b, c); });
  const std::vector<float> is = c.to_host();
  bool right = true;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t at = i * 7919 % all;
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += number(at / n * n + k, 1) * number(k * n + at % n, 2);
    right = right && static_cast<double>(is[at]) == sum;
  }
  print(name, us, static_cast<double>(all) * size, "multiply-adds", right, other);
}

template <class T, class F> bool all_are(const array<T>& a, F expected) {
  const std::vector<T> is = a.to_host();
  for (std::size_t i = 0; i < is.size(); ++i)
    if (is[i] != static_cast<T>(expected(i))) return false;
  return true;
}

// Each lab's kernel, on sizes divided by `by`.
#if LAB == 0
void time_lab(int by) {
  const int n = (1 << 26) / by, blocks = (n + 1023) / 1024;
  const array<float> x(numbers<float>(n, 1)), y(numbers<float>(n, 2));
  line<<<blocks, 256>>>(3, x, y, n);
  const bool right = all_are(y, [](std::size_t i) { return 3 * number(i, 1) + number(i, 2); });
  const double us = microseconds([&] { line<<<blocks, 256>>>(3, x, y, n); });
  print("line", us, 12.0 * n, "bytes", right, copy(12ul * n));
}
#elif LAB == 1 || LAB == 2  // blocks that all scan the same numbers, from the cache
void time_lab(int by) {
  const int n = 256, blocks = (1 << 16) / by;
  const array<int> from(numbers<int>(n, 1)), to(n);
  const double us = microseconds([&] { scan<<<blocks, n>>>(from, to, n); });
  int sum = 0;
  const bool right = all_are(to, [&](std::size_t i) { return sum += number(i, 1); });
  print("scan", us, 1.0 * n * blocks, "numbers", right, none);
}
#elif LAB >= 3 && LAB <= 5
void time_lab(int by) {
  const int n = 2048 / by, blocks = (n + tile - 1) / tile;
  const char* const policy = LAB == 3 ? "tiled" : LAB == 4 ? "double-buffered" : "async-2";
  gpu::product<float>("product", n, step("gemm", policy, "--size " + std::to_string(n)),
                      [&](const float* A, const float* B, float* C) {
                        ::product<<<dim3(blocks, blocks), dim3(tile, tile)>>>(A, B, C, n, n, n);
                      });
}
#elif LAB == 6
template <int stages> void time_stages(int n) {
  const int blocks = (n + tile - 1) / tile;
  const std::string number = std::to_string(stages);  // the ladder begins with two stages
  gpu::product<float>("stages = " + number, n,
                      stages == 1 ? none : step("gemm", "async-" + number, "--size " + std::to_string(n)),
                      [&](const float* A, const float* B, float* C) {
                        ::product<stages><<<dim3(blocks, blocks), dim3(tile, tile)>>>(A, B, C, n, n, n);
                      });
}
void time_lab(int by) {
  const int n = 2048 / by;
  time_stages<1>(n), time_stages<2>(n), time_stages<3>(n), time_stages<4>(n);
}
#elif LAB == 7   // blocks that all add up the same numbers, from the cache
void time_lab(int by) {
  const int n = (1 << 18) / by, blocks = (1 << 11) / by;
  const array<int> from(numbers<int>(n, 1)), to(tile);
  const double us = microseconds([&] { sums<<<blocks, block_size>>>(from, to, n); });
  std::vector<int> wanted(tile);
  for (int i = 0; i < n; ++i) wanted[i % tile] += number(i, 1);
  print("sums", us, 4.0 * n * blocks, "bytes", to.to_host() == wanted, none);
}
#elif LAB == 8   // blocks that all double the same numbers, from the cache and to it
void time_lab(int by) {
  const int n = (1 << 18) / by, blocks = (1 << 10) / by;
  const array<int> from(numbers<int>(n, 1)), to(n);
  const double us = microseconds([&] { twice<<<blocks, tile>>>(from, to, n); });
  const bool right = all_are(to, [](std::size_t i) { return 2 * number(i, 1) + 1; });
  print("twice", us, 8.0 * n * blocks, "bytes", right, none);
}
#elif LAB == 9   // one block, where the ladder's rings scan on all multiprocessors
template <int stages> void time_stages(int n, reference other) {
  const array<int> from(numbers<int>(n, 1)), to(n);
  const double us = microseconds([&] { scan<stages><<<1, block_size>>>(from, to, n); });
  int sum = 0;
  const bool right = all_are(to, [&](std::size_t i) { return sum += number(i, 1); });
  other.alike = false;
  print("stages = " + std::to_string(stages), us, 8.0 * n, "bytes", right, other);
}
void time_lab(int by) {
  const int n = (1 << 18) / by;
  time_stages<1>(n, step("scan", "single-pass-1", "--size 67108864"));
  time_stages<2>(n, step("scan", "single-pass-2", "--size 67108864"));
  time_stages<4>(n, none);
}
#elif LAB == 10  // next to the ladder's step of ordinary code
void time_lab(int by) {
  const int n = 16384 / by;
  const auto values = [&](unsigned seed) {
    std::vector<float> all = numbers<float>(static_cast<std::size_t>(n) * dim, seed);
    for (float& x : all) x /= 8;
    return all;
  };
  const std::vector<float> q = values(1), k = values(2), v = values(3);
  const array<float> on_q(q), on_k(k), on_v(v), o(q.size());
  const double us =
      microseconds([&] { attention<<<(n + queries - 1) / queries, block_size>>>(on_q, on_k, on_v, o, n); });
  const std::vector<float> is = o.to_host();
  bool right = true;
  for (int row = 0; row < n; row += (n + 7) / 8) {
    double all = 0, sum = 0;
    for (int j = 0; j < n; ++j) {
      double score = 0;
      for (int d = 0; d < dim; ++d) score += static_cast<double>(q[row * dim + d]) * k[j * dim + d];
      all += std::exp(score), sum += std::exp(score) * v[j * dim];
    }
    right = right && std::fabs(is[row * dim] - sum / all) < 1e-4;
  }
  const std::string sizes =
      "--members 1 --heads 1 --size " + std::to_string(n) + " --depth " + std::to_string(dim);
  print("attention", us, 2.0 * n * n * dim, "multiply-adds", right, step("attention", "tiled", sizes));
}
#elif LAB == 11
void time_lab(int by) {
  const int n = 2048 / by, blocks = (n + tile - 1) / tile;
  gpu::product<float>("product", n, step("gemm", "register-tile", "--size " + std::to_string(n)),
                      [&](const float* A, const float* B, float* C) {
                        ::product<<<dim3(blocks, blocks), dim3(side, side)>>>(A, B, C, n, n, n);
                      });
}
#elif LAB == 12
void time_lab(int by) {
  const int slots = (1 << 13) / by;
  int multiprocessors = 1;
  require(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "the device");
  const std::size_t all = static_cast<std::size_t>(slots) * slot;
  const array<float> from(numbers<float>(all, 1)), to(slots);
  const int blocks = std::min(slots, 4 * multiprocessors);
  const double us = microseconds([&] { launch(from, to, slots, blocks); });
  const bool right = all_are(to, [](std::size_t i) {
    float sum = 0;
    for (int x = 0; x < slot; x += 64) sum += static_cast<float>(number(i * slot + x, 1));
    return sum;
  });
  print("sums", us, 4.0 * all, "bytes", right, copy(4 * all));
}
#elif LAB == 13
void time_lab(int by) {
  const int n = 8192 / by, blocks = (n + tile - 1) / tile;
  const std::size_t all = static_cast<std::size_t>(n) * n;
  const array<float> from(numbers<float>(all, 1)), to(all);
  const double us =
      microseconds([&] { transpose<<<dim3(blocks, blocks), dim3(tile, lines)>>>(from, to, n, n); });
  const bool right = all_are(to, [&](std::size_t i) { return number(i % n * n + i / n, 1); });
  print("transpose", us, 8.0 * all, "bytes", right, copy(8 * all));
}
#elif LAB == 14
void time_lab(int by) {
  const int n = 2048 / by, blocks = (n + tile - 1) / tile;
  gpu::product<half>("product", n, step("gemm", "tensor-core-2", "--size " + std::to_string(n)),
                     [&](const half* A, const half* B, float* C) {
                       ::product<<<dim3(blocks, blocks), threads>>>(A, B, C, n, n, n);
                     });
}
#else
#error "LAB is no number of a lab: expected 0 to 14"
#endif

}  // namespace gpu

int main(int argc, char** argv) { gpu::time_lab(argc > 1 ? std::atoi(argv[1]) : 1); }
