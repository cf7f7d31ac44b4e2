# SPDX-License-Identifier: Apache-2.0
"""What antiphase check says is missing: the scope, fence or operation that takes a fault away, and no barrier where
none can."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv.pop(1)).resolve()
HEAD = """#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cstdint>
using ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
constexpr auto relaxed = cuda::memory_order_relaxed, acquires = cuda::memory_order_acquire, releases = cuda::memory_order_release;
"""


def program(kernels, main):
    return HEAD + kernels + "int main() {\n" + main + "}\n"


def launched(kernels, how, words=64):
    """A program whose kernel k gets one array of zeros."""
    return program(
        kernels,
        f"  int* p;\n  cudaMalloc(&p, {4 * words}), cudaMemset(p, 0, {4 * words});\n  k<<<{how}>>>(p);\n"
        "  cudaDeviceSynchronize(), cudaFree(p);\n",
    )


class Hints(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check(self, text, *options, schedules=10, language=""):
        (self.folder / "my.cu").write_text(text)
        command = [TOOL, "check", "my.cu", *options, "--schedules", str(schedules), "--json"]
        environment = {**os.environ, "ANTIPHASE_CHECK_LANGUAGE": language}
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=120, env=environment
        )
        self.assertIn(done.returncode, (0, 5), done.stdout + done.stderr)
        return json.loads(done.stdout)["programs"][0]

    def missing(self, text, kind="race", **options):
        found = [f for f in self.check(text, **options)["findings"] if f["kind"] == kind]
        self.assertTrue(found, kind)
        return [f["missing"]["text"] for f in found]

    def clean(self, text):
        self.assertEqual(self.check(text)["findings"], [])

    def test_words_are_those_of_the_language(self):
        text = launched(
            "__global__ void k(int* p) {\n  __shared__ int s[64];\n  s[threadIdx.x] = threadIdx.x;\n  p[threadIdx.x] = s[63 - threadIdx.x];\n}\n",
            "1, 64",
        )
        copy = launched(
            "#include <cuda_pipeline.h>\n__global__ void k(int* p) {\n  __shared__ int s[64];\n"
            "  __pipeline_memcpy_async(s + threadIdx.x, p + threadIdx.x, 4);\n  __pipeline_commit();\n"
            "  p[threadIdx.x] = s[threadIdx.x] + 1;\n  __pipeline_wait_prior(0);\n}\n",
            "1, 64",
        )
        for language, barrier, wait in (
            ("", "__syncthreads() between", "__pipeline_wait_prior or cp.async.wait_group that"),
            ("Triton", "tl.debug_barrier() between", "cp.async.wait_group that"),
            ("Gluon", "gl.barrier() between", "async_copy.wait_group() that"),
            ("Numba", "cuda.syncthreads() between", "cp.async.wait_group that"),
            ("CuTe DSL", "cute.arch.sync_threads() between", "cute.arch.cp_async_wait_group() that"),
            ("TileLang", "T.sync_threads() between", "T.ptx_wait_group() that"),
        ):
            with self.subTest(language):
                (said,) = self.missing(text, "race", schedules=2, language=language)
                self.assertTrue(said.startswith(barrier), said)
                (said,) = self.missing(copy, "read before landing", schedules=2, language=language)
                self.assertTrue(said.startswith(wait), said)

    def test_a_flag_for_the_host_needs_system_scope(self):
        def text(fence, store):
            return program(
                "__global__ void k(int* data, int* flag) {\n  data[threadIdx.x] = 5 + threadIdx.x;\n"
                f"  {fence}\n  __syncthreads();\n  if (threadIdx.x == 0) {store}\n}}\n",
                "  int *data, *flag, sum = 0;\n  cudaMallocHost(&data, 256), cudaMallocHost(&flag, 4);\n  *flag = 0;\n"
                "  k<<<1, 64>>>(data, flag);\n  while (*(volatile int*)flag == 0) {}\n"
                "  for (int i = 0; i < 64; ++i) sum += data[i];\n  cudaDeviceSynchronize();\n"
                "  cudaFreeHost(data), cudaFreeHost(flag);\n  return sum == 2336 ? 0 : 1;\n",
            )

        everywhere = "cuda::atomic_ref<int, cuda::thread_scope_system>(*flag).store(1, relaxed);"
        self.clean(text("__threadfence_system();", everywhere))
        for fence, store in (("__threadfence();", everywhere), ("", "ref(*flag).store(1, releases);")):
            for said in self.missing(text(fence, store)):
                self.assertIn("__threadfence_system()", said)
                self.assertNotIn("cudaDeviceSynchronize", said)
        (said,) = self.missing(text("", everywhere))  # nothing is released, to no one
        self.assertIn("cudaDeviceSynchronize", said)

    def test_a_bulk_store_whose_source_alone_was_waited_for(self):
        def text(wait):
            return program(
                "__global__ void k(int* to, int* flag, int* out) {\n  __shared__ alignas(16) int s[32];\n"
                "  if (blockIdx.x == 0) {\n    s[threadIdx.x] = 7 * threadIdx.x;\n"
                '    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");\n    __syncwarp();\n'
                "    if (threadIdx.x != 0) return;\n"
                '    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(to), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");\n'
                '    asm volatile("cp.async.bulk.commit_group;" ::: "memory");\n'
                f'    asm volatile("cp.async.bulk.wait_group{wait} 0;" ::: "memory");\n'
                '    asm volatile("fence.proxy.async;" ::: "memory");\n    ref(*flag).store(1, releases);\n'
                "  } else {\n    while (ref(*flag).load(acquires) == 0) {}\n    out[threadIdx.x] = to[threadIdx.x];\n  }\n}\n",
                "  int *to, *flag, *out;\n  cudaMalloc(&to, 128), cudaMalloc(&flag, 4), cudaMalloc(&out, 128);\n"
                "  cudaMemset(to, 0, 128), cudaMemset(flag, 0, 4);\n  k<<<2, 32>>>(to, flag, out);\n"
                "  cudaDeviceSynchronize(), cudaFree(to), cudaFree(flag), cudaFree(out);\n",
            )

        self.clean(text(""))
        (said,) = self.missing(text(".read"), "read before landing")
        self.assertTrue(
            said.startswith(
                "cp.async.bulk.wait_group instead of cp.async.bulk.wait_group.read by the thread"
            ),
            said,
        )

    def test_an_event_that_was_recorded_again(self):
        def text(second, *waits):
            return program(
                "__global__ void put(int* p) { p[threadIdx.x] = 1; }\n"
                "__global__ void add(int* p, int* q) { p[threadIdx.x] += q[threadIdx.x]; }\n",
                "  int *p, *q;\n  cudaMalloc(&p, 128), cudaMalloc(&q, 128);\n  cudaStream_t s[3];\n"
                "  for (auto& one : s) cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);\n"
                "  cudaEvent_t e[2];\n  for (auto& one : e) cudaEventCreate(&one);\n"
                "  put<<<1, 32, 0, s[0]>>>(p);\n  cudaEventRecord(e[0], s[0]);\n  put<<<1, 32, 0, s[1]>>>(q);\n"
                f"  cudaEventRecord(e[{second}], s[1]);\n"
                + "".join(f"  cudaStreamWaitEvent(s[2], e[{one}], 0);\n" for one in waits)
                + "  add<<<1, 32, 0, s[2]>>>(p, q);\n  cudaDeviceSynchronize(), cudaFree(p), cudaFree(q);\n",
            )

        self.clean(text(1, 0, 1))
        (said,) = self.missing(text(0, 0))
        self.assertIn("the event waited for at my.cu:19 had been recorded again at my.cu:18", said)
        (said,) = self.missing(text(1, 0))  # nothing has replaced the record that no one has waited for
        self.assertNotIn("again", said)

    def test_a_plain_read_beside_updates_of_other_blocks(self):
        def text(load):
            return launched(
                "__global__ void k(int* p) {\n  const int i = blockIdx.x * 32 + threadIdx.x;\n"
                f"  if ({load} > 1) return;\n  atomicAdd(p + (i * 7 + 3) % 64, 1);\n}}\n",
                "2, 32",
            )

        self.clean(text("atomicAdd(p + i, 0)"))
        for said in self.missing(text("p[i]")):
            self.assertTrue(said.startswith("an atomic or volatile load instead of the plain one"), said)
            self.assertNotIn("__syncthreads", said)

    def test_updates_that_are_no_atomic_operations(self):
        text = launched(
            "__global__ void k(int* p) {\n  const int old = p[40];\n  __nanosleep(10);\n  p[40] = old + 1;\n}\n",
            "4, 1",
        )
        for said in self.missing(text):
            self.assertTrue(said.startswith("an atomic operation, such as atomicAdd(), or one thread"), said)
        # the reads of others, as in a sum by halves, need their barrier
        text = launched(
            "__global__ void k(int* p) {\n  __shared__ int s[64];\n  s[threadIdx.x] = p[threadIdx.x];\n  __syncthreads();\n"
            "  for (int h = 32; h > 0; h /= 2)\n    if (threadIdx.x < h) s[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + h];\n"
            "  if (threadIdx.x == 0) p[0] = s[0];\n}\n",
            "1, 64",
        )
        for said in self.missing(text):
            self.assertIn("__sync", said)

    def test_a_lock_that_orders_nothing(self):
        def text(take, give, tile):
            inside = (
                "p[2] += blockIdx.x;"
                if not tile
                else "__syncthreads(); p[2 + threadIdx.x] += 1; __syncthreads();"
            )
            lane = "  if (threadIdx.x == 0) {\n" if tile else "  {\n"
            return launched(
                f"__global__ void k(int* p) {{\n{lane}    while (atomicCAS(p, 0, 1) != 0) __nanosleep(20);\n    {take}\n  }}\n"
                f"  {inside}\n{lane}    {give}\n    atomicExch(p, 0);\n  }}\n}}\n",
                "3, 32" if tile else "3, 1",
            )

        for tile in (False, True):
            with self.subTest(tile):
                self.clean(text("__threadfence();", "__threadfence();", tile))
                for said in self.missing(text("", "", tile)):
                    self.assertTrue(said.startswith("a release by the atomic operation"), said)
        # Threads that have met nowhere need a launch or a release, though a counter is there.
        met = launched("__global__ void k(int* p) {\n  atomicAdd(p, 1);\n  p[2] = blockIdx.x;\n}\n", "3, 1")
        for said in self.missing(met):
            self.assertNotIn("a release by the atomic operation", said)

    def test_entry_of_dekker_needs_a_fence_of_sequential_consistency(self):
        def text(fence):
            return launched(
                "__global__ void k(int* p) {\n  const int me = blockIdx.x;\n  ref(p[me]).store(1, releases);\n"
                f"  {fence}\n  if (ref(p[1 - me]).load(acquires) == 0) p[2] += me + 1;\n}}\n",
                "2, 1",
            )

        self.clean(text("__threadfence();"))
        for said in self.missing(text("")):
            self.assertTrue(said.startswith("a fence of sequential consistency (__threadfence()"), said)

    def test_a_sequence_lock(self):
        def text(put, get, fence):
            return program(
                "__global__ void k(int* p) {\n  if (threadIdx.x != 0) return;\n  if (blockIdx.x == 0) {\n"
                "    for (int i = 2; i < 12; i += 2) {\n      ref(p[0]).store(ref(p[0]).load(relaxed) + 1, relaxed);\n"
                "      cuda::atomic_thread_fence(releases, cuda::thread_scope_device);\n"
                f"      {put}\n      ref(p[0]).store(i, releases);\n    }}\n    return;\n  }}\n"
                "  for (int tries = 0; tries < 40; ++tries) {\n    const int first = ref(p[0]).load(acquires);\n"
                f"    if (first % 2 != 0) continue;\n    const int a = {get(2)}, b = {get(3)};\n    {fence}\n"
                "    if (ref(p[0]).load(relaxed) == first && (a != first || b != 3 * first)) atomicExch(p + 1, 1);\n  }\n}\n",
                "  int *p, bad[2];\n  cudaMalloc(&p, 16), cudaMemset(p, 0, 16);\n  k<<<3, 32>>>(p);\n"
                "  cudaMemcpy(bad, p, 8, cudaMemcpyDeviceToHost), cudaFree(p);\n  return bad[1];\n",
            )

        put, get = (
            "ref(p[2]).store(i, relaxed), ref(p[3]).store(3 * i, relaxed);",
            "ref(p[{}]).load(relaxed)".format,
        )
        fence = "cuda::atomic_thread_fence(acquires, cuda::thread_scope_device);"
        self.clean(text(put, get, fence))
        for said in self.missing(text("p[2] = i, p[3] = 3 * i;", "p[{}]".format, fence)):
            self.assertIn("(a seqlock), atomic or volatile operations for it", said)
        bare = program(
            """__global__ void k(int* p) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int k = 1; k <= 5; ++k) {
      const int s = ref(*p).load(relaxed);
      ref(*p).store(s + 1, relaxed);
      cuda::atomic_thread_fence(releases, cuda::thread_scope_device);
      for (int i = 0; i < 4; ++i) ref(p[4 + i]).store(k * (i + 1), relaxed);
      ref(*p).store(s + 2, releases);
    }
  } else {
    for (int tries = 0; tries < 40; ++tries) {
      int v[4];
      const int s = ref(*p).load(acquires);
      if (s & 1) continue;
      for (int i = 0; i < 4; ++i) v[i] = ref(p[4 + i]).load(relaxed);
      const int e = ref(*p).load(relaxed);  // here
      if (s != e) continue;
      for (int i = 0; i < 4; ++i)
        if (v[i] != s / 2 * (i + 1)) atomicExch(p + 1, 1);
    }
  }
}
""",
            "  int *p, bad[2];\n  cudaMalloc(&p, 32), cudaMemset(p, 0, 32);\n  k<<<3, 32>>>(p);\n"
            "  cudaMemcpy(bad, p, 8, cudaMemcpyDeviceToHost), cudaFree(p);\n  return bad[1];\n",
        )
        here = next(n for n, line in enumerate(bare.splitlines(), 1) if "// here" in line)
        (found,) = self.check(bare, schedules=40)["findings"]
        self.assertEqual((found["kind"], found["earlier"]["at"]["line"]), ("wrong result", here))
        self.assertTrue(
            found["missing"]["text"].startswith("an acquire by the reads before this one, or a fence")
        )

    def test_a_mask_of_coalesced_threads_is_not_named(self):
        def text(count):
            return launched(
                "__global__ void k(int* p) {\n  if (threadIdx.x % 3 != 1) return;\n"
                "  auto g = cooperative_groups::coalesced_threads();\n  int at = 0;\n"
                f"  if (g.thread_rank() == 0) at = atomicAdd(p, {count});\n"
                "  at = g.shfl(at, 0) + g.thread_rank();\n  p[1 + at] = threadIdx.x;\n}\n",
                "2, 64",
            )

        self.clean(text("g.size()"))
        report = self.check(text("1"))
        self.assertTrue(report["findings"])
        self.assertEqual([n for n in report["notes"] if "__activemask" in n], [])

    def test_padding_that_is_loaded_and_dropped_is_pedantic(self):
        def text(condition):
            return program(
                "__global__ void k(const float4* p, float* to) {\n  const float4 v = p[threadIdx.x * 2 + 1];  // here\n"
                f"  to[threadIdx.x] = v.x{condition};\n}}\n",
                "  float *p, *to, h[5] = {1, 2, 3, 4, 5};\n  cudaMalloc(&p, 32 * 9), cudaMalloc(&to, 4 * 9);\n"
                "  for (int row = 0; row < 9; ++row) cudaMemcpy(p + 8 * row, h, sizeof h, cudaMemcpyHostToDevice);\n"
                "  k<<<1, 9>>>((float4*)p, to);\n  cudaDeviceSynchronize(), cudaFree(p), cudaFree(to);\n",
            )

        (found,) = self.check(text(""))["findings"]
        self.assertEqual((found["kind"], found["severity"]), ("uninitialised memory read", "pedantic"))
        self.assertIn("makes no difference", found["in_practice"])
        late = "; ((float*)p)[threadIdx.x * 8 + 5] = 1"  # it has been read too early, whatever came of it
        for condition in (" + v.y", late):
            (found,) = self.check(text(condition))["findings"]
            self.assertEqual((found["kind"], found["severity"]), ("uninitialised memory read", "error"))


unittest.main(argv=sys.argv[:1])
