// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned and managed memory: allocations, and who may come to it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/order/missing.hpp"
#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

namespace {
struct allocation {
  std::size_t bytes = 0;
  memory_kind kind = memory_kind::device;
  machine::place place;
  bool of_library = false;  // an object frees it, if only after main
};
struct device_memory {
  char* sections[6] = {};  // of variables: device, constant, managed; [from, to) each
  std::map<void*, allocation> allocations;
};
device_memory owned;
bool within(const void* p, char* const* section) { return p >= section[0] && p < section[1]; }
}  // namespace

bool is_variable(const void* p) {
  return within(p, owned.sections) || within(p, owned.sections + 2) || within(p, owned.sections + 4);
}
// Device memory, or host memory that has been allocated or registered as pinned.
bool of_device(const void* p, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(p) - followed().memory.lowest() < followed().memory.size() ||
         is_variable(p) || followed().memory.follows(p, bytes);
}
// Memory that both host and kernels reach: managed, or pinned.
bool is_shared_with_host(const void* p) {
  if (within(p, owned.sections + 4) || followed().memory.host_range_at(p) != nullptr) return true;
  const auto after = owned.allocations.upper_bound(const_cast<void*>(p));
  if (after == owned.allocations.begin()) return false;
  const auto& [start, a] = *std::prev(after);
  return a.kind != memory_kind::device && p < static_cast<char*>(start) + a.bytes + 256;
}
bool only_device(const void* p) { return of_device(p) && !is_shared_with_host(p); }
std::string variable_name(const void* p) {
  Dl_info info{};
  if (std::string name = checker_detail::symbol_at(p); !name.empty()) return name;
  return dladdr(p, &info) != 0 && info.dli_sname != nullptr ? info.dli_sname : "without a name";
}

// The allocation that holds an address; its size is 0 if there is none.
std::pair<std::uintptr_t, std::size_t> allocation_at(std::uintptr_t p) {
  const auto after = owned.allocations.upper_bound(reinterpret_cast<void*>(p));  // NOLINT: an address
  if (after == owned.allocations.begin()) return {};
  const auto& [start, a] = *std::prev(after);
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  return p - first < a.bytes ? std::pair(first, a.bytes) : std::pair(first, std::size_t{0});
}
cudaError_t allocate(void** to, std::size_t bytes, memory_kind kind, place where) {
  only_by_main("memory is allocated", where);
  try {
    *to = device().allocate(bytes);
  } catch (const device_error& e) {
    end_run_with(not_supported(e.what()));  // a real device may have more
  }
  owned.allocations[*to] = {bytes, kind, where};
  return cudaSuccess;
}
cudaError_t allocate_on(void** to, std::size_t bytes, cudaStream_t on, place where) {
  only_by_main("memory is allocated", where);
  if (is_capturing(on)) refuse(where, "cudaMallocAsync() in a captured stream", "memory allocated before");
  const cudaError_t e = allocate(to, bytes, memory_kind::device, where);
  followed().host_place = where;
  if (bytes > 0) followed().host_allocates(*to, bytes, on);
  followed().host_place = {};
  return e;
}
namespace {
// Pinned memory is no longer that of copies and kernels in progress.
void give_back(const void* p, std::size_t bytes, place where, const char* what) {
  followed().write_pedantic(p, bytes, followed().places.number_of(where), what, sentence::gpu_pinned);
}
}  // namespace

