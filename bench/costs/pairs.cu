// SPDX-License-Identifier: Apache-2.0
// Clocks a step of pairs of kernels that differ in one buffer, barrier or asynchronous copy: what each is
// worth. A block alone, and a full device with 1, 2, 4 ... blocks on each multiprocessor.
//
//   nvcc -std=c++17 -O3 -arch=sm_90 -o pairs bench/costs/pairs.cu && ./pairs > pairs.json
//
// Standard output is one JSON document; faults go to standard error, and the exit status is 1 then. The test
// `checker.plain.clock` defines ANTIPHASE_MODELLED and launches the same kernels on a modelled machine.
#include <cuda_pipeline.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

void check(cudaError_t e, int line) {
  if (e == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(e));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

#if defined(ANTIPHASE_MODELLED)
constexpr int steps = 24;
#else
constexpr int steps = 128;
#endif

// Clocks of a block's steps, and where it ran.
struct block_clocks {
  long long begin, end;
  unsigned processor;
};
__device__ unsigned processor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}
__device__ void note(block_clocks* all, long long begin) {
  const long long end = clock64();
  if (threadIdx.x == 0 && threadIdx.y == 0)
    all[blockIdx.x + gridDim.x * blockIdx.y] = {begin, end, processor()};
}

// next: the next tile waits in registers over the computation, and is stored at the begin of the next step.
// late: it waits in registers, and is stored after the computation.
// first: it is stored before the computation, as the textbooks' listing has it.
// copies: asynchronous copies, issued after the barrier that ends the step before.
// ahead: asynchronous copies, issued before the wait, with a barrier at the end of a step.
enum class form { next, late, first, copies, ahead };

// C = A B for row-major A (M x K), B (K x N): T x T outputs of a block of T x T threads.
template <int T, form how, int slots, int barriers>
__device__ void multiply(const float* A, const float* B, float* C, int N, int K, block_clocks* clocks) {
  __shared__ float a[slots][T][T], b[slots][T][T];
  const int x = threadIdx.x, y = threadIdx.y, n = K / T;
  const int row = blockIdx.y * T + y, column = blockIdx.x * T + x;
  float sum = 0;
  const auto from_a = [&](int i) { return A + row * K + i * T + x; };
  const auto from_b = [&](int i) { return B + (i * T + y) * N + column; };
  const auto slot = [](int i) { return slots == 1 ? 0 : i % slots; };
  const auto compute = [&](int s) {
    for (int k = 0; k < T; ++k) sum += a[s][y][k] * b[s][k][x];
  };
  const auto copy = [&](int i) {
    if (i < n) {
      __pipeline_memcpy_async(&a[slot(i)][y][x], from_a(i), 4);
      __pipeline_memcpy_async(&b[slot(i)][y][x], from_b(i), 4);
    }
    __pipeline_commit();
  };
  long long begin = 0;
  if constexpr (how == form::next) {
    float p = *from_a(0), q = *from_b(0);
    __syncthreads();
    begin = clock64();
    for (int i = 0; i < n; ++i) {
      const int s = slot(i);
      a[s][y][x] = p, b[s][y][x] = q;
      __syncthreads();
      if (i + 1 < n) p = *from_a(i + 1), q = *from_b(i + 1);
      compute(s);
      if (barriers == 2) __syncthreads();
    }
  } else if constexpr (how == form::late) {
    float p = *from_a(0), q = *from_b(0);
    a[0][y][x] = p, b[0][y][x] = q;
    __syncthreads();
    begin = clock64();
    for (int i = 0; i < n; ++i) {
      if (i + 1 < n) p = *from_a(i + 1), q = *from_b(i + 1);
      compute(slot(i));
      if (barriers == 2) __syncthreads();
      if (i + 1 < n) a[slot(i + 1)][y][x] = p, b[slot(i + 1)][y][x] = q;
      __syncthreads();
    }
  } else if constexpr (how == form::first) {
    if (slots > 1) a[0][y][x] = *from_a(0), b[0][y][x] = *from_b(0);
    __syncthreads();
    begin = clock64();
    for (int i = 0; i < n; ++i) {
      const int into = slots == 1 ? i : i + 1;
      if (into < n) a[slot(into)][y][x] = *from_a(into), b[slot(into)][y][x] = *from_b(into);
      if (slots == 1) __syncthreads();
      compute(slot(i));
      __syncthreads();
    }
  } else if constexpr (how == form::copies) {
    for (int i = 0; i < slots - 1; ++i) copy(i);
    __syncthreads();
    begin = clock64();
    for (int i = 0; i < n; ++i) {
      if (slots == 1) copy(i);
      __pipeline_wait_prior(slots == 1 ? 0 : slots - 2);
      __syncthreads();
      if (slots > 1) copy(i + slots - 1);
      compute(slot(i));
      if (barriers == 2) __syncthreads();
    }
  } else {
    for (int i = 0; i < slots - 1; ++i) copy(i);
    __syncthreads();
    begin = clock64();
    for (int i = 0; i < n; ++i) {
      copy(i + slots - 1);
      __pipeline_wait_prior(slots - 1);
      __syncthreads();
      compute(slot(i));
      __syncthreads();
    }
  }
  note(clocks, begin);
  C[row * N + column] = sum;
}

