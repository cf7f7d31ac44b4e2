// SPDX-License-Identifier: Apache-2.0
// The dialect of plain CUDA under the checker: one table for --dialect, the documentation and the
// pre-pass's refusals.
#include "dialect.hpp"

#include "checker/plain/ptx/ptx.hpp"

#include <fmt/format.h>

#include <antiphase/plain_cuda.hpp>
#include <map>

namespace antiphase {

const std::vector<dialect_group>& plain_dialect() {
  using enum supported;
  using plain::ptx_dialect;
  static const std::vector<dialect_group> all{
      {"kernels and launches",
       {{yes,
         "<<<>>> __global__ __device__ __host__ __forceinline__ __noinline__ __launch_bounds__ "
         "__grid_constant__ dim3",
         "launches, templates and overloads included"},
        {yes, "threadIdx blockIdx blockDim gridDim warpSize",
         "x, y and z; a program may have variables of its own that are called so"},
        {yes, "__CUDA_ARCH__ __CUDA_ARCH_FEAT_SM90_ALL __CUDA_ARCH_HAS_FEATURE__",
         "900 on the device and undefined on the host: each runs its own code"},
        {yes, "__cluster_dims__", "clusters of up to 16 blocks"},
        {partly, "cudaLaunchKernel cudaLaunchCooperativeKernel cudaLaunchKernelEx cudaLaunchKernelExC",
         "of the kernel itself, or of its name cast to void*"},
        {yes,
         "cudaLaunchAttributeCooperative cudaLaunchAttributeClusterDimension "
         "cudaLaunchAttributeProgrammaticStreamSerialization cudaLaunchAttributeProgrammaticEvent "
         "cudaLaunchAttributeLaunchCompletionEvent",
         "attributes of speed, such as priorities, have no effect"},
        {no, "cudaLaunchAttributeMemSyncDomain cudaLaunchAttributeMemSyncDomainMap",
         "launches in the default domain"},
        {yes, "cudaGridDependencySynchronize cudaTriggerProgrammaticLaunchCompletion",
         "who has waited for whom is checked, along a row of kernels too"},
        {yes,
         "cudaGraphCreate cudaGraphAddKernelNode cudaGraphAddMemcpyNode cudaGraphAddMemsetNode "
         "cudaGraphAddHostNode cudaGraphAddNode cudaGraphAddDependencies cudaGraphInstantiate "
         "cudaGraphLaunch cudaGraphExecUpdate cudaGraphExecKernelNodeSetParams",
         "and the like: the order is that of the graph's edges, programmatic ones too"},
        {yes, "cudaStreamBeginCapture cudaStreamEndCapture cudaStreamIsCapturing",
         "other streams join by events"},
        {no,
         "cudaGraphConditionalHandleCreate cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode "
         "cudaStreamUpdateCaptureDependencies cudaUserObjectCreate cudaGraphRetainUserObject",
         "graphs of kernels, copies, sets of memory and host functions, with memory allocated before"}}},
      {"memory",
       {{yes, "__shared__",
         "of any size known to the compiler, and extern __shared__ of the launch's size; also outside of "
         "functions"},
        {yes, "__constant__ __managed__", "variables, fresh in each run; so are __device__ variables"},
        {yes, "cudaMalloc cudaMallocPitch cudaMallocAsync cudaFree cudaFreeAsync",
         "what is never freed is reported"},
        {yes, "cudaMallocManaged",
         "the host may touch it when the launches that use it have been waited for"},
        {yes, "cudaMallocHost cudaHostAlloc cudaFreeHost",
         "the host may touch it when what uses it has been waited for; so may kernels"},
        {yes, "cudaHostRegister cudaHostUnregister", "as memory of cudaMallocHost"},
        {yes,
         "cudaMemcpy cudaMemcpyAsync cudaMemcpy2D cudaMemset cudaMemsetAsync cudaMemcpyToSymbol "
         "cudaMemcpyFromSymbol cudaGetSymbolAddress "
         "cudaPointerGetAttributes",
         ""},
        {no,
         "cudaMemcpyBatchAsync cudaMemcpy3DBatchAsync cudaMemPrefetchBatchAsync cudaMemDiscardBatchAsync "
         "cudaMemDiscardAndPrefetchBatchAsync",
         "a call for each of them, such as cudaMemcpyAsync()"},
        {partly, "cudaMemcpyPeer cudaMemcpyPeerAsync cudaDeviceCanAccessPeer cudaDeviceEnablePeerAccess",
         "there is one device, number 0: it has no peers"},
        {yes,
         "cudaMemPrefetchAsync cudaMemAdvise cudaStreamSetAttribute "
         "cudaStreamAttachMemAsync",
         "do nothing here"},
        {yes, "cudaDeviceSetLimit cudaDeviceGetLimit",
         "of the heap of kernels (8 MiB without it) and of recursions (1 KiB); other limits do nothing here"},
        {partly,
         "cuTensorMapEncodeTiled cuGetErrorString cuGetErrorName cudaGetDriverEntryPoint "
         "cudaGetDriverEntryPointByVersion",
         "maps of 1 to 5 dimensions, not interleaved, element strides of 1, zeros outside; no other function "
         "of the driver"},
        {yes,
         "cudaMalloc3D cudaMallocArray cudaMalloc3DArray cudaMemcpy3D cudaMemset3D cudaMemcpy2DToArray "
         "cudaMemcpyToArray",
         ""},
        {partly, "cudaCreateTextureObject tex1Dfetch tex1D tex2D tex3D",
         "of linear memory and of arrays, by points or linear; every texel read is checked, as is what the "
         "same launch "
         "has written there"},
        {partly, "cudaCreateSurfaceObject surf1Dread surf2Dread surf2Dwrite surf3Dwrite", "of arrays"},
        {no,
         "texture cudaBindTexture cudaBindTexture2D cudaBindTextureToArray cudaUnbindTexture "
         "cudaBindSurfaceToArray",
         "cudaCreateTextureObject()"},
        {no, "cudaMallocMipmappedArray tex2DLayered tex1DLayered tex2DLod tex2Dgather texCubemap",
         "tex1D, tex2D or tex3D of an array"},
        {no,
         "cudaIpcGetMemHandle cudaIpcOpenMemHandle cudaImportExternalMemory cudaImportExternalSemaphore "
         "cudaGraphicsMapResources cudaGraphicsGLRegisterBuffer cudaLibraryLoadData cudaLibraryGetKernel",
         "memory and kernels of the program itself: cudaMalloc(), kernel<<<>>>()"},
        {no, "cuMemAlloc cuMemcpyHtoD cuLaunchKernel cuModuleLoad cuInit CUdeviceptr",
         "the runtime's calls: cudaMalloc, cudaMemcpy, kernel<<<>>>()"}}},
      {"barriers and fences",
       {{yes, "__syncthreads __syncthreads_count __syncthreads_and __syncthreads_or __syncwarp", ""},
        {yes, "__threadfence __threadfence_block __threadfence_system", ""}}},
      {"warps",
       {{yes,
         "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync "
         "__match_any_sync "
         "__match_all_sync",
         ""},
        {yes,
         "__reduce_add_sync __reduce_min_sync __reduce_max_sync __reduce_and_sync __reduce_or_sync "
         "__reduce_xor_sync",
         ""},
        {partly, "__activemask",
         "the calling lane alone, or with others that are there too: no program may count on either"},
        {no, "__shfl __shfl_up __shfl_down __shfl_xor __ballot __any __all",
         "the form with _sync and a mask, such as __shfl_down_sync"}}},
      {"atomic operations",
       {{yes,
         "atomicAdd atomicSub atomicExch atomicMin atomicMax atomicInc atomicDec atomicCAS atomicAnd "
         "atomicOr atomicXor",
         "and each with _block and _system; integers, float, double, float2, float4; relaxed, as on the "
         "device"},
        {yes,
         "__nv_atomic_load_n __nv_atomic_store_n __nv_atomic_exchange_n __nv_atomic_compare_exchange_n "
         "__nv_atomic_fetch_add __nv_atomic_add __nv_atomic_thread_fence",
         "and the like, with orders and scopes"},
        {yes, "cuda::atomic cuda::atomic_ref cuda::atomic_thread_fence",
         "of cuda/atomic, with scopes and orders; on the host too"}}},
      {"cooperative groups",
       {{yes,
         "this_thread_block tiled_partition thread_block_tile coalesced_threads labeled_partition "
         "binary_partition this_grid",
         "sync, ranks, shuffles, votes; reduce and scans of cooperative_groups/reduce.h and scan.h; tiles of "
         "at most 32 threads"},
        {yes,
         "barrier_arrive barrier_wait reduce_update_async reduce_store_async inclusive_scan_update "
         "exclusive_scan_update",
         "a grid, a block or a cluster arrives and waits apart; one lane brings what a group has computed to "
         "an "
         "atomic variable"},
        {yes, "this_cluster map_shared_rank query_shared_rank",
         "and what cluster_group has else; touching the shared memory of a block that has not begun, or has "
         "ended, is found"},
        {no, "this_multi_grid multi_grid_group", "this_grid()"}}},
      {"Tensor Cores",
       {{yes, "wmma::fragment load_matrix_sync store_matrix_sync fill_fragment mma_sync",
         "of half, bfloat16, tf32, double, signed and unsigned char; which lane holds which element is as "
         "for "
         "mma.sync"},
        {no, "bmma_sync", "mma_sync of numbers with 8 bits or more"}}},
      {"asynchronous copies",
       {{yes, "__pipeline_memcpy_async __pipeline_commit __pipeline_wait_prior", ""},
        {yes, "cuda::barrier cuda::latch cuda::binary_semaphore",
         "barriers of a block in shared memory, and of any scope; completion functions"},
        {yes, "cuda::memcpy_async cuda::device::memcpy_async_tx cuda::device::barrier_arrive_tx",
         "the guarantee of cuda::aligned_size_t is checked; and what else cuda/barrier has in cuda::device "
         "and "
         "cuda::device::experimental, for tensors of 2 to 5 dimensions"},
        {partly, "ptx::mbarrier_init ptx::cp_async_bulk ptx::st_async ptx::fence_proxy_async",
         "and the like of cuda/ptx: mbarriers, bulk copies, fences, clusters, special registers"},
        {yes, "cuda::pipeline cuda::make_pipeline cuda::pipeline_role",
         "of a thread, or of a block, also with producers and consumers"},
        {yes, "cooperative_groups::memcpy_async cooperative_groups::wait", ""}}},
      {"numbers",
       {{yes, "float2 float4 int2 int4 uchar4 double2 make_float4", "all vector types and make_ functions"},
        {yes, "__half __half2 __nv_bfloat16 __nv_bfloat162",
         "of cuda_fp16.h and cuda_bf16.h, computed in float and rounded"},
        {yes, "__nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8_e8m0 __nv_fp6_e2m3 __nv_fp6_e3m2 __nv_fp4_e2m1",
         "of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h, with their pairs, fours and conversions"},
        {no, "__nv_fp8x4_e8m0", "two of __nv_fp8x2_e8m0"},
        {yes, "__ldg __ldcg __ldcs __stcg __stcs",
         "ordinary loads and stores here; what __ldg reads may not be written in the launch"},
        {yes, "CUDART_PI_F CUDART_INF CUDART_NAN_F CUDART_L2E", "and the rest of math_constants.h"},
        {yes, "__popc __clz __ffs __brev __float_as_int __fdividef __expf rsqrtf",
         "and the like; fast forms are as exact as the others"},
        {yes, "__dp4a __dp2a_lo __vadd4 __vaddss2 __vabsdiffu4 __vmaxs2 __vcmpgtu4 __vsadu4",
         "and the like, on the halves or bytes of a word"}}},
      {"streams, events, errors",
       {{yes,
         "cudaStreamCreate cudaStreamSynchronize cudaStreamWaitEvent cudaEventRecord cudaEventSynchronize "
         "cudaDeviceSynchronize",
         "who is ordered after whom is checked"},
        {partly, "cudaEventElapsedTime clock clock64",
         "nothing is measured: always 1 ms, and the simulation's ticks"},
        {yes, "cudaLaunchHostFunc cudaStreamAddCallback",
         "called in stream order; what they do with memory that kernels reach, or main touches, is checked"},
        {yes, "cudaGetLastError cudaPeekAtLastError cudaGetErrorString", ""},
        {partly, "cudaGetDeviceProperties cudaDeviceGetAttribute",
         "one simulated device of compute capability 9.0"}}},
      {"in kernels",
       {{yes, "printf assert __trap __nanosleep", ""},
        {partly, "asm",
         "inline PTX of the instructions below, each with its modifiers; another is named with its line"},
        {no, "cudaGetParameterBuffer cudaLaunchDevice cudaStreamTailLaunch cudaStreamFireAndForget",
         "launches by the host, as kernels cannot launch kernels here"}}},
      {"inline PTX", ptx_dialect()},
      {"libraries",
       {{partly, "checkCudaErrors getLastCudaError findCudaDevice sdkCreateTimer getCmdLineArgumentInt",
         "and the most used others of CUDA's samples: helper_cuda.h, helper_functions.h, helper_image.h, "
         "helper_math.h, helper_string.h, helper_timer.h"},
        {yes, "nvtxRangePush nvtxRangePop nvtxMark", "of nvToolsExt.h: do nothing here"},
        {partly, "omp_get_num_threads omp_get_thread_num omp_get_wtime",
         "of one thread: OpenMP's pragmas have no effect, as a note says"},
        {yes,
         "cuda::std::array cuda::std::tuple cuda::std::span cuda::std::optional cuda::std::numeric_limits "
         "cuda::std::mdspan",
         "all of cuda::std that g++'s own library has, as cuda::std is std here, and mdspan"},
        {yes, "cuda::annotated_ptr cuda::stream_ref cuda::associate_access_property cuda::discard_memory",
         "hints for caches have no effect here"},
        {partly,
         "cub::BlockReduce cub::BlockScan cub::BlockLoad cub::BlockStore cub::BlockExchange "
         "cub::BlockRadixSort "
         "cub::BlockMergeSort cub::BlockHistogram cub::BlockDiscontinuity cub::BlockAdjacentDifference "
         "cub::BlockShuffle cub::WarpReduce cub::WarpScan cub::WarpLoad cub::WarpStore "
         "cub::WarpExchange cub::WarpMergeSort",
         "stand-ins that touch TempStorage and meet at barriers as CUB documents it: its next use without a "
         "barrier "
         "before it is found"},
        {partly,
         "cub::DeviceReduce cub::DeviceScan cub::DeviceRadixSort cub::DeviceMergeSort cub::DeviceSelect "
         "cub::DevicePartition cub::DeviceHistogram cub::DeviceRunLengthEncode cub::DeviceSegmentedReduce "
         "cub::DeviceSegmentedRadixSort cub::DeviceSegmentedSort cub::DeviceFor",
         "operations of one thread on their stream: what they read and write is checked, their insides are "
         "not"},
        {partly,
         "thrust::device_vector thrust::host_vector thrust::transform thrust::reduce thrust::sort "
         "thrust::copy "
         "thrust::for_each thrust::inclusive_scan",
         "vectors, iterators and the usual algorithms, each an operation of one thread on its stream"},
        {no, "BlockRunLengthDecode BlockRadixRank DeviceSpmv",
         "a kernel of the program, or another of CUB's collectives"},
        {no, "DeviceTransform DeviceAdjacentDifference",
         "another of CUB's algorithms, or --nvcc where a CUDA toolkit is"},
        {partly,
         "cublasSgemm cublasDgemm cublasHgemm cublasGemmEx cublasSgemmStridedBatched cublasSgemmBatched "
         "cublasSgemv "
         "cublasSaxpy cublasSscal cublasSdot cublasSnrm2 cublasSasum cublasIsamax cublasScopy cublasSger "
         "cublasSgeam "
         "cublasSdgmm cublasStrsm",
         "operations of one thread on the handle's stream, in float, double and complex numbers (products: "
         "half, "
         "bfloat16, int8 too): every row of a matrix is checked"},
        {no, "cublasLtMatmul cublasSsyrk cublasSsymm cublasStrmm", "cublasSgemm, or a kernel of the program"},
        {partly,
         "curandCreateGenerator curandGenerateUniform curandGenerateNormal curand_init curand curand_uniform "
         "curand_normal",
         "pseudo-random numbers, other ones than cuRAND's, the same in each run"},
        {no,
         "curandStateSobol32 curandStateSobol32_t curandStateSobol64 curandStateSobol64_t "
         "curandStateScrambledSobol32 curandStateScrambledSobol32_t curandStateScrambledSobol64 "
         "curandStateScrambledSobol64_t curandStateMtgp32 curandStateMtgp32_t",
         "curandState, or another of pseudo-random numbers"},
        {no,
         "cufftPlan1d cusparseCreate cusolverDnCreate cudnnCreate ncclAllReduce cutensorCreate "
         "nvrtcCompileProgram "
         "nvshmem_init",
         "a kernel of the program: of these libraries, only the header may be included"},
        {partly,
         "torch::Tensor torch::empty_like AT_DISPATCH_FLOATING_TYPES AT_DISPATCH_V2 TORCH_CHECK "
         "PackedTensorAccessor32 "
         "getCurrentCUDAStream getCurrentCUDABlasHandle C10_CUDA_KERNEL_LAUNCH_CHECK PYBIND11_MODULE "
         "TORCH_LIBRARY",
         "and the like, as host code of PyTorch's extensions uses them; what a tensor has not here does not "
         "compile, by its name"}}}};
  return all;
}

namespace {

// f(name) for each name in a list with blanks in between.
template <class F> void each_name(std::string_view names, F f) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    f(names.substr(at, end - at));
    at = end + 1;
  }
}
std::string_view text(supported s) {
  return s == supported::yes ? "yes" : s == supported::partly ? "partly" : "no";
}

}  // namespace

