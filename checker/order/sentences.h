// SPDX-License-Identifier: Apache-2.0
// The sentences of findings: name, missing order, scope, text. {} is a value. missing.hpp includes this list.
// clang-format off
SENTENCE(none, none, none, "")
// two threads, plain CUDA
SENTENCE(sync_block, block_barrier, block, "__syncthreads() between the two")
SENTENCE(sync_warp, warp_sync, warp, "__syncwarp() or __syncthreads() between the two")
SENTENCE(sync_block_after_reads, block_barrier, block, "__syncthreads() between the two: this write may "
         "overtake other threads' reads")
SENTENCE(sync_warp_after_reads, warp_sync, warp, "__syncwarp() or __syncthreads() between the two: this "
         "write may overtake other threads' reads")
SENTENCE(lockstep, warp_sync, warp, "__syncwarp() between the two: lanes of a warp do not run in lockstep, "
         "and volatile does not make them")
SENTENCE(one_writer, atomic, device, "an atomic operation, or one thread for this line: several threads "
         "write the same memory there, and a barrier orders only what they do in different iterations of a "
         "loop")
// two threads, by the library's names
SENTENCE(barrier, block_barrier, block, "a block barrier, or another barrier that both take part in, between "
         "the two")
SENTENCE(slot_barrier, block_barrier, block, "a barrier between the reads and this write: the slot has not "
         "been released")
SENTENCE(slot_arrival, mbarrier_arrival, block, "an arrival after the reads, and a wait for it before this "
         "copy: the slot has not been released")
SENTENCE(cluster_barrier, cluster_barrier, cluster, "a cluster barrier, or a release and an acquire at "
         "cluster scope, between the two")
SENTENCE(device_release, release_acquire, device, "a device-scope release and acquire between the two, or a "
         "second launch: nothing else orders blocks of one launch")
SENTENCE(cluster_scope, release_acquire, cluster, "{} scope does not reach another {}: cluster scope")
SENTENCE(device_scope, release_acquire, device, "{} scope does not reach another {}: device scope")
SENTENCE(one_size, atomic, device, "operations of one size: atomic or volatile accesses that overlap in part "
         "race (PTX ISA, morally strong operations)")
SENTENCE(both_strong, atomic, device, "an atomic or volatile store by both, or a store by one thread alone")
SENTENCE(load_beside_updates, atomic, device, "an atomic or volatile load instead of the plain one, as others write the "
         "memory by atomic or volatile operations; if it is to come after theirs, a device-scope release and "
         "acquire, or a second launch")
SENTENCE(one_update, atomic, device, "an atomic operation, such as atomicAdd(), or one thread for this: several threads "
         "change here what they have read before, and no order keeps all their changes")
SENTENCE(strong_load, atomic, device, "an atomic or volatile load instead of the plain one")
SENTENCE(mbarrier_in_cluster, release_acquire, cluster, "the scope .cluster for the mbarrier's arrival and "
         "wait")
SENTENCE(relaxed_meeting, release_acquire, device, "a release by the atomic operation with which the other thread let "
         "this one go on (a lock, a flag), or a fence before it, and an acquire by this one's, or a fence after "
         "it, between blocks of device scope: relaxed operations order nothing else")
SENTENCE(total_fence, release_acquire, device, "a fence of sequential consistency (__threadfence(), "
         "cuda::memory_order_seq_cst) between each thread's write and its read of the other's word: release and "
         "acquire do not order these two, so both threads may go on")
SENTENCE(read_fence, release_acquire, device, "an acquire by the reads before this one, or a fence between: they have "
         "returned what was written later than the value that this one missed")
SENTENCE(acquire, release_acquire, device, "an acquire by the relaxed read, or a fence after it")
SENTENCE(unseen_write, release_acquire, device, "a release or fence after the write and an acquire or fence "
         "before the read: the thread may not have seen the write yet")
// copies and bulk operations
SENTENCE(own_copy, copy_wait, none, "copy_async_wait that leaves fewer groups in flight (in CUDA: "
         "__pipeline_wait_prior, cp.async.wait_group)")
SENTENCE(own_copy_plain, copy_wait, none, "__pipeline_wait_prior or cp.async.wait_group that leaves fewer "
         "groups in flight")
SENTENCE(other_copy, copy_wait, block, "copy_async_wait by the thread that copies, and a barrier after it "
         "(in CUDA: __pipeline_wait_prior, cp.async.wait_group)")
SENTENCE(other_copy_plain, copy_wait, block, "__pipeline_wait_prior or cp.async.wait_group by the thread "
         "that copies, and __syncthreads() after it")
SENTENCE(plain_arrival, copy_wait, block, "copy_async_arrive (in CUDA: cp.async.mbarrier.arrive.noinc) by the "
         "thread that copies: its plain arrival at the mbarrier does not wait for its copies")
