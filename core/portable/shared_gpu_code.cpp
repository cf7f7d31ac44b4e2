// SPDX-License-Identifier: Apache-2.0
// GPU code that the tool of the Python package takes from the library next to it. scripts/build/wheel.py puts
// a reference in place of each piece of code that the library has, too, and the CUDA runtime is given the
// library's.
#include "core/portable/shared_gpu_code.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

constexpr char mark[] = "antiphase lib v1";  // no piece of code begins so
struct reference {
  char marked[16];
  std::uint64_t offset, bytes, library_bytes;  // a place in the library's file, and the size of that
};
struct header {  // that a piece begins with
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};
constexpr header no_code{0xba55ed50, 1, sizeof(header), 0};

struct mapping {
  const char* address = nullptr;
  std::uint64_t bytes = 0;
};
char path[PATH_MAX];  // of the library
mapping mapped_library() {
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length >= ssize_t{sizeof path}) return {};
  path[length] = '\0';
  for (int parts = 0; parts < 2; ++parts)  // bin/antiphase
    if (char* const slash = std::strrchr(path, '/')) *slash = '\0';
  constexpr char name[] = "/lib/libantiphase.so.0";
  if (std::strlen(path) + sizeof name > sizeof path) return {};
  std::strcat(path, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat about {};
  mapping found;
  if (file >= 0 && fstat(file, &about) == 0)
    if (void* const at =
            mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
        at != MAP_FAILED)
      found = {static_cast<const char*>(at), static_cast<std::uint64_t>(about.st_size)};
  if (file >= 0) close(file);
  return found;
}

char missing[PATH_MAX + 200];  // empty: nothing

// The code itself where it is a reference. Without the library, or with another one, none, and `missing` says
// so.
const void* resolved(const void* code) {
  reference r;
  std::memcpy(&r, code, sizeof r);
  if (std::memcmp(r.marked, mark, sizeof r.marked) != 0) return code;
  static const mapping library = mapped_library();
  if (library.bytes == r.library_bytes && r.bytes <= library.bytes && r.offset <= library.bytes - r.bytes) {
    const char* const found = library.address + r.offset;
    header h;
    std::memcpy(&h, found, sizeof h);
    if (h.magic == no_code.magic && h.header_bytes + h.bytes == r.bytes) return found;
  }
  std::snprintf(
      missing, sizeof missing,
      "%s, which has this program's GPU code, %s: expected the library that was installed with the program",
      path, library.address == nullptr ? "cannot be read" : "is another one");
  return &no_code;
}

}  // namespace

const char* antiphase::missing_gpu_code() { return missing[0] == '\0' ? nullptr : missing; }

extern "C" {
struct antiphase_registration {  // as nvcc's object files have it
  std::uint32_t magic, version;
  const void* code;
  void* more;
};
void** __real___cudaRegisterFatBinary(void*);
// by the linker's --wrap, in place of __cudaRegisterFatBinary
void** __wrap___cudaRegisterFatBinary(void* given) {
  auto* const of = static_cast<antiphase_registration*>(given);
  of->code = resolved(of->code);
  return __real___cudaRegisterFatBinary(given);
}
}
