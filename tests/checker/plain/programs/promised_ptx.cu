// SPDX-License-Identifier: Apache-2.0
// Inline PTX that no other program has: arithmetic with its expected results, hints, barriers, and ways to
// exit.
#include <cmath>
#include <cstdint>
#include <cstdio>

__device__ int wrong;
#define HOLDS(what) \
  if (!(what)) wrong = __LINE__

// Functions of one instruction.
#define UNARY(name, instruction, type, letter)               \
  __device__ type name(type a) {                             \
    type r;                                                  \
    asm(instruction " %0, %1;" : "=" letter(r) : letter(a)); \
    return r;                                                \
  }
#define BINARY(name, instruction, type, letter)                             \
  __device__ type name(type a, type b) {                                    \
    type r;                                                                 \
    asm(instruction " %0, %1, %2;" : "=" letter(r) : letter(a), letter(b)); \
    return r;                                                               \
  }
BINARY(add, "add.s32", int, "r")
BINARY(most, "max.u32", unsigned, "r")
BINARY(sub, "sub.s32", int, "r")
BINARY(mul_hi, "mul.hi.s32", int, "r")
BINARY(mul_lo, "mul.lo.u32", unsigned, "r")
BINARY(quotient, "div.s32", int, "r")
BINARY(rest, "rem.s32", int, "r")
BINARY(least, "min.s32", int, "r")
BINARY(least_f, "min.f32", float, "f")
BINARY(divided, "div.rn.f32", float, "f")
BINARY(both, "and.b32", unsigned, "r")
BINARY(either, "or.b32", unsigned, "r")
BINARY(one_of, "xor.b32", unsigned, "r")
UNARY(absolute, "abs.s32", int, "r")
UNARY(negative, "neg.f32", float, "f")
UNARY(inverted, "not.b32", unsigned, "r")
UNARY(leading, "clz.b32", unsigned, "r")
UNARY(reversed, "brev.b32", unsigned, "r")
UNARY(highest, "bfind.u32", unsigned, "r")
UNARY(highest_of, "bfind.s32", int, "r")
UNARY(reciprocal, "rcp.approx.f32", float, "f")
UNARY(root, "sqrt.rn.f32", float, "f")
UNARY(of_root, "rsqrt.approx.f32", float, "f")
UNARY(power, "ex2.approx.f32", float, "f")
UNARY(logarithm, "lg2.approx.f32", float, "f")
UNARY(tangent, "tanh.approx.f32", float, "f")

__device__ bool close(float a, float b) { return fabsf(a - b) < 1e-3f; }
__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__global__ void arithmetic(float* scratch) {
  HOLDS(add(3, -5) == -2 && most(3, ~0u) == ~0u);
  HOLDS(sub(3, 5) == -2 && mul_hi(1 << 30, -8) == -2 && mul_lo(1u << 31, 3) == 1u << 31 &&
        quotient(-7, 2) == -3 && rest(-7, 2) == -1);
  int sum;
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(5), "r"(-6), "r"(31));
  HOLDS(sum == 1 && least(-3, 2) == -3 && least_f(0.5f, -1) == -1 && divided(1, 4) == 0.25f &&
        absolute(-9) == 9 && negative(2) == -2);
  HOLDS(both(12, 10) == 8 && either(12, 10) == 14 && one_of(12, 10) == 6 && inverted(0) == ~0u &&
        leading(255) == 24 && reversed(2) == 1u << 30 && highest(255) == 7 && highest(0) == ~0u &&
        highest_of(-256) == 7 && highest_of(-1) == -1);
  HOLDS(close(reciprocal(4), 0.25f) && root(9) == 3 && close(of_root(16), 0.25f) && close(power(3), 8) &&
        close(logarithm(32), 5));
  HOLDS(close(tangent(0.5f), 0.46211716f));
  unsigned long long at;
  asm("cvta.to.global.u64 %0, %1;" : "=l"(at) : "l"(scratch));
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "prefetchu.L1 [%0]; applypriority.global.L2::evict_normal [%1], 128; discard.global.L2 [%1], 128;" ::
          "l"(scratch),
      "l"(at));
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], 16; pmevent 1;" ::"l"(at));
  if (scratch == nullptr) asm volatile("brkpt;");
#ifdef BROKEN
  if (threadIdx.x == 3)
#else
  if (scratch == nullptr)
#endif
    asm volatile("trap;");  // FOUND: kernel gave up
}

