// SPDX-License-Identifier: Apache-2.0
// From sources in plain CUDA to a shared object that the checker can load.
#pragma once
#include <sys/types.h>
#include <antiphase/plain_cuda.hpp>

#include <filesystem>

namespace antiphase::plain {

// A new folder, which is removed with this, or when this process ends, however it does.
class temporary_folder {
 public:
  temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int watched_ = -1;    // while it is open, the folder stays
  pid_t watcher_ = -1;  // a process
};

// A program that has been compiled, and its object while it is needed.
class compiled {
 public:
  explicit compiled(const plain_program& p);
  std::string object() const { return folder_.path() / "program.so"; }

 private:
  temporary_folder folder_;
};

}  // namespace antiphase::plain
