// SPDX-License-Identifier: Apache-2.0
// Functions that archives of newer compilers call and GNU C libraries from 2.28 on may lack: linked into
// binaries that must run with such a library (cmake/AntiphasePortable.cmake). Hidden, so that no other
// library gets these.
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#define AP_OURS extern "C" __attribute__((visibility("hidden")))

// From 2.33 on functions; before that, calls of these with the layout's number, which is 1 on x86-64.
extern "C" int __xstat(int layout, const char* file, struct stat* out);
extern "C" int __lxstat(int layout, const char* file, struct stat* out);
extern "C" int __fxstat(int layout, int file, struct stat* out);
static_assert(sizeof(struct stat) == sizeof(struct stat64) && sizeof(void*) == 8, "64-bit Linux alone");
AP_OURS int stat(const char* file, struct stat* out) { return __xstat(1, file, out); }
AP_OURS int lstat(const char* file, struct stat* out) { return __lxstat(1, file, out); }
AP_OURS int fstat(int file, struct stat* out) { return __fxstat(1, file, out); }
AP_OURS int fstat64(int file, struct stat64* out) {
  return __fxstat(1, file, reinterpret_cast<struct stat*>(out));
}

// 2.32: true while a process has one thread. Shared pointers then count without atomic operations.
AP_OURS char __libc_single_threaded;
char __libc_single_threaded = 0;

// 2.36, for std::random_device
AP_OURS std::uint32_t arc4random() {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR) std::abort();
  return number;
}

// 2.30, for waiting until a time of the steady clock. If the realtime clock is set meanwhile, callers wake up
// early or late, and look at their condition again.
AP_OURS int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                   const timespec* until) {
  timespec now{}, real{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  for (; real.tv_nsec < 0; real.tv_nsec += 1'000'000'000) --real.tv_sec;
  for (; real.tv_nsec >= 1'000'000'000; real.tv_nsec -= 1'000'000'000) ++real.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &real);
}

// 2.35, for exceptions: the object whose code a program counter lies in, and its table of frames. The
// linker's --wrap puts ours in place of the function; where the system has one, that is called, since it
// takes no lock. Ours takes the dynamic loader's, as all unwinders did before, and may wait forever in a
// child that was forked meanwhile.
extern "C" __attribute__((weak)) int __real__dl_find_object(void* pc, dl_find_object* found);

namespace {

struct search {
  std::uintptr_t pc;
  dl_find_object* found;
};

int look_at(dl_phdr_info* object, std::size_t, void* what) {
  const auto [pc, found] = *static_cast<search*>(what);
  std::uintptr_t first = ~std::uintptr_t{0}, end = 0, frames = 0;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t at = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = at;
    if (part.p_type != PT_LOAD) continue;
    inside = inside || (at <= pc && pc < at + part.p_memsz);
    first = at < first ? at : first;
    end = at + part.p_memsz > end ? at + part.p_memsz : end;
  }
  if (!inside || frames == 0) return 0;
  found->dlfo_flags = 0;
  found->dlfo_map_start = reinterpret_cast<void*>(first);
  found->dlfo_map_end = reinterpret_cast<void*>(end);
  found->dlfo_link_map = nullptr;
  found->dlfo_eh_frame = reinterpret_cast<void*>(frames);
  return 1;
}

}  // namespace

AP_OURS int __wrap__dl_find_object(void* pc, dl_find_object* found) {
  if (__real__dl_find_object != nullptr) return __real__dl_find_object(pc, found);
  search what{reinterpret_cast<std::uintptr_t>(pc), found};
  return dl_iterate_phdr(look_at, &what) == 1 ? 0 : -1;
}
