// SPDX-License-Identifier: Apache-2.0
// Real files for tests: a temporary folder, and a redirected standard input or output.
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

namespace antiphase::testing {

// A new folder that is removed with its contents.
class scratch_folder {
 public:
  scratch_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "antiphase-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error{"no temporary folder can be made"};
    path_ = pattern;
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator{path_})
      found.insert(entry.path().filename().string());
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream file{path, std::ios::binary};
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) throw std::runtime_error{"cannot write " + path};
}
inline std::string read_text(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

// Replaces descriptor 0 or 1 by an open file for its lifetime, and closes that file.
class redirected {
 public:
  redirected(int standard, int file) : standard_{standard}, before_{dup(standard)} {
    dup2(file, standard);
    ::close(file);
  }
  ~redirected() {
    if (before_ >= 0) {
      dup2(before_, standard_);
      ::close(before_);
    } else {
      ::close(standard_);
    }
  }
  redirected(const redirected&) = delete;
  redirected& operator=(const redirected&) = delete;

 private:
  int standard_;
  int before_;
};

// Runs `action`, which must throw an Error, and returns its message.
template <class Error, class Action> std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace antiphase::testing
