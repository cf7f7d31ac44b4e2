// SPDX-License-Identifier: Apache-2.0
// Checks lab 12: resident blocks and bytes in flight by each of the limits, and a launch.
#include "../lab.h"

namespace {

// As the occupancy calculator: limits of threads, blocks, registers of a quarter, and shared memory.
int expected_blocks(const machine& m, const block& b) {
  const int warps = (b.threads + 31) / 32;
  const int of_warp = (b.registers * 32 + 255) / 256 * 256;
  int fit = std::min(m.blocks, m.threads / 32 / warps);
  fit = std::min(fit, m.registers / 4 / of_warp * 4 / warps);
  return std::min(fit, m.shared / (b.shared + m.reserved));
}
int in_flight(const machine& m, block b, int slot, int stages) {
  b.shared += stages * slot;
  return expected_blocks(m, b) * std::max(1, stages - 1) * slot;
}

}  // namespace

int main() {
  using namespace lab;
  const recording r;
  const array<float> nothing(1);
  sums<<<1, 32, ::slot * 4>>>(nothing, nothing, 0, 1);  // numbers are checked below, without a kernel
  cudaDeviceSynchronize();
  machine small;  // with half of everything
  small.threads /= 2, small.registers /= 2, small.shared = 102400, small.blocks = 16;
  for (const machine& m : {machine{}, small}) {
    const std::string of = m.threads == 2048 ? "on an H200" : "on a smaller GPU";
    for (const block b : std::vector<block>{{128, 32, 0},
                                            {128, 128, 0},
                                            {32, 16, 0},
                                            {96, 40, 0},
                                            {256, 41, 1024},
                                            {100, 32, 0},
                                            {128, 32, 49152},
                                            {128, 32, 58000},
                                            {128, 32, 33900},
                                            {64, 32, 101376},
                                            {64, 32, 240000}}) {
      const int is = resident(m, b), wanted = expected_blocks(m, b);
      demand(is == wanted, "resident",
             "%s, blocks of %d threads with %d registers and %d bytes of shared memory: %d fit, expected %d",
             of.c_str(), b.threads, b.registers, b.shared, is, wanted);
    }
    for (const int slot : {1024, 16 * 1024, 48 * 1024, 72 * 1024, 100 * 1024})
      for (const block b : std::vector<block>{{128, 32, 0}, {128, 32, 32768}, {512, 64, 2048}}) {
        const int is = best_stages(m, b, slot);
        demand(is >= 1 && is <= 4, "best_stages", "%d buffers: expected 1 to 4", is);
        const int has = in_flight(m, b, slot, is);
        for (int stages = 1; stages <= 4; ++stages) {
          const int could = in_flight(m, b, slot, stages);
          demand(could < has || (could == has && stages >= is), "best_stages",
                 "%s, blocks of %d threads, slots of %d bytes: %d buffers have %d bytes in flight, %d "
                 "buffers %d",
                 of.c_str(), b.threads, slot, is, has, stages, could);
        }
      }
  }
  const int slots = 3;
  const auto host = numbers<float>(static_cast<std::size_t>(slots * ::slot));
  const array<float> from(host), to(slots);
  launch(from, to, slots, 2);
  demand(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess, "launch",
         "the kernel was not launched: expected as many bytes of shared memory as it was allowed");
  same("launch", to, [&](int i) {
    float sum = 0;
    for (int x = 0; x < ::slot; x += 64) sum += host[static_cast<std::size_t>(i * ::slot + x)];
    return sum;
  });
}
