// SPDX-License-Identifier: Apache-2.0
// A shared object that contains the library can be loaded at runtime, even when no static TLS is left, and
// unloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

class shared_object : public testing::Test {
 protected:
  shared_object()
      : folder_(fs::temp_directory_path() / ("antiphase_neighbours_" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~shared_object() override {
    for (void* handle : loaded_) dlclose(handle);
    fs::remove_all(folder_);
  }

  // Loads up to `count` copies of one library file, and stops when one is refused. Returns the number loaded.
  int load_copies(const char* file, int count) {
    for (int i = 0; i < count; ++i) {
      const fs::path copy = folder_ / (std::to_string(loaded_.size()) + ".so");
      fs::copy_file(file, copy);
      void* const handle = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle == nullptr) return i;
      loaded_.push_back(handle);
      const auto next = reinterpret_cast<long (*)()>(dlsym(handle, "next_of_neighbour"));
      EXPECT_EQ(next(), 1) << "every copy has its own";
    }
    return count;
  }

  static void expect_usable(const char* where) {
    void* const handle = dlopen(WHOLE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle, nullptr) << dlerror();
    const auto use =
        reinterpret_cast<void (*)(const char*, char*, std::size_t)>(dlsym(handle, "use_antiphase"));
    ASSERT_NE(use, nullptr) << dlerror();
    std::string said[3];
    const auto run = [&](std::string& text) {
      text.resize(1000);
      use(where, text.data(), text.size());
      text.resize(text.find('\0'));
    };
    run(said[0]);
    std::thread one([&] { run(said[1]); }), other([&] { run(said[2]); });
    one.join(), other.join();
    for (const std::string& text : said) EXPECT_EQ(text, "");
    EXPECT_EQ(dlclose(handle), 0) << dlerror();
  }

 private:
  fs::path folder_;
  std::vector<void*> loaded_;
};

TEST_F(shared_object, is_loaded_and_unloaded) {
  expect_usable("cpu");
  expect_usable("cpu");
}

TEST_F(shared_object, is_loaded_behind_200_others) {
  EXPECT_EQ(load_copies(NEIGHBOUR, 200), 200);
  expect_usable("cpu");
}

TEST_F(shared_object, is_loaded_where_no_fixed_storage_is_left) {
  EXPECT_LT(load_copies(NEIGHBOUR_FIXED, 1000), 1000) << "the C library keeps more of it than was expected";
  expect_usable("cpu");
}

}  // namespace
