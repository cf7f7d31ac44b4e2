// SPDX-License-Identifier: Apache-2.0
// From sources in plain CUDA to a shared object that the checker can load.
#pragma once
#include <sys/types.h>
#include <antiphase/plain_cuda.hpp>

#include <filesystem>

namespace antiphase::plain {

// Where the files of a compilation are while it is needed.
class compiled {
 public:
  explicit compiled(const plain_program& p);
  compiled(const compiled&) = delete;
  compiled& operator=(const compiled&) = delete;
  ~compiled();
  std::string object() const { return folder_ / "program.so"; }

 private:
  void remove();

  std::filesystem::path folder_;
  int watched_ = -1;    // while it is open, the folder stays
  pid_t watcher_ = -1;  // a process
};

}  // namespace antiphase::plain