template <int T, form how, int slots, int barriers>
__global__ void product(const float* A, const float* B, float* C, int N, int K, block_clocks* clocks) {
  multiply<T, how, slots, barriers>(A, B, C, N, K, clocks);
}

// Sums of the first 1, 2 ... numbers of a block's, again and again: a step adds the number `stride` before.
constexpr int scanned = 256;
template <int slots> __device__ void add_up(const int* in, int* out, block_clocks* clocks) {
  __shared__ int x[slots][scanned];
  const int t = threadIdx.x;
  int value = in[t];
  x[0][t] = value;
  __syncthreads();
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i) {
    const int stride = 1 << i % 8, from = slots == 1 ? 0 : i % slots, to = slots == 1 ? 0 : (i + 1) % slots;
    if (t >= stride) value += x[from][t - stride];
    if (slots == 1) __syncthreads();
    x[to][t] = value;
    __syncthreads();
  }
  note(clocks, begin);
  out[t + scanned * (blockIdx.x + gridDim.x * blockIdx.y)] = value;
}

template <int slots> __global__ void scan(const int* in, int* out, block_clocks* clocks) {
  add_up<slots>(in, out, clocks);
}

#if !defined(ANTIPHASE_MODELLED)
int processors = 0, faults = 0;
bool comma = false;

struct figures {
  double first, mean,
      whole;  // clocks a step: of block 0, of all on average, of all of a multiprocessor together
};
figures figures_of(const std::vector<block_clocks>& all) {
  std::vector<long long> begin(1024, -1), end(1024, 0);
  double sum = 0;
  for (const block_clocks& b : all) {
    sum += static_cast<double>(b.end - b.begin);
    long long& from = begin.at(b.processor);
    from = from < 0 ? b.begin : std::min(from, b.begin);
    end.at(b.processor) = std::max(end.at(b.processor), b.end);
  }
  std::vector<double> spans;
  for (std::size_t p = 0; p < begin.size(); ++p)
    if (begin[p] >= 0) spans.push_back(static_cast<double>(end[p] - begin[p]));
  std::sort(spans.begin(), spans.end());
  return {static_cast<double>(all[0].end - all[0].begin) / steps,
          sum / static_cast<double>(all.size()) / steps, spans[spans.size() / 2] / steps};
}

