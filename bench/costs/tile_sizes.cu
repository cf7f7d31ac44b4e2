// SPDX-License-Identifier: Apache-2.0
// Gains of a second buffer by the size of the tile: the ladder's `tiled` and `double-buffered` with tiles
// of 8, 16 and 32, one output a thread, each also with loads alone and with computation alone.
//
//   ninja -C build/cuda tile_sizes
//   build/cuda/bench/costs/tile_sizes [EXTENT [REPEATS [COMMIT]]] > tile_sizes.json
//
// The kernels run alternately, each after 50 ms of rest, and times are medians. 512 outputs of each are
// checked against sums in double.
#include <algorithm>
#include <antiphase/gemm/ladder.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <vector>

#include "library/gemm/fp32/tiled.cuh"

namespace {

using antiphase::gemms::parts;

void require(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

struct measured {
  int tile, buffers;
  parts run;
  int registers, resident;  // of a thread; blocks of a multiprocessor
  const void* kernel;
  std::vector<float> ms;
};

template <int Tile, int Buffers, parts Run> measured one() {
  constexpr antiphase::gemms::policy how = [] {
    antiphase::gemms::policy p = antiphase::gemms::tiled_policy;
    p.tile = {Tile, Tile}, p.tile_k = Tile, p.stages = Buffers, p.run = Run;
    return p;
  }();
  measured m{Tile, Buffers,
             Run,  0,
             0,    reinterpret_cast<const void*>(&antiphase::run_kernel<antiphase::gemms::tiled<how>>),
             {}};
  cudaFuncAttributes of;
  require(cudaFuncGetAttributes(&of, m.kernel));
  m.registers = of.numRegs;
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&m.resident, m.kernel, Tile * Tile, 0));
  return m;
}
template <int Tile, int Buffers> void add(std::vector<measured>& all) {
  all.push_back(one<Tile, Buffers, parts::all>());
  all.push_back(one<Tile, Buffers, parts::load_only>());
  all.push_back(one<Tile, Buffers, parts::compute_only>());
}

float value(std::int64_t i) { return static_cast<float>(i * 2654435761u % 2001) / 1000 - 1; }

// The largest error of 512 outputs, relative to the sum of their products' sizes.
double error(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c, int n) {
  double most = 0;
  for (std::int64_t s = 0; s < 512; ++s) {
    const std::int64_t row = s * 7919 % n, column = s * 104729 % n;
    double sum = 0, size = 0;
    for (int k = 0; k < n; ++k) {
      const double product = double{a[row * n + k]} * b[std::int64_t{k} * n + column];
      sum += product, size += std::abs(product);
    }
    most = std::max(most, std::abs(c[row * n + column] - sum) / size);
  }
  return most;
}

}  // namespace

int main(int count, char** words) {
  const int n = count > 1 ? std::atoi(words[1]) : 4096, repeats = count > 2 ? std::atoi(words[2]) : 9;
  if (n < 1 || n > 16384 || repeats < 1) return std::fprintf(stderr, "usage: EXTENT [REPEATS [COMMIT]]\n"), 2;
  const std::size_t floats = std::size_t(n) * n, bytes = floats * sizeof(float);
  std::vector<float> a(floats), b(floats), c(floats);
  for (std::size_t i = 0; i < floats; ++i) a[i] = value(i), b[i] = value(i + 77);
  float *da, *db, *dc;
  require(cudaMalloc(&da, bytes)), require(cudaMalloc(&db, bytes)), require(cudaMalloc(&dc, bytes));
  require(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
  require(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
  antiphase::gemms::problem p{{da, n, n, n, 1}, {db, n, n, n, 1}, {dc, n, n, n, 1}};
  void* arguments[] = {&p};

  std::vector<measured> all;
  add<8, 1>(all), add<8, 2>(all), add<16, 1>(all), add<16, 2>(all), add<32, 1>(all), add<32, 2>(all);
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin)), require(cudaEventCreate(&end));
  for (int repeat = -1; repeat < repeats; ++repeat)  // the first round warms up, and is checked
    for (measured& m : all) {
      const int across = (n + m.tile - 1) / m.tile;
      if (repeat < 0) require(cudaMemset(dc, 0xff, bytes));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      require(cudaEventRecord(begin));
      require(
          cudaLaunchKernel(m.kernel, dim3(across * across), dim3(m.tile * m.tile), arguments, 0, nullptr));
      require(cudaEventRecord(end)), require(cudaEventSynchronize(end));
      float ms;
      require(cudaEventElapsedTime(&ms, begin, end));
      if (repeat >= 0) m.ms.push_back(ms);
      if (repeat >= 0 || m.run != parts::all) continue;
      require(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
      if (const double e = error(a, b, c, n); !(e < 1e-5))
        return std::fprintf(stderr, "tile %d, %d buffers: error %g\n", m.tile, m.buffers, e), 1;
    }

  cudaDeviceProp device;
  int driver;
  require(cudaGetDeviceProperties(&device, 0)), require(cudaDriverGetVersion(&driver));
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  std::printf(
      "{\n  \"schema\": 1,\n  \"command\": \"experiment\",\n"
      "  \"question\": \"what a second buffer gains by the size of the tile, with one output a thread\",\n"
      "  \"date\": \"%s\",\n  \"machine\": {\"name\": \"%s\", \"cuda\": {\"driver\": \"%d.%d\"}},\n"
      "  \"commit\": \"%s\",\n"
      "  \"method\": \"bench/costs/tile_sizes.cu: tiled and double-buffered at %d cubed, FP32; medians of %d "
      "interleaved runs, each after 50 ms of rest; 512 outputs of each checked\",\n  \"series\": [",
      date, device.name, driver / 1000, driver % 1000 / 10, count > 3 ? words[3] : "", n, repeats);
  for (std::size_t i = 0; i < all.size(); i += 3) {
    for (std::size_t j = i; j < i + 3; ++j) std::ranges::sort(all[j].ms);
    const auto median = [&](std::size_t j) { return all[j].ms[all[j].ms.size() / 2]; };
    std::printf(
        "%s\n    {\"tile\": %d, \"buffers\": %d, \"ms\": %.4g, \"load_ms\": %.4g, \"compute_ms\": %.4g, "
        "\"fastest_ms\": %.4g, \"slowest_ms\": %.4g, \"registers\": %d, \"resident_blocks\": %d}",
        i > 0 ? "," : "", all[i].tile, all[i].buffers, median(i), median(i + 1), median(i + 2),
        all[i].ms.front(), all[i].ms.back(), all[i].registers, all[i].resident);
  }
  std::printf("\n  ]\n}\n");
}
