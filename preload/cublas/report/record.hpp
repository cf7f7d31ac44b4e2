// SPDX-License-Identifier: Apache-2.0
// Counts and list of a process's products, in memory of a fixed layout. If ANTIPHASE_RECORDS names a folder
// it is a file there and outlives the process: `antiphase run` reports what the process did not.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "preload/cublas/report/report.hpp"

namespace antiphase::cublas {

// A product and its outcome. The process may die between any two stores: the row is valid all the same.
struct row {
  std::atomic<std::uint64_t> calls;  // 0: the row is free, and nothing else in it holds
  listed_product product;
  outcome became;
  prediction each;
  std::atomic<std::uint64_t> timed;
  std::atomic<double> mean;  // seconds, over the timed calls
};

// Starts as all zeros. Pages that are never written take no memory.
struct record {
  struct difference {
    double relative;
    listed_product product;
  };
  std::atomic<std::uint64_t> layout;  // layout_of_records once all members before the counters are valid
  std::int64_t process;
  std::array<char, 32> rank;  // ends with 0
  std::array<std::atomic<std::uint64_t>, outcomes> counts;
  std::atomic<std::int64_t> picoseconds_saved;  // negative if products were taken at a loss
  std::atomic<std::uint64_t> not_listed;        // calls for which there was no row
  std::atomic<double> gpu_saved, saved;         // list_saved()
  struct others {
    std::atomic<std::uint64_t> calls;
    std::atomic<double> seconds, left;
    std::atomic<double> not_measured;  // what would be saved of the calls that were not
  };
  std::array<others, call_kinds> of_others;                     // list_others()
  std::array<std::atomic<std::uint64_t>, call_kinds> computed;  // count_computed()
  std::atomic<std::uint64_t> verified, not_verified;
  std::array<difference, 2> differences;
  std::atomic<std::uint32_t> worst;  // index of the worst difference
  std::array<row, 16384> rows;

  std::uint64_t count_of(outcome what) const { return counts[static_cast<std::size_t>(what)]; }
  std::uint64_t all() const;
};
// Differs between versions, unless their layouts have the same size.
constexpr std::uint64_t layout_of_records = 0x616e746900000000u + sizeof(record);

struct unmapped {
  void operator()(record* of) const noexcept;
};
using mapped_record = std::unique_ptr<record, unmapped>;
// Maps a record file; null if this version has not written it.
mapped_record record_in(const std::string& file);

// This process's record.
class own_record {
 public:
  own_record() noexcept;  // at the first product; get() is null if there is no memory
  own_record(const own_record&) = delete;
  own_record& operator=(const own_record&) = delete;
  ~own_record();
  record* get() { return is_.get(); }
  std::mutex& change() { return change_; }  // lock for all but the counters
  // Deletes the file, so that it is not reported again.
  void forget_file() noexcept;

 private:
  mapped_record is_;
  std::string file_;
  std::mutex change_;
};
own_record& record_of_process();
bool has_record() noexcept;  // whether it has been made

std::string rank_of_process();  // in a parallel program; empty: none
// True in the process that `antiphase run` has started: children inherit its environment, so that alone is
// not enough.
bool was_started();
// Marks that this process has reported by itself. For the started process that is a file next to the records.
void mark_told() noexcept;
bool has_told(const std::string& folder);

}  // namespace antiphase::cublas