SENTENCE(phase, mbarrier_phase, block, "a wait for the end of the mbarrier's phase that counts the copy")
SENTENCE(own_store_read, bulk_wait, none, "bulk_wait_read (in CUDA: cp.async.bulk.wait_group.read)")
SENTENCE(other_store_read, bulk_wait, block, "bulk_wait_read by the thread that stores, and a barrier after "
         "it (in CUDA: cp.async.bulk.wait_group.read)")
SENTENCE(own_store, bulk_wait, none, "bulk_wait (in CUDA: cp.async.bulk.wait_group)")
SENTENCE(other_store, bulk_wait, block, "bulk_wait by the thread that stores, and an order after it (in "
         "CUDA: cp.async.bulk.wait_group)")
SENTENCE(own_store_landed, bulk_wait, none, "bulk_wait instead of bulk_wait_read, which waits until the source has "
         "been read, not until the data have landed (in CUDA: cp.async.bulk.wait_group without .read)")
SENTENCE(other_store_landed, bulk_wait, block, "bulk_wait instead of bulk_wait_read by the thread that stores: "
         "bulk_wait_read waits until the source has been read, not until the data have landed (in CUDA: "
         "cp.async.bulk.wait_group without .read)")
SENTENCE(own_tensor_group, tensor_wait, warp, "a wait for the group of the Tensor Core operation")
SENTENCE(other_tensor_group, tensor_wait, block, "a wait for the group of the Tensor Core operation by the "
         "warp that issued it, and a barrier after it")
SENTENCE(tensor_commit, tensor_wait, block, "tcgen05.commit after the Tensor Core operation, to an mbarrier, and "
         "a wait for its phase")
SENTENCE(own_tensor_load, tensor_wait, none, "tcgen05.wait::ld between the two")
SENTENCE(other_tensor_load, tensor_wait, block, "tcgen05.wait::ld by the warp that loads, before the arrival or "
         "barrier that orders the two")
SENTENCE(own_tensor_store, tensor_wait, none, "tcgen05.wait::st between the two")
SENTENCE(other_tensor_store, tensor_wait, block, "tcgen05.wait::st by the warp that stores, before the arrival "
         "or barrier that orders the two")
SENTENCE(tensor_registers, tensor_wait, none, "tcgen05.wait::ld before the loaded registers are read")
SENTENCE(tensor_lanes, argument, none, "an address of the warp's own lanes of Tensor Memory: warp w of four has 32 w "
         "and on")
SENTENCE(tensor_after, tensor_wait, block, "tcgen05.fence::after_thread_sync between the barrier or wait and "
         "this")
SENTENCE(tensor_before, tensor_wait, block, "tcgen05.fence::before_thread_sync by thread {}, between its access "
         "and the barrier or arrival")
SENTENCE(tensor_commit_until_end, tensor_wait, none, "tcgen05.commit, and a wait for its mbarrier's phase, "
         "before the block ends")
SENTENCE(tensor_free, deallocation, block, "tcgen05.dealloc before the block ends")
SENTENCE(copy_until_end, copy_wait, none, "copy_async_wait for its group before the thread ends (in CUDA: "
         "__pipeline_wait_prior, cp.async.wait_group)")
SENTENCE(store_until_end, bulk_wait, none, "bulk_commit and bulk_wait before the thread that issued it ends "
         "(in CUDA: cp.async.bulk.commit_group, cp.async.bulk.wait_group)")
SENTENCE(phase_until_end, mbarrier_phase, block, "a wait for the end of the mbarrier's phase that counts the "
         "copy, before the block ends")
// the async proxy and mbarriers
SENTENCE(fence_shared, proxy_fence, block, "fence_async by the thread that wrote it, before the barrier that "
         "orders the two (in CUDA: fence.proxy.async)")
SENTENCE(fence_global, proxy_fence, device, "fence_async_global by the thread that wrote it, before what "
         "orders the two (in CUDA: fence.proxy.async)")
SENTENCE(fence_mbarrier, proxy_fence, block, "fence_mbarrier_init by the thread that initialized the "
         "mbarrier, before the barrier that orders the two (in CUDA: fence.mbarrier_init, or a proxy fence)")
SENTENCE(fence_after_reads, proxy_fence, warp, "fence_async by the threads that read it, or by this one "
         "after them (in CUDA: fence.proxy.async): a warp's loads may still be in flight when the copy "
         "engine writes")
SENTENCE(inval_before_use, mbarrier_end, none, "mbarrier.inval before the memory of an mbarrier is used for "
         "anything else")
SENTENCE(inval_before_init, mbarrier_end, none, "mbarrier.inval before it")
SENTENCE(uniform_condition, participation, block, "a condition for the barrier that is the same for the "
         "whole block")