std::string dialect_text() {
  std::string out;
  for (const dialect_group& g : plain_dialect()) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", g.name);
    for (const dialect_entry& e : g.entries) {
      out += fmt::format("  {:<7} {}\n", text(e.support), e.names);
      if (!e.about.empty())
        out += fmt::format("          {}{}\n", e.support == supported::no ? "instead: " : "", e.about);
    }
  }
  return out;
}

std::string dialect_table(bool of_libraries) {
  std::string out = "| | what | here |\n|---|---|---|\n";
  for (const dialect_group& g : plain_dialect()) {
    if ((g.name == "libraries") != of_libraries) continue;
    for (const dialect_entry& e : g.entries) {
      std::string names;
      each_name(e.names,
                [&](std::string_view n) { names += fmt::format("{}`{}`", names.empty() ? "" : " ", n); });
      out += fmt::format("| {} | {} | {}{} |\n", text(e.support), names,
                         e.support == supported::no ? "instead: " : "",
                         e.about.empty() ? "as on the device" : e.about);
    }
  }
  return out;
}

namespace plain {

const unsupported_name* unsupported(std::string_view name) {
  static const std::map<std::string, unsupported_name, std::less<>> refused = [] {
    std::map<std::string, unsupported_name, std::less<>> all;
    for (const dialect_group& g : plain_dialect())
      for (const dialect_entry& e : g.entries)
        if (e.support == supported::no)
          each_name(e.names, [&](std::string_view n) {
            if (g.name != "inline PTX") all[std::string(n)] = {std::string(n), std::string(e.about)};
          });
    return all;
  }();
  const auto at = refused.find(name);
  return at == refused.end() ? nullptr : &at->second;
}

const unsupported_name* unsupported_of_library(std::string_view name, bool called, std::string_view headers) {
  const auto begins = [&](std::string_view with) {
    if (!name.starts_with(with)) return false;
    const std::string_view rest = name.substr(with.size());
    return !rest.empty() && ((rest[0] == '_' && with == "nvshmem") || (rest[0] >= 'A' && rest[0] <= 'Z'));
  };
  const auto is_new = [&](std::string_view returns) {
    const auto defines = [&](std::string_view type) {
      return headers.find(fmt::format("{} {}(", type, name)) != headers.npos;
    };
    return called && !defines(returns) && !defines("char*");
  };
  for (const char* others : {"cudaIpc", "cudaImportExternal", "cudaDestroyExternal", "cudaExternal",
                             "cudaSignalExternal", "cudaWaitExternal", "cudaGraphics", "cudaLibrary"})
    if (begins(others)) return unsupported("cudaIpcGetMemHandle");
  if (begins("cublas")) return is_new("cublasStatus_t") ? unsupported("cublasLtMatmul") : nullptr;
  if (name.starts_with("curand_discrete") || name.starts_with("curand_mtgp32"))
    return unsupported("curandStateSobol32");
  if (begins("curand") && name[6] != '_')
    return is_new("curandStatus_t") ? unsupported("curandStateSobol32") : nullptr;
  for (const char* library :
       {"cufft", "cusparse", "cusolver", "cudnn", "nccl", "cutensor", "nvrtc", "nvshmem"})
    if (begins(library)) return unsupported("cufftPlan1d");
  return nullptr;
}

}  // namespace plain
}  // namespace antiphase
