// SPDX-License-Identifier: Apache-2.0
// What has become of a process's products, in memory of a fixed layout. Where ANTIPHASE_RECORDS names a
// folder it is a file there, so that it outlives the process: `antiphase run` tells what was left untold.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "src/cublas/report.hpp"

namespace antiphase::cublas {

// A product, and what became of it. The process may die between any two stores: what it leaves makes sense.
struct row {
  std::atomic<std::uint64_t> calls;  // 0: the row is free, and nothing else in it holds
  listed_product product;
  outcome became;
  prediction each;
  std::atomic<std::uint64_t> timed;
  std::atomic<double> mean;  // seconds, of those that were timed
};

// All zeros at the beginning. Pages that nobody writes take no memory.
struct record {
  struct difference {
    double relative;
    listed_product product;
  };
  std::atomic<std::uint64_t> layout;  // layout_of_records: all before the counters holds
  std::int64_t process;
  std::array<char, 32> rank;  // ends with 0
  std::array<std::atomic<std::uint64_t>, outcomes> counts;
  std::atomic<std::int64_t> picoseconds_saved;  // less what was lost, if one was taken all the same
  std::atomic<std::uint64_t> not_listed;        // calls, for want of a row
  std::atomic<std::uint64_t> verified, not_verified;
  std::array<difference, 2> differences;
  std::atomic<std::uint32_t> worst;  // which of both
  std::array<row, 16384> rows;

  std::uint64_t count_of(outcome what) const { return counts[static_cast<std::size_t>(what)]; }
  std::uint64_t all() const;
};
// Another version's differ, unless they are the same.
constexpr std::uint64_t layout_of_records = 0x616e746900000000u + sizeof(record);

struct unmapped {
  void operator()(record* of) const noexcept;
};
using mapped_record = std::unique_ptr<record, unmapped>;
// That of a file; null if it is not one that this version has written.
mapped_record record_in(const std::string& file);

// This process's.
class own_record {
 public:
  own_record() noexcept;  // at the first product; null if there is no memory
  own_record(const own_record&) = delete;
  own_record& operator=(const own_record&) = delete;
  ~own_record();
  record* get() { return is_.get(); }
  std::mutex& change() { return change_; }  // of what is not counted
  // Nobody is to tell it again.
  void forget_file() noexcept;

 private:
  mapped_record is_;
  std::string file_;
  std::mutex change_;
};
own_record& record_of_process();
bool has_record() noexcept;  // whether it has been made

std::string rank_of_process();  // of a parallel program; empty: there is none
// The process that `antiphase run` has started; its children inherit all of its environment.
bool was_started();
// That this process has told by itself; of the one that was started a file beside the records says so.
void mark_told() noexcept;
bool has_told(const std::string& folder);

}  // namespace antiphase::cublas
