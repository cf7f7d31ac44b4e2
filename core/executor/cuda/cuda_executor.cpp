// SPDX-License-Identifier: Apache-2.0
// Memory, copies and launches through the CUDA runtime.
#include <antiphase/executor/cuda/cuda_executor.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/core/out_of_memory.hpp>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "core/executor/cuda/cuda_calls.hpp"
#include "core/executor/cuda/graph_memory.hpp"
#include "core/executor/scratch.hpp"
#include "core/executor/tensor_layout.hpp"
#include "core/memo.hpp"
#include "core/portable/shared_gpu_code.hpp"

namespace antiphase {
using namespace cuda_detail;
namespace {

class cuda_executor final : public executor {
 public:
  explicit cuda_executor(const cuda_options& options) : device_(options.device) {
    std::string why;
    const auto devices = cuda_devices(&why);
    if (devices.empty()) throw not_supported("cannot run on a GPU: " + why);
    if (options.device < 0 || options.device >= static_cast<int>(devices.size()))
      throw not_supported(
          fmt::format("there is no CUDA device {}: expected 0 to {}", options.device, devices.size() - 1));
    limits_ = devices[static_cast<std::size_t>(options.device)];
    if (limits_.major * 10 + limits_.minor < 75)
      throw not_supported(fmt::format("{} has compute capability {}: expected 7.5 or newer", limits_.name,
                                      compute_capability(limits_)));
    if (options.shared_limit > 0) {
      limits_.shared_opt_in = std::min(limits_.shared_opt_in, options.shared_limit);
      limits_.shared_per_block = std::min(limits_.shared_per_block, options.shared_limit);
    }
  }

  ~cuda_executor() override {
    scratch_.release([this](void* memory) { deallocate(memory); });
    free_released();
    if (beside_graphs_ != nullptr) cudaStreamDestroy(beside_graphs_);
    if (pool_.load() != nullptr) cudaMemPoolDestroy(pool_);
  }

  target kind() const override { return target::cuda; }
  const device_limits& limits() const override { return limits_; }

  bool shares_memory_with(const executor& other) const override {
    const auto* const one = dynamic_cast<const cuda_executor*>(&other);
    return one != nullptr && one->device_ == device_;
  }

  void* allocate(std::size_t bytes) const override {
    const current_device use(device_);
    void* memory = nullptr;
    const auto attempt = [&] { return cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)); };
    check(once_more_if_full(attempt), "allocating {} bytes on {}", bytes, limits_.name);
    return memory;
  }
  void deallocate(void* memory) const noexcept override { cudaFree(memory); }

  void copy_in(void* device, const void* host, std::size_t bytes, stream on) const override {
    move(device, host, bytes, cudaMemcpyHostToDevice, on, "to");
    synchronize(on);
  }
  void copy_out(void* host, const void* device, std::size_t bytes, stream on) const override {
    move(host, device, bytes, cudaMemcpyDeviceToHost, on, "from");
    synchronize(on);
  }
  void copy(void* to, const void* from, std::size_t bytes, stream on) const override {
    move(to, from, bytes, cudaMemcpyDeviceToDevice, on, "on");
  }
  void synchronize(stream on) const override {
    const current_device use(device_);
    check(cudaStreamSynchronize(on), "waiting for the work on {}", limits_.name);
  }
  double milliseconds(const std::function<void(stream)>& queue, stream on) const override {
    const current_device use(device_);
    const event start, end;
    gate until_queued(on);
    check(cudaEventRecord(start.get(), on), "cudaEventRecord");
    queue(on);
    check(cudaEventRecord(end.get(), on), "cudaEventRecord");
    until_queued.open();
    check(cudaEventSynchronize(end.get()), "waiting for the timed work on {}", limits_.name);
    float elapsed = 0;
    check(cudaEventElapsedTime(&elapsed, start.get(), end.get()), "cudaEventElapsedTime");
    return elapsed;
  }

  std::unique_lock<std::recursive_mutex> hold(stream on) const override { return streams_.hold(on); }
  std::span<std::byte> scratch(std::size_t bytes, stream on) const override {
    return scratch_.get(bytes, on, [&](std::size_t size) {
      const current_device use(device_);
      cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
      check(cudaStreamIsCapturing(on, &capture), "asking whether the stream is being captured");
      if (capture != cudaStreamCaptureStatusNone)
        throw not_supported(
            fmt::format("{} bytes of working memory cannot be allocated while the stream is captured: make "
                        "the same call once "
                        "before the capture",
                        size));
      void* memory = allocate(size);
      check(cudaMemsetAsync(memory, 0, size, on), "clearing {} bytes on {}", size, limits_.name);
      return memory;
    });
  }
  void forget_scratch(stream on) const override { scratch_.forget(on); }

