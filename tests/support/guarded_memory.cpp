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
#include <new>
#include <string_view>

namespace {

constexpr std::size_t of_devices = 256;  // the alignment that only executors ask for

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// No state is shared: a child process may be forked while another thread allocates. The mapping's size stands
// in the page before the array.
void* guarded(std::size_t bytes) noexcept {
  const std::size_t page = page_size(), inside = (bytes + page - 1) / page * page;
  if (inside < bytes || inside > SIZE_MAX - 2 * page) return nullptr;
  const std::size_t whole = inside + 2 * page;
  void* const begin = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  std::memcpy(begin, &whole, sizeof whole);
  unsigned char* const first = static_cast<unsigned char*>(begin) + page;
  if (mprotect(begin, page, PROT_NONE) != 0 || mprotect(first + inside, page, PROT_NONE) != 0) {
    munmap(begin, whole);
    return nullptr;
  }
  const char* const asked = std::getenv("ANTIPHASE_TEST_PAGES");
  if (asked != nullptr && std::string_view(asked) == "begin") return first;
  const std::size_t rounded = (bytes + 15) / 16 * 16;
  unsigned char* const memory = first + (inside - rounded);
  std::memset(memory + bytes, 0xFF, rounded - bytes);
  return memory;
}
void release(void* memory) noexcept {
  const std::size_t page = page_size();
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(memory) % page;
  void* const begin = static_cast<unsigned char*>(memory) - offset - page;
  std::size_t whole = 0;
  if (mprotect(begin, page, PROT_READ) != 0) std::abort();
  std::memcpy(&whole, begin, sizeof whole);
  munmap(begin, whole);
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
  if (memory == nullptr) return;
  static_cast<std::size_t>(alignment) == of_devices ? release(memory) : std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t alignment) noexcept {
  operator delete(memory, alignment);
}