SENTENCE(whole_warp, participation, warp, "all 32 lanes at it, none of which has returned")
SENTENCE(shuffle_lane, participation, warp, "the lane in the mask and at the shuffle, or a mask and a "
         "condition that leave its value out: the value is undefined")
// launches, streams and the host
SENTENCE(grid_wait, grid_wait, device, "wait_for_previous_grid: the previous launch may not have ended (in "
         "CUDA: cudaGridDependencySynchronize, griddepcontrol.wait)")
SENTENCE(grid_waits_between, grid_wait, device, "wait_for_previous_grid in each kernel between the two as "
         "well: the end of a kernel that has not waited says nothing about those before it (in CUDA: "
         "cudaGridDependencySynchronize, griddepcontrol.wait)")
SENTENCE(streams, stream_order, device, "an event or a synchronization between the two: they are on "
         "different streams (in a graph: an edge from one to the other)")
SENTENCE(after_allocation, stream_order, device, "an order after the allocation, such as an event of its "
         "stream: other streams do not know that the memory exists")
SENTENCE(own_ticket, stream_order, device, "a word for each launch that may run at the same time, or an order of the "
         "two, such as an event: blocks of both count in this one, so that one that is not the last of its "
         "launch may take itself for it")
SENTENCE(host_waits, host_sync, system, "cudaDeviceSynchronize(), or cudaStreamSynchronize() of its stream, "
         "between the launch or copy and this: it may still be running")
SENTENCE(system_scope, release_acquire, system, "system scope for the release, or the fence before the write, that the "
         "host has read: device scope does not reach it (__threadfence_system(), .sys, "
         "cuda::thread_scope_system)")
SENTENCE(host_waits_for_host, host_sync, system, "cudaStreamSynchronize() of its stream, or an atomic flag "
         "or a lock that both use, between {} and this: it may not have run yet")
SENTENCE(ordinary_load, stream_order, device, "an ordinary load: memory that __ldg or ld.global.nc reads "
         "must not be written by any thread during the whole launch")
SENTENCE(own_launch, stream_order, device, "a separate launch for the write: a kernel's writes do not reach "
         "the caches of textures, surfaces and constants before it ends, not even for the thread that wrote")
SENTENCE(afresh, stream_order, device, "an ordinary load, by a pointer without __restrict__: {} may use what was "
         "there before the wait for the kernel before, and that kernel writes the memory while this one runs")
SENTENCE(unaliased, argument, none, "another array, or no __restrict__: it says that nothing else writes "
         "what this pointer reads")
SENTENCE(unaliased_hoisted, argument, none, "another array, or no __restrict__: it says that nothing else "
         "writes what this pointer reads, so nvcc may load it once, before all barriers. Then the results "
         "differ")
SENTENCE(volatile_loop, atomic, device, "volatile, or an atomic operation, for what the loop waits for")
// memory and values
SENTENCE(write, write, none, "a write before it")
SENTENCE(host_memory, memory, none, "an address that the executor allocated: {} is host memory or "
         "unallocated")
SENTENCE(null_pointer, memory, none, "a pointer that is not null: the address is {}")
SENTENCE(object_of_kernel, memory, none, "an object that a kernel constructs: the host has constructed this one, "
         "so its virtual functions are the host's")
SENTENCE(freed, memory, none, "an allocation that has not been freed")
SENTENCE(unallocated, memory, none, "an allocation at this address")
SENTENCE(shared_size, memory, block, "an address within the block's {} bytes of shared memory")
SENTENCE(other_block_runs, cluster_barrier, cluster, "a cluster barrier before it: the other block may not "
         "have begun")
SENTENCE(other_block_ended, cluster_barrier, cluster, "a cluster barrier before that block ends: block ({}, "
         "{}, {}) has ended")
SENTENCE(copy_to_variable, memory, system, "cudaMemcpyToSymbol() or cudaMemcpyFromSymbol(): the host has no "
         "access to it")
SENTENCE(copy_to_device, memory, system, "cudaMemcpy(): the host has no access to it")
SENTENCE(local_memory, memory, none, "at most 512 KiB of local memory for each thread")
SENTENCE(stack_limit, memory, none, "cudaDeviceSetLimit(cudaLimitStackSize, ...) before the launch: the "
         "compiler does not know how deep a recursion goes, and a thread has {} bytes for it")
SENTENCE(within_array, memory, none, "an index within the array")
SENTENCE(aligned, alignment, none, "an address that is a multiple of {}")
SENTENCE(checked_divisor, argument, none, "a check of the divisor: the result on a GPU is undefined")
SENTENCE(free_memory, deallocation, none, "cudaFree() before the program ends")
SENTENCE(argument, argument, none, "{}")
// remarks
SENTENCE(crowded, none, none, "or fewer arrivals: {} lanes of a warp arrive together at an mbarrier that "
         "expects {}")
