// SPDX-License-Identifier: Apache-2.0
// The launch that runs, what it may have, and which of its blocks run.
#pragma once
#include <antiphase/plain/launch.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "checker/runs/model.hpp"

namespace antiphase::plain {

constexpr std::size_t static_shared = 48 * 1024;  // bytes, of a kernel that did not ask for more
constexpr std::size_t most_shared = 227 * 1024;
constexpr std::size_t reserved_shared = 1024;  // for each block, in addition

struct launch_state {
  const char* kernel = "";
  machine::place place;
  dim3 grid, block, cluster;
  bool together = false;  // a cooperative launch
  const void* arguments = nullptr;
  std::size_t argument_bytes = 0;
};
extern launch_state running_launch;  // the last one, between launches

std::string launch_in_words();  // the last one
// Called when main ends or waits: the deadlock of a launch that waited for what one in another stream might
// set; null: there is none.
std::exception_ptr end_of_waiting_launch();

// Blocks and launches of the run that have been left out.
struct run_coverage {
  std::uint64_t most_threads = 0, most_accesses = 0;  // of a launch; 0: any number
  std::uint64_t launches = 0;
  bool sampled = false;     // some blocks did not run
  bool misled = false;      // and the launch that runs comes after one of those
  bool overlapped = false;  // a launch may have overlapped with the one before
};
extern run_coverage coverage;

struct block_choice {
  std::vector<std::uint64_t> blocks = {};  // empty: all
  std::uint64_t accesses = 0;              // after so many no more blocks begin; 0: any number
};
// Which blocks of a launch run, with a note for the report; nothing: none. `whole`: they wait for each other.
std::optional<block_choice> choose_blocks(const char* name, std::uint64_t blocks, int threads, bool whole);
std::vector<std::uint64_t> blocks_by_cluster(dim3 grid, dim3 cluster);
// The blocks of `choice` have run, and of them only some may have begun.
void note_begun_blocks(const char* name, std::uint64_t blocks, const block_choice& choice);
// From here on results, and kernels that wait for others, are not checked.
void leave_blocks_out();
bool may_be_misled(const std::exception_ptr& thrown);  // by missing blocks

// Called before the first event that depends on the schedule.
void begin_schedule();
void count_launch();

// Limits of launches; what is beyond them is a finding.
dim3 cluster_of(std::string_view name, const config& c, const void* entry, void (*body)(const void*),
                const void* params);
bool has_host_of_nvcc();  // the program's launches are by host code that nvcc has made
bool unwritten_may_be_read(const checker_detail::accessor& w, std::size_t offset);
void set_cluster(const void* entry, dim3 size);
bool fits(const char* name, const config& c, dim3 cluster, const void* entry, place where);
bool holds_together(const char* name, std::uint64_t blocks, int threads, std::size_t shared, place where);

// Shared memory. Begins a launch, and returns the bytes of a block with all variables and gaps.
std::size_t begin_shared_variables(std::size_t dynamic);
void limit_shared(std::size_t most_together);  // of static and dynamic shared memory
std::size_t bytes_of_shared_variables();       // those that the kernel has declared so far
void check_shared_variables();
std::string shared_place(std::size_t offset);  // the variable there, in words
// Name of an mbarrier at an offset of the block's shared memory: "full[2]", or the variable and the byte in
// it where that holds more than mbarriers.
std::string mbarrier_name(std::size_t offset, const std::uint64_t* word);

// Parameters. The number stands for all memory that outlives the launch.
void forget_parameters();
std::uint64_t outcome_as_number(bool has_parted);
bool forget_brought();  // before it; true: bytes have been read before a thread has written them

// Threads.
void forget_threads();
void name_active_mask(const char* kernel, bool found);
void begin_keeping();  // threads before atomic operations
// An atomic update of the current thread that changed a word: see tickets.cpp.
void count_in_ticket(const void* p, std::size_t bytes, std::uint64_t before, std::uint64_t after,
                     const void* code);
void keep_before_store(const void* p);

}  // namespace antiphase::plain