  void* borrow(std::size_t bytes, stream on) const override {
    const current_device use(device_);
    std::call_once(pool_made_.get(), [&] { make_pool(); });
    if (const auto capture = graph_memory::capture_of(on))
      return lent_to(*capture, std::max<std::size_t>(bytes, 1));
    return borrow_from_pool(bytes, on);
  }
  void give_back(void* memory, stream on) const noexcept override {
    if (graph_memory::capture_of(on)) return;  // owned by the graph
    int before = device_;
    cudaGetDevice(&before);
    if (before != device_) cudaSetDevice(device_);
    cudaFreeAsync(memory, on);
    if (before != device_) cudaSetDevice(before);
  }

  // Returns the pool's unused memory to the device.
  void trim() const {
    const current_device use(device_);
    free_released();
    if (pool_.load() != nullptr)
      check(cudaMemPoolTrimTo(pool_, 0), "giving back what a memory pool keeps on {}", limits_.name);
  }

  // An encoded map depends on the layout alone, and encoding takes as long as choosing a kernel: caches 64
  // per thread.
  tensor_map encode(const tensor_layout& t) const override {
    static thread_local memo<4 + 3 * tensor_dimensions, tensor_map, 64> known;
    std::array<std::uint64_t, 4 + 3 * tensor_dimensions> key{
        reinterpret_cast<std::uintptr_t>(t.data), static_cast<std::uint64_t>(t.element_bytes),
        static_cast<std::uint64_t>(t.dimensions) << 8 | static_cast<std::uint64_t>(t.pattern),
        static_cast<std::uint64_t>(device_)};
    for (std::size_t d = 0; d < tensor_dimensions; ++d) {
      key[4 + 3 * d] = t.extent[d];
      key[5 + 3 * d] = t.stride[d];
      key[6 + 3 * d] = t.box[d];
    }
    return known.get(key, [&] { return encoded(t); });
  }
  kernel_usage usage(const kernel& k) const override {
    const current_device use(device_);
    cudaFuncAttributes a{};
    check(cudaFuncGetAttributes(&a, entry(k)), "reading the attributes of kernel {}", k.name);
    kernel_usage u{.registers = a.numRegs, .spilled_bytes = a.localSizeBytes, .shared_bytes = k.shared_bytes};
    if (!refusal(limits_, k)) {
      const std::size_t dynamic = prepare(k);
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&u.blocks_per_multiprocessor, k.entry, k.threads,
                                                          dynamic),
            "reading the occupancy of kernel {}", k.name);
      u.blocks_on_device = u.blocks_per_multiprocessor * limits_.multiprocessors;
      // some multiprocessors may stay empty: a cluster must fit in a group of them (GPC)
      if (k.cluster > 1) {
        const launch_configuration how(k, {.x = static_cast<unsigned>(k.cluster)}, dynamic, nullptr,
                                       overlaps(k));
        int clusters = 0;
        check(cudaOccupancyMaxActiveClusters(&clusters, k.entry, &how.config),
              "reading the occupancy of kernel {} in clusters of {}", k.name, k.cluster);
        u.blocks_on_device = clusters * k.cluster;
      }
    }
    u.occupancy =
        static_cast<double>(u.blocks_per_multiprocessor * k.threads) / limits_.threads_per_multiprocessor;
    return u;
  }

  launch_counts launch(const kernel& k, extent3 grid, const void* params, stream on) const override {
    entry(k);
    if (const auto why = refusal(limits_, k)) throw not_supported(*why);
    if (const auto why = misfit(k, grid)) throw bad_request(*why);
    if (grid.count() == 0) return {};
    if (grid.y > 65535 || grid.z > 65535)
      throw bad_request(fmt::format("kernel {}: a grid of {} x {} x {} blocks: at most 65535 in y and z",
                                    k.name, grid.x, grid.y, grid.z));
    const current_device use(device_);
    const std::size_t dynamic = prepare(k);
    const launch_configuration how(k, grid, dynamic, on, overlaps(k));
    void* arguments[] = {const_cast<void*>(params)};
    check(
        cudaLaunchKernelExC(&how.config, k.entry, arguments),
        "launching kernel {} ({} x {} x {} blocks of {} threads, {} bytes of shared memory, clusters of {})",
        k.name, grid.x, grid.y, grid.z, k.threads, k.shared_bytes, k.cluster);
    return {};
  }

 private:
  static const void* entry(const kernel& k) {
    if (k.entry == nullptr) throw bad_request(fmt::format("kernel {} was not compiled for CUDA", k.name));
    return k.entry;
  }
  // Whether to launch with programmatic dependent launch: if the device supports it and the code waits for
  // the previous grid. Code compiled for GPUs before 9.0 does not wait, and newer GPUs run it if there is no
  // other.
  bool overlaps(const kernel& k) const {
    if (!k.overlaps_previous || !features_of(limits_).dependent_launch) return false;
    static thread_local memo<2, bool, 64> known;
    return known.get({reinterpret_cast<std::uintptr_t>(k.entry), static_cast<std::uint64_t>(device_)}, [&] {
      cudaFuncAttributes a{};
      check(cudaFuncGetAttributes(&a, k.entry), "reading the attributes of kernel {}", k.name);
      return a.ptxVersion >= 90;
    });
  }
  tensor_map encoded(const tensor_layout& t) const {
    require_copyable(t);
    const current_device use(device_);
    // The driver's call needs a current context. A new thread has none, although its device is device 0.
    check(cudaSetDevice(device_), "cudaSetDevice({})", device_);
    cuuint64_t extents[tensor_dimensions], strides[tensor_dimensions];
    cuuint32_t box[tensor_dimensions], steps[tensor_dimensions];
    for (int d = 0; d < t.dimensions; ++d) {
      extents[d] = t.extent[d];
      if (d > 0) strides[d - 1] = t.stride[d];
      box[d] = t.box[d];
      steps[d] = 1;
    }
    CUtensorMap map{};
    const CUresult result = tensor_map_encoder()(
        &map, data_type(t.element_bytes), static_cast<cuuint32_t>(t.dimensions), const_cast<void*>(t.data),
        extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_mode(t.pattern),
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
      throw device_error(fmt::format("cuTensorMapEncodeTiled of {} dimensions failed: error {}", t.dimensions,
                                     static_cast<int>(result)));
    tensor_map made;
    static_assert(sizeof map == sizeof made && alignof(CUtensorMap) <= alignof(tensor_map));
    std::memcpy(&made, &map, sizeof map);
    return made;
  }
  // Retries an allocation that is out of memory after trimming the pool.
  template <class Attempt> cudaError_t once_more_if_full(Attempt attempt) const {
    const cudaError_t first = attempt();
    if (first != cudaErrorMemoryAllocation || pool_.load() == nullptr) return first;
    cudaGetLastError();
    free_released();
    if (cudaMemPoolTrimTo(pool_, 0) != cudaSuccess) return first;
    return attempt();
  }
  void* borrow_from_pool(std::size_t bytes, stream on) const {
    for (void* const freed : graph_memory::released(device_)) cudaFreeAsync(freed, on);
    void* memory = nullptr;
    const auto attempt = [&] {
      return cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(bytes, 1), pool_, on);
    };
    check(once_more_if_full(attempt), "borrowing {} bytes on {}", bytes, limits_.name);
    return memory;
  }
  // Memory for a captured call: a block that the graph holds already, or a new one, allocated in a stream
  // that is never captured.
  void* lent_to(const graph_memory::capture& by, std::size_t bytes) const {
    if (void* const memory = graph_memory::held(by, bytes)) return memory;
    const beside_capture not_recorded;
    std::call_once(beside_graphs_made_.get(), [&] {
      check(cudaStreamCreateWithFlags(&beside_graphs_, cudaStreamNonBlocking), "making a stream on {}",
            limits_.name);
    });
    void* const memory = borrow_from_pool(bytes, beside_graphs_);
    const cudaError_t there = cudaStreamSynchronize(beside_graphs_);
    if (there != cudaSuccess) cudaFreeAsync(memory, beside_graphs_);
    check(there, "waiting for {} bytes on {}", bytes, limits_.name);
    check(graph_memory::hold(by, memory, bytes, device_), "giving {} bytes on {} to a graph", bytes,
          limits_.name);
    return memory;
  }
  void free_released() const {
    for (void* const memory : graph_memory::released(device_)) cudaFree(memory);
  }
  // A private pool: the device's default one returns its memory at every synchronisation, so the next call
  // would wait for an allocation. This one keeps up to a tenth of the device's memory.
  void make_pool() const {
    const beside_capture not_recorded;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device_};
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for the memory of {}", limits_.name);
    cudaMemPool_t made = nullptr;
    check(cudaMemPoolCreate(&made, &properties), "making a memory pool on {}", limits_.name);
    pool_ = made;
    cuuint64_t keep = total / 10;
    check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep),
          "setting up a memory pool on {}", limits_.name);
  }
  // The dynamic shared memory of a launch. More than 48 KiB, or clusters beyond the portable size, must be
  // requested with function attributes, once per kernel.
  std::size_t prepare(const kernel& k) const {
    const std::size_t dynamic = k.shared == shared_kind::dynamic ? k.shared_bytes : 0;
    if (k.cluster <= portable_cluster && dynamic <= limits_.shared_per_block) return dynamic;
    const asked_for asks(k);
    std::atomic<std::uint64_t>& before = asked_[asks.place() % asked_.size()];
    if (before.load(std::memory_order_acquire) == asks.word && asks.word != 0) return dynamic;
    ask(k);
    before.store(asks.word, std::memory_order_release);
    return dynamic;
  }
  // The attributes a launch needs, packed in a word; 0 if they do not fit.
  struct asked_for {
    std::uint64_t word = 0;
    explicit asked_for(const kernel& k) {
      const auto entry = reinterpret_cast<std::uintptr_t>(k.entry);
      const std::uint64_t units = k.shared_bytes / 16 + 1, large = k.cluster > portable_cluster ? 1 : 0;
      if (entry >> 48 == 0 && units < (1u << 15)) word = std::uint64_t{entry} << 16 | units << 1 | large;
    }
    std::size_t place() const { return static_cast<std::size_t>(word * 0x9E3779B97F4A7C15u >> 40); }
  };
  void ask(const kernel& k) const {
    if (k.cluster > portable_cluster)
      check(cudaFuncSetAttribute(k.entry, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "asking for clusters of {} blocks for kernel {}", k.cluster, k.name);
    if (k.shared == shared_kind::dynamic && k.shared_bytes > limits_.shared_per_block)
      check(cudaFuncSetAttribute(k.entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(k.shared_bytes)),
            "asking for {} bytes of shared memory for kernel {}", k.shared_bytes, k.name);
  }
  void move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, stream on,
            const char* direction) const {
    if (bytes == 0) return;
    const current_device use(device_);
    check(cudaMemcpyAsync(to, from, bytes, kind, on), "copying {} bytes {} {}", bytes, direction,
          limits_.name);
  }

  int device_;
  device_limits limits_;
  mutable stream_locks streams_;
  mutable scratch_memory scratch_;
  mutable std::array<std::atomic<std::uint64_t>, 256> asked_{};
  mutable per_process<std::once_flag> pool_made_, beside_graphs_made_;
  mutable cudaStream_t beside_graphs_ = nullptr;
  mutable std::atomic<cudaMemPool_t> pool_ = nullptr;
};