// `run(grid, clocks)` launches; `right()` looks at its output.
template <class Run, class Right>
void time(const char* pair, const char* name, int most_blocks, int registers, Run run, Right right) {
  for (int blocks = 0; blocks <= most_blocks; blocks = blocks == 0 ? 1 : 2 * blocks) {  // 0: one block alone
    const dim3 grid =
        blocks == 0 ? dim3(1) : dim3(static_cast<unsigned>(processors), static_cast<unsigned>(blocks));
    std::vector<block_clocks> clocks(std::size_t{grid.x} * grid.y);
    block_clocks* on_device = nullptr;
    CHECK(cudaMalloc(&on_device, clocks.size() * sizeof(block_clocks)));
    std::vector<figures> all;
    for (int r = 0; r < 25; ++r) {
      run(grid, on_device);
      CHECK(cudaGetLastError());
      CHECK(cudaDeviceSynchronize());
      CHECK(
          cudaMemcpy(clocks.data(), on_device, clocks.size() * sizeof(block_clocks), cudaMemcpyDeviceToHost));
      if (r >= 4) all.push_back(figures_of(clocks));
    }
    CHECK(cudaFree(on_device));
    const bool is_right = right(grid);
    if (!is_right) std::fprintf(stderr, "%s, %s: wrong result\n", pair, name), faults = 1;
    const auto median = [&](double figures::*of) {
      std::vector<double> values;
      for (const figures& f : all) values.push_back(f.*of);
      std::sort(values.begin(), values.end());
      return values[values.size() / 2];
    };
    std::printf(
        "%s\n  {\"pair\": \"%s\", \"kernel\": \"%s\", \"blocks\": %d, \"registers\": %d, \"right\": %s, "
        "\"first_block\": %.1f, \"mean_block\": %.1f, \"multiprocessor\": %.1f}",
        comma ? "," : "", pair, name, blocks, registers, is_right ? "true" : "false", median(&figures::first),
        median(&figures::mean), median(&figures::whole));
    comma = true;
  }
}

int small(int i, int period) { return i * 7 % period - period / 2; }

template <int T, form how, int slots, int barriers> void time_product(const char* pair, const char* name) {
  const auto kernel = product<T, how, slots, barriers>;
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, kernel));
  int fit = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, T * T, 0));
  fit = std::min(fit, 8);
  const int K = steps * T, M = 8 * T, N = processors * T;
  std::vector<float> a(std::size_t(M) * K), b(std::size_t(K) * N), c(std::size_t(M) * N);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(small(static_cast<int>(i % 10007), 5));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(small(static_cast<int>(i % 10009), 7));
  float *A, *B, *C;
  CHECK(cudaMalloc(&A, a.size() * 4)), CHECK(cudaMalloc(&B, b.size() * 4)),
      CHECK(cudaMalloc(&C, c.size() * 4));
  CHECK(cudaMemcpy(A, a.data(), a.size() * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(B, b.data(), b.size() * 4, cudaMemcpyHostToDevice));
  time(
      pair, name, fit, attributes.numRegs,
      [&](dim3 grid, block_clocks* clocks) { kernel<<<grid, dim3(T, T)>>>(A, B, C, N, K, clocks); },
      [&](dim3 grid) {
        CHECK(cudaMemcpy(c.data(), C, c.size() * 4, cudaMemcpyDeviceToHost));
        for (int row = 0; row < T * static_cast<int>(grid.y); row += 3)
          for (int column = 0; column<T* static_cast<int>(grid.x); column += grid.x> 1 ? 97 : 1) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
              sum += double(a[std::size_t(row) * K + k]) * b[std::size_t(k) * N + column];
            if (!(c[std::size_t(row) * N + column] == sum)) return false;
          }
        return true;
      });
  CHECK(cudaFree(A)), CHECK(cudaFree(B)), CHECK(cudaFree(C));
}

template <int slots> void time_scan(const char* pair, const char* name) {
  cudaFuncAttributes attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, scan<slots>));
  const std::size_t blocks = 8 * static_cast<std::size_t>(processors);
  std::vector<int> in(scanned), out(blocks * scanned), wanted(scanned);
  for (int i = 0; i < scanned; ++i) in[i] = small(i, 11);
  wanted = in;
  for (int i = 0; i < steps; ++i)
    for (int t = scanned - 1, stride = 1 << i % 8; t >= stride; --t)
      wanted[t] =
          static_cast<int>(static_cast<unsigned>(wanted[t]) + static_cast<unsigned>(wanted[t - stride]));
  int *from, *to;
  CHECK(cudaMalloc(&from, in.size() * 4)), CHECK(cudaMalloc(&to, out.size() * 4));
  CHECK(cudaMemcpy(from, in.data(), in.size() * 4, cudaMemcpyHostToDevice));
  time(
      pair, name, 8, attributes.numRegs,
      [&](dim3 grid, block_clocks* clocks) { scan<slots><<<grid, scanned>>>(from, to, clocks); },
      [&](dim3 grid) {
        CHECK(cudaMemcpy(out.data(), to, out.size() * 4, cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < std::size_t{grid.x} * grid.y * scanned; ++i)
          if (out[i] != wanted[i % scanned]) return false;
        return true;
      });
  CHECK(cudaFree(from)), CHECK(cudaFree(to));
}