cudaError_t register_host(void* p, std::size_t bytes, place where) {
  only_by_main("memory is registered", where);
  checker_detail::shadow& memory = followed().memory;
  const auto* const known = p != nullptr ? memory.host_range_at(p) : nullptr;
  if (p == nullptr || (known != nullptr) != (bytes == 0)) return fails(cudaErrorInvalidValue);
  if (bytes > 0)
    memory.follow_host(p, bytes);
  else
    give_back(p, known->bytes, where, "cudaHostUnregister() by the host"), memory.forget_host(p);
  followed().host.resume_host(memory);
  return cudaSuccess;
}
cudaMemoryType type_of(const void* p) {
  if (only_device(p)) return cudaMemoryTypeDevice;
  if (followed().memory.host_range_at(p) != nullptr) return cudaMemoryTypeHost;
  if (!of_device(p)) return cudaMemoryTypeUnregistered;
  const auto after = owned.allocations.upper_bound(const_cast<void*>(p));
  const bool pinned = !is_variable(p) && after != owned.allocations.begin() &&
                      std::prev(after)->second.kind == memory_kind::host;
  return pinned ? cudaMemoryTypeHost : cudaMemoryTypeManaged;
}
cudaError_t release(void* p, place where) {
  // from the destructor of a kernel's argument: no device runs it
  if (p == nullptr || on_device()) return cudaSuccess;
  only_by_main("memory is freed", where);
  if (const auto known = owned.allocations.find(p);
      known != owned.allocations.end() && known->second.kind == memory_kind::host)
    give_back(p, known->second.bytes, where, "cudaFreeHost() by the host");
  synchronize(nullptr, waits_for::all, where);
  if (owned.allocations.erase(p) == 0) {
    followed().findings.note(finding_kind::outside_memory, "", followed().places.number_of(where),
                             "cudaFree() of what is not allocated", "",
                             "a pointer that cudaMalloc() returned, once");
    return fails(cudaErrorInvalidValue);
  }
  device().deallocate(p);
  return cudaSuccess;
}

cudaError_t release_on(void* p, cudaStream_t on, place where) {
  if (!on_device()) only_by_main("memory is freed", where);
  const auto known = owned.allocations.find(p);
  if (p == nullptr || on_device() || known == owned.allocations.end()) return release(p, where);
  if (is_capturing(on))
    refuse(where, "cudaFreeAsync() in a captured stream", "cudaFreeAsync() after the capture");
  followed().host_place = where;
  followed().host_access(p, known->second.bytes, access_kind::write, on, "cudaFreeAsync");
  followed().host_place = {};
  owned.allocations.erase(known);
  device().deallocate(p);
  return cudaSuccess;
}
cudaError_t reset_device() {
  followed().launches.synchronize(nullptr);
  for (const auto& [p, a] : owned.allocations) device().deallocate(p);
  owned.allocations.clear();
  return cudaSuccess;
}
void owned_by_library(void* p) {
  if (const auto at = owned.allocations.find(p); at != owned.allocations.end()) at->second.of_library = true;
}
void report_leaks() {
  for (const auto& [p, a] : owned.allocations) {
    if (a.kind == memory_kind::host || a.of_library) continue;
    const checker_detail::place_number at = followed().places.number_of(a.place);
    checker_detail::event_log::question life{.now = {.thread = {}, .place = at, .action = {}}, .earlier = {}};
    life.memory = reinterpret_cast<std::uintptr_t>(p);
    life.bytes = a.bytes;
    life.never_freed = true;
    life.is_thread = false;
    finding f;
    f.kind = finding_kind::leak;
    f.access.action = fmt::format("{} bytes of device memory were never freed", a.bytes);
    f.missing = sentence::free_memory;
    f.in_practice = sentence::gpu_frees;
    followed().findings.note(std::move(f), at, life);
  }
}

