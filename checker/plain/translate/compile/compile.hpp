// SPDX-License-Identifier: Apache-2.0
// Compiles plain CUDA sources to a shared object that the checker can load.
#pragma once
#include <sys/types.h>
#include <antiphase/plain_cuda.hpp>

#include <filesystem>

namespace antiphase::plain {

// The folder for temporary ones: TMPDIR, or /tmp. Throws device_error if it is none.
std::filesystem::path temporary_place();

// A new folder, removed by the destructor or at the end of this process, however it ends; unless renamed.
class temporary_folder {
 public:
  explicit temporary_folder(const std::filesystem::path& in = temporary_place());
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int watched_ = -1;    // the watcher removes the folder when this is closed
  pid_t watcher_ = -1;  // process that waits for that
};

// Message on sources without a main().
constexpr const char* no_main =
    "the sources have no main(): a program is checked by running it, and kernels alone by a source that "
    "launches "
    "them (--kernels), or a description of a launch (--launch)";

// A compiled program; its object exists as long as this does, or longer where plain_program::object names it.
class compiled {
 public:
  explicit compiled(const plain_program& p);
  std::string object() const { return object_; }

 private:
  temporary_folder folder_;
  std::filesystem::path object_;
};

}  // namespace antiphase::plain