int main() {
  cudaDeviceProp device{};
  CHECK(cudaGetDeviceProperties(&device, 0));
  processors = device.multiProcessorCount;
  int driver = 0;
  CHECK(cudaDriverGetVersion(&driver));
  std::printf(
      "{\n \"device\": \"%s\", \"multiprocessors\": %d, \"driver_cuda\": %d, \"steps\": %d,\n \"series\": [",
      device.name, processors, driver, steps);
  // the pair that was measured before, every block with tiles of its own now
  time_product<16, form::next, 1, 2>("next tile in registers, 16", "one slot, two barriers");
  time_product<16, form::next, 2, 1>("next tile in registers, 16", "two slots, one barrier");
  time_product<16, form::next, 2, 2>("next tile in registers, 16", "two slots, two barriers");
  // 1 and 2: smaller and larger tiles
  time_product<8, form::next, 1, 2>("next tile in registers, 8", "one slot, two barriers");
  time_product<8, form::next, 2, 1>("next tile in registers, 8", "two slots, one barrier");
  time_product<8, form::next, 2, 2>("next tile in registers, 8", "two slots, two barriers");
  time_product<32, form::next, 1, 2>("next tile in registers, 32", "one slot, two barriers");
  time_product<32, form::next, 2, 1>("next tile in registers, 32", "two slots, one barrier");
  time_product<32, form::next, 2, 2>("next tile in registers, 32", "two slots, two barriers");
  // 3: stored after the computation
  time_product<16, form::late, 1, 2>("stored after computing, 16", "one slot, two barriers");
  time_product<16, form::late, 2, 1>("stored after computing, 16", "two slots, one barrier");
  time_product<16, form::late, 2, 2>("stored after computing, 16", "two slots, two barriers");
  // 4: stored before the computation
  time_product<16, form::first, 1, 2>("stored before computing, 16", "one slot, two barriers");
  time_product<16, form::first, 2, 1>("stored before computing, 16", "two slots, one barrier");
  // 5 and 6: asynchronous copies
  time_product<16, form::copies, 1, 2>("copies, 16", "one slot, two barriers");
  time_product<16, form::copies, 2, 1>("copies, 16", "two slots, one barrier");
  time_product<16, form::copies, 2, 2>("copies, 16", "two slots, two barriers");
  time_product<16, form::copies, 3, 1>("copies, 16", "three slots, one barrier");
  time_product<16, form::copies, 3, 2>("copies, 16", "three slots, two barriers");
  time_product<8, form::copies, 1, 2>("copies, 8", "one slot, two barriers");
  time_product<8, form::copies, 2, 1>("copies, 8", "two slots, one barrier");
  time_product<8, form::copies, 2, 2>("copies, 8", "two slots, two barriers");
  time_product<8, form::copies, 3, 1>("copies, 8", "three slots, one barrier");
  // 7: copies issued before the wait
  time_product<16, form::ahead, 2, 2>("copies before the wait, 16", "two slots, two barriers");
  time_product<16, form::ahead, 3, 2>("copies before the wait, 16", "three slots, two barriers");
  time_product<16, form::ahead, 4, 2>("copies before the wait, 16", "four slots, two barriers");
  // 8: a scan of results
  time_scan<1>("scan", "one buffer, two barriers");
  time_scan<2>("scan", "two buffers, one barrier");
  std::printf("\n ]\n}\n");
  return faults;
}
#endif
