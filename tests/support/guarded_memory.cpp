// SPDX-License-Identifier: Apache-2.0
// Memory that a CPU executor gives out in tests: it ends at a page that must not be touched, and a page
// before it must not be either. So a kernel that reads or writes past an array crashes, in every test. At
// most 15 bytes after an array are left, since TMA needs its beginning to be a multiple of 16 bytes; they
// hold NaN. Arrays of a multiple of 256 bytes begin at one, as those of GPUs do.
//
// With ANTIPHASE_TEST_PAGES=begin in the environment arrays begin at a page instead. Linked into test
// programs other than those of AddressSanitizer, which looks at every byte.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string_view>

namespace {

constexpr std::size_t of_devices = 256;  // the alignment that only executors ask for

struct mapping {
  void* begin;
  std::size_t bytes;
};
struct all_mappings {
  std::mutex mutex;
  std::map<void*, mapping> of;
};
all_mappings& known() {
  static auto* const all = new all_mappings;  // outlives all arrays
  return *all;
}

void* guarded(std::size_t bytes) noexcept {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  static const char* const asked = std::getenv("ANTIPHASE_TEST_PAGES");
  static const bool at_begin = asked != nullptr && std::string_view(asked) == "begin";
  const std::size_t inside = (bytes + page - 1) / page * page;
  if (inside < bytes || inside > SIZE_MAX - 2 * page) return nullptr;
  const mapping whole{mmap(nullptr, inside + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                      inside + 2 * page};
  if (whole.begin == MAP_FAILED) return nullptr;
  auto* const first = static_cast<unsigned char*>(whole.begin) + page;
  if (mprotect(first, inside, PROT_READ | PROT_WRITE) != 0) {
    munmap(whole.begin, whole.bytes);
    return nullptr;
  }
  void* const memory = at_begin ? first : first + (inside - (bytes + 15) / 16 * 16);
  std::memset(static_cast<unsigned char*>(memory) + bytes, 0xFF,
              at_begin ? 0 : (bytes + 15) / 16 * 16 - bytes);
  const std::lock_guard lock(known().mutex);
  known().of[memory] = whole;
  return memory;
}
bool forget(void* memory) noexcept {
  const std::lock_guard lock(known().mutex);
  const auto at = known().of.find(memory);
  if (at == known().of.end()) return false;
  munmap(at->second.begin, at->second.bytes);
  known().of.erase(at);
  return true;
}
void* allocated(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes == 0) bytes = 1;
  if (alignment == of_devices) return guarded(bytes);
  if (bytes > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = allocated(bytes, static_cast<std::size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  if (static_cast<std::size_t>(alignment) != of_devices || !forget(memory)) std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  operator delete(memory, alignment);
}