const char* missing_code() { return missing_gpu_code == nullptr ? nullptr : missing_gpu_code(); }

}  // namespace

std::vector<device_limits> cuda_devices(std::string* why_none) {
  if (const char* const missing = missing_code()) {
    if (why_none != nullptr) *why_none = missing;
    return {};
  }
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess) {
    cudaGetLastError();
    if (why_none != nullptr) {
      int driver = 0;
      cudaDriverGetVersion(&driver);
      *why_none = driver == 0 ? std::string("no NVIDIA driver is installed")
                              : fmt::format("{} ({})", cudaGetErrorString(result), cudaGetErrorName(result));
    }
    return {};
  }
  if (count == 0 && why_none != nullptr) *why_none = "the NVIDIA driver sees no GPU";
  std::vector<device_limits> devices;
  for (int i = 0; i < count; ++i) devices.push_back(describe(i));
  return devices;
}

int cuda_device_count() {
  int count = 0;
  if (missing_code() != nullptr) return 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

int current_cuda_device() {
  // The driver's current device is also right if another copy of the runtime in the process has set it; it
  // has none before the thread's first context.
  using asking = decltype(&cuCtxGetDevice);
  static constinit made_once<asking> found;
  const asking ask = found.get(
      [] { return cuda_device_count() > 0 ? of_driver<asking>("cuCtxGetDevice", 2000) : asking{nullptr}; });
  CUdevice current = 0;
  if (ask != nullptr && ask(&current) == CUDA_SUCCESS) return current;
  if (std::string why; cuda_devices(&why).empty())
    throw not_supported("there is no current CUDA device: " + why);
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

void trim_pool(const executor& of) {
  if (const auto* const one = dynamic_cast<const cuda_executor*>(&of)) one->trim();
}

std::shared_ptr<const executor> make_cuda_executor(const cuda_options& options) {
  return std::make_shared<const cuda_executor>(options);
}

}  // namespace antiphase