SENTENCE(staged_copy, none, none, "cudaMemcpy from pageable host memory may return before the copy has "
         "landed")
SENTENCE(unrecorded_event, none, none, "the event waited for at {} had not been recorded, and such a wait "
         "ends at once")
SENTENCE(seqlock, none, none, "if what is read is dropped when the number that is read before and after it has changed "
         "(a seqlock), atomic or volatile operations for it, as no order helps")
SENTENCE(replaced_event, none, none, "the event waited for at {} had been recorded again at {}, and a wait covers "
         "the last record only: an event for each")
SENTENCE(sync_before_next_copy, none, none, "if the wait is there, __syncthreads() between this read and the "
         "next copy into the slot")
SENTENCE(barrier_before_next_copy, none, none, "if the wait is there, a barrier between this read and the "
         "next copy into the slot")
SENTENCE(active_mask, none, none, "the mask is that of __activemask() in {}, which names lanes that happen "
         "to be there")
// what GPUs do
SENTENCE(gpu_same_value, none, none, "both store the same bytes; PTX leaves the value of racing stores open, "
         "GPUs store an aligned word as a whole, so memory holds that value")
SENTENCE(gpu_first_of_loop, none, none, "PTX leaves the value of a plain load that races with updates open; "
         "GPUs load an aligned word as a whole, and the compare-and-swap that expects an old value fails and "
         "returns the new one")
SENTENCE(gpu_two_sizes, none, none, "PTX calls atomic and volatile operations on the same bytes a race "
         "unless they have one size; GPUs perform each as a whole, one after the other")
SENTENCE(gpu_own_load, none, none, "memory that a read-only load reads must not be written during the "
         "launch; this thread alone has loaded it, and GPUs have the value before the thread's own write")
SENTENCE(gpu_narrow_scope, none, none, "arrival and wait order memory for threads in the scope of both, the "
         "block by default; in shared memory, code for GPUs relies on them between blocks of a cluster")
SENTENCE(gpu_not_acquired, none, none, "a relaxed operation that reads a released value orders nothing "
         "without an acquire or a fence after it; GPUs begin no write before that operation has its value, "
         "and the value comes after the release")
SENTENCE(gpu_mbarrier_word, none, none, "PTX leaves open what other accesses to an mbarrier do that has not "
         "been invalidated; GPUs load and store its word, and a thread that still uses it is reported as a "
         "race")
SENTENCE(gpu_mbarrier_again, none, none, "PTX leaves open what an initialization does to an mbarrier that "
         "has not been invalidated; GPUs store the word anew, and a thread that still uses it is reported as "
         "a race")
SENTENCE(gpu_ended_threads, none, none, "the CUDA guide requires a condition that is the same for the whole "
         "block; GPUs do not wait for threads that have ended, and no code follows the branch: it is as if "
         "the others had returned before it, which is allowed")
SENTENCE(gpu_counts_warps, none, none, "the CUDA guide requires a condition that is the same for the whole "
         "block; PTX requires one barrier instruction for the lanes of a warp only, and GPUs count the warps "
         "that come to a barrier, wherever it stands")
SENTENCE(gpu_before_start, none, none, "the write comes before the kernel that does it lets this one begin, so that "
         "no cache of this kernel holds what was there before; nvcc may still move the load before the wait")
SENTENCE(gpu_restrict, none, none, "C leaves open what such a launch does; here loads that come first, as "
         "nvcc may place them, give the same numbers")
SENTENCE(gpu_cub_storage, none, none, "CUB requires a TempStorage for each logical warp; its code exchanges "
         "by shuffles where that has 2, 4, 8, 16 or 32 lanes, and does not use the storage")
SENTENCE(gpu_tensor_registers, none, none, "GPUs read a register after its load has ended, whatever waits there "
         "are; the PTX ISA requires the wait")
SENTENCE(gpu_tensor_lanes, none, none, "GPUs add the warp's own lanes to an address of the first ones; the PTX ISA "
         "leaves this open")
SENTENCE(gpu_tensor_fence, none, none, "compilers seldom move tcgen05 instructions over a barrier or a wait; the "
         "PTX ISA requires the fence")
SENTENCE(gpu_unused_bytes, none, none, "some bytes of this load were never written, as at the end of a padded row, "
         "and what they hold makes no difference to what the launch leaves")
SENTENCE(gpu_pinned, none, none, "drivers wait for running work before they free pinned memory; CUDA's "
         "documents do not say so")
SENTENCE(gpu_own_mbarrier, none, none, "PTX requires a fence between an mbarrier's initialization and a copy that "
         "arrives there; CUDA's libraries leave it out for copies of the thread that has initialized it")
SENTENCE(gpu_one_store, none, none, "lanes of a warp that come to a bulk store together issue one")
SENTENCE(gpu_frees, none, none, "the driver frees the memory when the process ends")
