// SPDX-License-Identifier: Apache-2.0
// Memory of the host's malloc() and of kernels' malloc().
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <malloc.h>
#include <unwind.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
namespace {
struct kernel_heap {
  std::map<const void*, std::size_t> blocks;  // bytes
  std::size_t used = 0;
};
kernel_heap heap;
// Memory that the program has allocated on the host, for copies that take more than that.
class allocated_by_host {
 public:
  void add(const void* p, std::size_t bytes) {
    if (p == nullptr || !is_followed()) return;
    const std::lock_guard lock(one_at_a_time_);
    all_[static_cast<const char*>(p)] = {bytes, malloc_usable_size(const_cast<void*>(p))};
  }
  void remove(const void* p) {
    const std::lock_guard lock(one_at_a_time_);
    all_.erase(static_cast<const char*>(p));
  }
  // Bytes that there are from `p` on; as many as you like if nothing is known of it.
  std::size_t bytes_from(const void* p) {
    constexpr std::size_t unknown = ~std::size_t{0};
    const auto* const at = static_cast<const char*>(p);
    const std::lock_guard lock(one_at_a_time_);
    const auto after = all_.upper_bound(at);
    if (after == all_.begin()) return unknown;
    const auto& [start, b] = *std::prev(after);
    // a library may have freed it and allocated again
    if (at >= start + b.bytes || malloc_usable_size(const_cast<char*>(start)) != b.usable) return unknown;
    return static_cast<std::size_t>(start + b.bytes - at);
  }

 private:
  struct block {
    std::size_t bytes, usable;
  };
  std::mutex one_at_a_time_;
  std::map<const char*, block> all_;
};
allocated_by_host& host_blocks() {
  static auto& all = *new allocated_by_host;  // programs free after main, too
  return all;
}
// Bytes from `p` to the end of the stack frame that it lies in, as many as you like if it lies in none.
std::size_t bytes_of_frame(const void* p) {
  struct search {
    std::uintptr_t address, first = 0, end = 0;
  } s{reinterpret_cast<std::uintptr_t>(p)};
  _Unwind_Backtrace(
      [](_Unwind_Context* of, void* to) {
        auto& found = *static_cast<search*>(to);
        const std::uintptr_t frame = _Unwind_GetCFA(of);
        if (found.first == 0) found.first = frame;
        if (frame <= found.address) return _URC_NO_REASON;
        found.end = frame;
        return _URC_END_OF_STACK;
      },
      &s);
  constexpr std::size_t callers = 2 * sizeof(void*);  // its frame pointer, and where to return to
  return s.address < s.first || s.end < s.address + callers ? ~std::size_t{0} : s.end - callers - s.address;
}
// The same for a variable of the program with external linkage.
std::size_t bytes_of_variable(const void* p) {
  Dl_info where{};
  const ElfW(Sym)* symbol = nullptr;
  void* to = nullptr;
  if (dladdr1(p, &where, &to, RTLD_DL_SYMENT) == 0 || to == nullptr) return ~std::size_t{0};
  symbol = static_cast<const ElfW(Sym)*>(to);
  const std::size_t offset =
      reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(where.dli_saddr);
  return where.dli_saddr == nullptr || offset >= symbol->st_size ? ~std::size_t{0} : symbol->st_size - offset;
}
}  // namespace

// True for memory of malloc() in kernels, which no call of the host may be given; that is a finding.
bool is_kernels_heap(const void* p, const char* what, place where) {
  const auto after = heap.blocks.upper_bound(p);
  if (after == heap.blocks.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  if (p >= static_cast<const char*>(start) + bytes) return false;
  bad_copy(where, fmt::format("{} of memory that a kernel's malloc() returned", what), "",
           "memory of cudaMalloc(): the host's calls do not reach the heap of kernels",
           cudaErrorInvalidValue);
  return true;
}
// Ends the run if the host has less memory there than a copy takes.
void require_allocated(const void* p, std::size_t bytes, const char* what, place where) {
  const std::size_t left = std::min({host_blocks().bytes_from(p), bytes_of_frame(p), bytes_of_variable(p)});
  if (bytes <= left) return;
  bad_copy(where, fmt::format("a copy of {} bytes {} memory of the host", bytes, what),
           fmt::format("at most {} bytes belong to the host's variable there", left),
           "a size in bytes that both sides have", cudaErrorInvalidValue);
  end_run_at("the copy in " + text_of(where),
             std::make_exception_ptr(checker_detail::stopped("a copy left the host's memory")));
}
namespace {
void frees_wrongly(const void* code) {
  const char* const action = "free() of what malloc() did not return here, or not any more";
  const char* const instead =
      "in kernels, memory of their malloc(), once; cudaFree() or cudaFreeHost() for the host's";
  checker_detail::model& m = followed();
  if (m.current() != nullptr)
    m.note_here(finding_kind::outside_memory, m.places.number_of_code(code), action, "",
                {sentence::argument, {instead}});
  else
    m.findings.note(finding_kind::outside_memory, "", m.places.number_of_code(code), action, "", instead);
}
void host_frees(void* p, const void* code) {
  if (ordinary_memory() != nullptr && on_host_thread())
    ordinary_memory()->freed(p, malloc_usable_size(p), code);
  std::free(p);
}
}  // namespace

}  // namespace antiphase::plain

using namespace antiphase;

extern "C" {
// malloc and new in kernels allocate device memory. It is no leak if never freed, since it goes with the
// device.
void* antiphase_plain_malloc(std::size_t bytes) {
  if (!plain::on_device() || plain::followed().host.runs_library) {
    void* const p = std::malloc(std::max<std::size_t>(bytes, 1));
    plain::host_blocks().add(p, bytes);
    return p;
  }
  if (bytes + plain::heap.used > plain::limit(cudaLimitMallocHeapSize)) return nullptr;
  void* const p = plain::device().allocate(std::max<std::size_t>(bytes, 1));
  plain::heap.blocks[p] = bytes;
  plain::heap.used += bytes;
  return p;
}
void* antiphase_plain_realloc(void* p, std::size_t bytes) {
  plain::host_blocks().remove(p);
  void* const again = std::realloc(p, bytes);
  plain::host_blocks().add(again, bytes);
  return again;
}
void antiphase_plain_free_at(void* p, const void* code) {
  if (p == nullptr) return;
  plain::host_blocks().remove(p);
  if (plain::is_followed()) plain::followed().memory.forget_host(p);
  if (!plain::is_followed() || reinterpret_cast<std::uintptr_t>(p) - plain::followed().memory.lowest() >=
                                   plain::followed().memory.size())
    return plain::host_frees(p, code);
  const auto known = plain::on_device() ? plain::heap.blocks.find(p) : plain::heap.blocks.end();
  if (known == plain::heap.blocks.end()) return plain::frees_wrongly(code);
  plain::heap.used -= known->second;
  plain::heap.blocks.erase(known);
  plain::device().deallocate(p);
}
void antiphase_plain_free(void* p) { antiphase_plain_free_at(p, __builtin_return_address(0)); }
void antiphase_plain_lock() {
  if (plain::ordinary_memory() != nullptr && !plain::on_device() && plain::on_host_thread())
    plain::ordinary_memory()->comes_to_lock();
}
}  // extern "C"