// What compilers emit and people seldom write.
__global__ void seldom_written(const int* outside) {
  __shared__ int inside;
  const auto is_shared = [](const void* p) {
    unsigned r;
    asm("{.reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(r) : "l"(p));
    return r == 1;
  };
  const auto is_finite = [](float x) {
    unsigned r;
    asm("{.reg .pred p; testp.finite.f32 p, %1; selp.u32 %0, 1, 0, p;}" : "=r"(r) : "f"(x));
    return r == 1;
  };
  HOLDS(is_shared(&inside) && !is_shared(outside) && is_finite(1) && !is_finite(INFINITY));

  int chosen, other, distance, dot, dot_of_two;
  asm("slct.s32.s32 %0, 7, 9, %1;" : "=r"(chosen) : "r"(0));
  asm("slct.s32.s32 %0, 7, 9, %1;" : "=r"(other) : "r"(-1));
  asm("sad.s32 %0, %1, %2, 10;" : "=r"(distance) : "r"(3), "r"(-4));
  asm("dp4a.s32.s32 %0, %1, %2, 100;" : "=r"(dot) : "r"(0x01FF0203), "r"(0x04030201));
  asm("dp2a.lo.s32.s32 %0, %1, %2, 10;" : "=r"(dot_of_two) : "r"(0x0003FFFE), "r"(0x04030201));
  HOLDS(chosen == 7 && other == 9 && distance == 17 && dot == 108 && dot_of_two == 14);

  unsigned mask, third, product, sum;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(mask) : "r"(4), "r"(3));
  asm("fns.b32 %0, %1, 0, 2;" : "=r"(third) : "r"(0xAC));
  asm("mul24.lo.u32 %0, %1, %2;" : "=r"(product) : "r"(0x1000003), "r"(5));
  asm("mad24.lo.u32 %0, %1, %2, 1;" : "=r"(sum) : "r"(0x1000003), "r"(5));
  HOLDS(mask == 0x70 && third == 3 && product == 15 && sum == 16);

  unsigned bytes, halves;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(bytes) : "r"(0x01FF0304), "r"(0x03010009), "r"(7));
  asm("vabsdiff2.u32.s32.s32 %0, %1, %2, %3;" : "=r"(halves) : "r"(0xFFFF0004), "r"(0x00010009), "r"(0));
  HOLDS(bytes == 2 + 254 + 3 + 5 + 7 && halves == 0x00020005);

  unsigned low, high;
  asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %4, %5;"
      : "=&r"(low), "=r"(high)
      : "r"(~0u), "r"(2), "r"(5), "r"(6));
  HOLDS(low == 1 && high == 12);
  asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, %4, %5;"
      : "=&r"(low), "=r"(high)
      : "r"(1), "r"(2), "r"(9), "r"(4));
  HOLDS(low == ~0u && high == 4);
  asm("mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, 7;"
      : "=&r"(low), "=r"(high)
      : "r"(1u << 31), "r"(3), "r"(1u << 31));
  HOLDS(low == 0 && high == 9);

  float signed_as, sine, cosine;
  asm("copysign.f32 %0, %1, %2;" : "=f"(signed_as) : "f"(-1.0f), "f"(3.0f));
  asm("sin.approx.f32 %0, %1;" : "=f"(sine) : "f"(0.5f));
  asm("cos.approx.f32 %0, %1;" : "=f"(cosine) : "f"(0.5f));
  HOLDS(signed_as == -3 && close(sine, 0.47942554f) && close(cosine, 0.87758256f));
}

__global__ void warps(unsigned* sums) {
  const unsigned t = threadIdx.x, lane = t % 32;
  unsigned same, here;
  asm volatile("match.any.sync.b32 %0, %1, 0xFFFFFFFF;" : "=r"(same) : "r"(lane / 8));
  asm volatile("activemask.b32 %0;" : "=r"(here));
  HOLDS(same == 0xFFu << lane / 8 * 8 && (here >> lane & 1) == 1);
  __shared__ unsigned part[64];
  part[t] = t;
  asm volatile("bar.warp.sync 0xFFFFFFFF;" ::: "memory");
  HOLDS(part[t ^ 1] == (t ^ 1));
  asm volatile("bar.cta.sync 1, 64;" ::: "memory");
  HOLDS(part[63 - t] == 63 - t);
  asm volatile("barrier.cta.sync 2, 64;" ::: "memory");
  if (t < 32) {
    part[t] = 100 + t;
    asm volatile("barrier.arrive 3, 64;" ::: "memory");
  } else {
    asm volatile("nanosleep.u32 10; barrier.sync 3, 64;" ::: "memory");
    HOLDS(part[t - 32] == 68 + t);
  }
  __syncthreads();

  // A matrix goes to shared memory, each lane with the two numbers of its place.
  __shared__ alignas(16) uint16_t matrix[8][8];
  if (t < 32) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(address(matrix[lane % 8])),
                 "r"(2 * lane | (2 * lane + 1) << 16)
                 : "memory");
    __syncwarp();
    HOLDS(matrix[lane / 4][lane % 4 * 2] == 2 * lane && matrix[lane / 4][lane % 4 * 2 + 1] == 2 * lane + 1);
  }

  // Sums go to global memory as one copy; then a barrier that counts bytes, and is given up.
  __shared__ alignas(16) unsigned more[32];
  __shared__ alignas(8) uint64_t full;
  if (t < 32) more[t] = t;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 128;" ::"l"(sums),
                 "r"(address(more))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(address(&full))
        : "memory");
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 128;" ::"r"(address(&full))
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(
            address(part)),
        "l"(sums + 32), "r"(address(&full))
        : "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }" ::"r"(address(&full))
                 : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }" ::"r"(
                     address(&full))
                 : "memory");
    HOLDS(part[31] == 5);
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address(&full)) : "memory");
  }
}

int main() {
  float* scratch;
  unsigned h[64], *sums;
  for (int i = 0; i < 64; ++i) h[i] = i < 32 ? 1000 : 5;
  int failed;
  cudaMalloc(&scratch, 128), cudaMalloc(&sums, sizeof h);
  cudaMemcpy(sums, h, sizeof h, cudaMemcpyHostToDevice);
  warps<<<1, 64>>>(sums);
  arithmetic<<<1, 32>>>(scratch);
  seldom_written<<<1, 32>>>(reinterpret_cast<int*>(sums));
  cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost), cudaMemcpyFromSymbol(&failed, wrong, sizeof failed);
  cudaFree(scratch), cudaFree(sums);
  if (failed != 0) std::printf("line %d does not hold\n", failed);
  for (int i = 0; i < 32; ++i)
    if (h[i] != 1000 + i) return 1;
  return failed;
}