void visit_memory(const std::function<void(const void* start, std::size_t bytes)>& visit) {
  for (const auto& [p, a] : owned.allocations) visit(p, a.bytes);
  for (const auto& r : followed().memory.host_ranges())
    visit(reinterpret_cast<const void*>(r.low), r.bytes);  // NOLINT: an address of the program
  for (int i = 0; i < 6; i += 2)
    visit(owned.sections[i], static_cast<std::size_t>(owned.sections[i + 1] - owned.sections[i]));
}
namespace {
// Relocated constants of the program, where the compiler places virtual tables; empty: there are none.
checker_detail::address_range relocated_constants() {
  checker_detail::address_range all;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        if (info->dlpi_addr != checker_detail::code_base) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (const auto& h = info->dlpi_phdr[i]; h.p_type == PT_GNU_RELRO)
            *static_cast<checker_detail::address_range*>(to) = {info->dlpi_addr + h.p_vaddr, h.p_memsz};
        return 1;
      },
      &all);
  return all;
}
bool is_virtual_table(std::uintptr_t address) {
  static const checker_detail::address_range constants = relocated_constants();
  Dl_info info{};
  if (!constants.holds(address) || dladdr(reinterpret_cast<void*>(address), &info) == 0) return false;
  return info.dli_sname == nullptr ||
         std::string_view(info.dli_sname).starts_with("_ZTV");  // of a local class: null
}
}  // namespace
void find_virtual_tables(const void* from, void* to, std::size_t bytes) {
  std::uintptr_t word = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof word != 0) return;
  for (std::size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
    std::memcpy(&word, static_cast<const char*>(from) + i, sizeof word);
    if (is_virtual_table(word)) followed().history.holds_host_table(static_cast<char*>(to) + i);
  }
}
namespace {
// Parts of the program's image that kernels may read: constants, virtual tables.
bool (*machine_allows)(std::uintptr_t, std::size_t, access_kind) = nullptr;
bool image_allows(std::uintptr_t address, std::size_t bytes, access_kind kind) {
  struct range {
    std::uintptr_t low, high;
  };
  static const std::vector<range> constant = [] {
    std::vector<range> all;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& h = info->dlpi_phdr[i];
            if ((h.p_type == PT_LOAD && (h.p_flags & PF_W) == 0) || h.p_type == PT_GNU_RELRO)
              static_cast<std::vector<range>*>(to)->push_back(
                  {info->dlpi_addr + h.p_vaddr, info->dlpi_addr + h.p_vaddr + h.p_memsz});
          }
          return 0;
        },
        &all);
    return all;
  }();
  if (kind == access_kind::read && std::any_of(constant.begin(), constant.end(), [&](const range& r) {
        return address >= r.low && address + bytes <= r.high;
      }))
    return true;
  Dl_info info{};
  const bool of_program = dladdr(reinterpret_cast<void*>(address), &info) != 0 &&
                          reinterpret_cast<std::uintptr_t>(info.dli_fbase) == checker_detail::code_base;
  return !of_program && machine_allows(address, bytes, kind);
}
void touched(const void* p, std::size_t bytes, access_kind kind, const void* code, scope reach) {
  model& m = followed();
  if (!of_device(p, bytes)) {
    if (ordinary_memory()->watches() && on_host_thread())
      ordinary_memory()->touched(p, bytes, kind, code, reach == scope::system);
    return;
  }
  if (is_shared_with_host(p) && host_function_thread() != nullptr)
    return m.host_function_touch(*host_function_thread(), p, bytes, kind, code);
  if (is_shared_with_host(p)) return m.host_touch(p, bytes, kind, code, reach);
  finding f;
  f.kind = finding_kind::outside_memory;
  f.access.action = fmt::format("{} by the host", kind == access_kind::read ? "read" : "write");
  f.memory = is_variable(p) ? "the device's variable " + variable_name(p) : "device memory";
  f.missing = is_variable(p) ? sentence::copy_to_variable : sentence::copy_to_device;
  m.findings.note(std::move(f), m.places.number_of_code(code));
  const code_place at = line_at(code);
  end_run_at(fmt::format("{}:{}", checker_detail::shown(at.file), at.line),
             std::make_exception_ptr(checker_detail::stopped("the host left its memory")));
}

}  // namespace
void follow_memory(checker_detail::model& m) {
  machine_allows = m.host.allows_more;
  m.host.allows_more = image_allows;
  m.host_touches = touched;
  m.findings.variable_name = variable_name;
  m.memory.shared_by_variables = true;
}

}  // namespace antiphase::plain

using namespace antiphase;

extern "C" {
// Called before the program's variables are initialised.
void antiphase_plain_loaded(char** sections, checker_detail::address_range* unhooked_range) {
  std::copy_n(sections, std::size(plain::owned.sections), plain::owned.sections);
  checker_detail::model& m = plain::followed();
  const auto [low, high] = std::minmax_element(sections, sections + std::size(plain::owned.sections));
  m.memory.follow_variables(reinterpret_cast<std::uintptr_t>(*low), reinterpret_cast<std::uintptr_t>(*high));
  m.constants = {reinterpret_cast<std::uintptr_t>(sections[2]),
                 static_cast<std::uintptr_t>(sections[3] - sections[2])};
  Dl_info info{};
  if (dladdr(unhooked_range, &info) != 0)
    checker_detail::code_base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  m.host.unhooked_range = unhooked_range;
  m.host.resume_host(m.memory);
  checker_detail::active = &m;
}
}  // extern "C"
