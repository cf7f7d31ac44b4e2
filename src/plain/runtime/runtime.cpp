// SPDX-License-Identifier: Apache-2.0
// CUDA's runtime on the checker's executor, called by the stand-in headers. A process has one program, with
// one host thread.
#include "runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <malloc.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

#include <antiphase/plain/cooperative_groups.h>
#include <antiphase/plain/libraries.h>
#include <algorithm>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <array>
#include <atomic>
#include <bit>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <typeinfo>

#include "graphs.hpp"
#include "host_work.hpp"
#include "src/checker/order/missing.hpp"
#include "src/checker/order/places.hpp"
#include "src/checker/runs/executor.hpp"
#include "src/checker/runs/process.hpp"
#include "src/executor/cpu/worker.hpp"
#include "undefined_values.hpp"

namespace antiphase::plain {
namespace {

using checker_detail::access_kind;
using checker_detail::atomic_kind;
using checker_detail::model;

constexpr std::uint64_t portable_cluster = 8;     // blocks that every GPU with clusters has together
constexpr std::size_t gap = 1024;                 // unallocated bytes between shared variables, or more
constexpr std::size_t static_shared = 48 * 1024;  // of a kernel that did not ask for more
constexpr std::size_t most_shared = 227 * 1024, shared_of_block = 1024;  // the latter for each besides
constexpr int most_multiprocessors = 144;  // of a GPU of compute capability 9.0, of which no product has more
// As many as the variable has: an index that leaves an array meets nobody's memory, and not the next array.
std::size_t gap_beside(std::size_t variable) { return std::clamp(variable, gap, static_shared); }
// Room for __shared__ variables: one kernel uses only some of the program's.
constexpr std::size_t shared_room = 3 * static_shared + 64 * gap;
// what the device reports, for programs that take all of it; allocations beyond it work
constexpr std::size_t device_memory = std::size_t{1} << 30;

struct shared_size {
  std::size_t bytes, align;
  const char* name = "";
};
std::vector<shared_size>& shared_sizes() {
  static std::vector<shared_size> all;
  return all;
}

std::map<cudaLimit, std::size_t> usual_limits() {
  return {{cudaLimitStackSize, 1024},
          {cudaLimitPrintfFifoSize, std::size_t{1} << 20},
          {cudaLimitMallocHeapSize, std::size_t{8} << 20}};
}

struct allocation {
  std::size_t bytes = 0;
  memory_kind kind = memory_kind::device;
  place where;
  bool of_library = false;  // an object frees it, if only behind main
};
// Lanes of a warp gathered at one place by lanes_here(); `open`: more may join.
struct gathered {
  checker_detail::block_number block = 0;
  unsigned lanes = 0;
  bool open = true;
};
struct running {
  std::map<std::tuple<const void*, int, unsigned, unsigned>, std::shared_ptr<gathered>> gathering;
  // the latest mask of __activemask(), by thread of the launch; and where the first one was taken
  std::map<const cpu_detail::thread_state*, std::pair<unsigned, place>> active_masks;
  place first_active_mask;
  const executor* on = nullptr;
  model* m = nullptr;
  std::size_t least_alignment = 1;  // of shared variables
  pthread_t host{};                 // the thread that runs main
  char* sections[6] = {};           // of variables: device, constant, managed; [from, to) each
  std::uint64_t most_threads = 0;
  dim3 grid, block, cluster;  // of the launch under way
  int asked_of = -1;          // index in the block of the thread that `thread` belongs to
  uint3 thread{};
  bool together = false;
  // The last launch, and the limit of its static and dynamic shared memory together.
  const char* kernel = "";
  place launched_at;
  std::size_t most_together = 0;
  std::size_t dynamic = 0, placed = 0, gap_behind = 0, room = 0;
  std::vector<std::size_t> offsets;  // of shared variables, by number; 0: not declared yet
  std::map<void*, allocation> allocations;
  std::map<cudaLimit, std::size_t> limits = usual_limits();
  std::map<const void*, std::size_t> heap;  // bytes, of malloc() in kernels
  std::size_t heap_used = 0;
  std::map<const void*, int> allowed;    // dynamic shared memory, by kernel
  std::set<const void*> large_clusters;  // kernels that may have them
  std::set<cudaStream_t> destroyed;
  std::map<std::size_t, std::size_t> copied_parameters;  // bytes, by place on the stack
  std::map<const void*, typed_launch> typed;             // kernels whose addresses have been taken
  // The arguments of the launch, and what of its __restrict__ parameters is looked at, see restricted().
  const void* arguments = nullptr;
  std::size_t argument_bytes = 0;
  std::set<int> restricted;  // those that a thread has come to
  std::map<std::pair<unsigned, int>, int>
      parted;  // how often processes have parted there, by line of the launch
  struct {
    int parameter = -1;
    std::uintptr_t start = 0, copy = 0;
    std::size_t bytes = 0;
  } moved;                               // in such a process: the parameter that points into a copy
  recorded_launch* recording = nullptr;  // takes the next launch
  checker_detail::thread_model* host_function = nullptr;                   // under way
  std::optional<host_work> ordinary;                                       // memory of the host
  std::set<std::pair<const void*, checker_detail::block_number>> queries;  // and the next block
  bool overlapped = false;                                                 // a launch may have
  cudaError_t error = cudaSuccess;
  bool begun = false;    // the first launch has come: the schedule matters
  bool sampled = false;  // some blocks did not run
  bool misled = false;   // and this launch comes after one of those
  std::uint64_t launches = 0, most_accesses = 0;
  std::map<std::string, int> launched;  // number of launches, by kernel
  undefined_values undefined;
  checker_detail::place_number called_at = 0;  // where the library's operation under way was called
  std::uintptr_t streams = 0;
  std::jmp_buf end;
  std::exception_ptr thrown;
  int exit_code = 0;
  std::string differs;  // the first result that a driver's holds() did not expect
};
running now;

// Leaves the program's main, by longjmp.
[[noreturn]] void end_run(std::exception_ptr why) {
  now.undefined.launch_failed();
  now.thrown = std::move(why);
  std::longjmp(now.end, 1);
}
[[noreturn]] void end_run(const std::string& why) {
  end_run(std::make_exception_ptr(std::runtime_error(why)));
}

bool on_host_thread() { return pthread_equal(pthread_self(), now.host) != 0; }
// Line of the program at an address of its code.
code_place line_at(const void* code) {
  const std::vector<code_place> lines = checker_detail::lines_of(code);
  const auto own = std::ranges::find_if_not(lines, checker_detail::is_machinery);
  return own != lines.end() ? *own : code_place{};
}
// Memory that the program has allocated on the host, for copies that take more than that.
class allocated_by_host {
 public:
  void add(const void* p, std::size_t bytes) {
    if (p == nullptr || now.m == nullptr) return;
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
  static auto& all = *new allocated_by_host;  // programs free behind main, too
  return all;
}
// Refuses a call of CUDA by another thread of the host than the one that runs main.
void only_by_main(const char* what, place where = {}, const void* code = __builtin_return_address(0)) {
  if (now.m == nullptr || on_host_thread()) return;
  const code_place at =
      where.line() != 0 ? code_place{where.file_name(), static_cast<int>(where.line())} : line_at(code);
  checker_detail::refuse_run(fmt::format(
      "{}:{}: {} by a second thread of the host: antiphase check follows what the thread of main() "
      "has CUDA do. Let that thread make the calls, on streams of their own",
      checker_detail::shown(at.file), at.line, what));
}

bool within(const void* p, char* const* section) { return p >= section[0] && p < section[1]; }
bool is_variable(const void* p) {
  return within(p, now.sections) || within(p, now.sections + 2) || within(p, now.sections + 4);
}
// Device memory, or host memory that has been allocated or registered as pinned.
bool of_device(const void* p, std::size_t bytes = 1) {
  return reinterpret_cast<std::uintptr_t>(p) - now.m->memory.lowest() < now.m->memory.size() ||
         is_variable(p) || now.m->memory.follows(p, bytes);
}
// Memory that both host and kernels reach: managed, or pinned.
bool is_shared_with_host(const void* p) {
  if (within(p, now.sections + 4) || now.m->memory.host_range_at(p) != nullptr) return true;
  const auto after = now.allocations.upper_bound(const_cast<void*>(p));
  if (after == now.allocations.begin()) return false;
  const auto& [start, a] = *std::prev(after);
  return a.kind != memory_kind::device && p < static_cast<char*>(start) + a.bytes + 256;
}
bool only_device(const void* p) { return of_device(p) && !is_shared_with_host(p); }
std::string variable_name(const void* p) {
  Dl_info info{};
  if (std::string name = checker_detail::symbol_at(p); !name.empty()) return name;
  return dladdr(p, &info) != 0 && info.dli_sname != nullptr ? info.dli_sname : "without a name";
}

// Name of the shared variable at an offset of the block's shared memory, or of one beside it.
std::string shared_place(std::size_t offset) {
  const auto text = [&](std::string_view name, std::size_t start, std::size_t bytes) {
    return offset - start < bytes
               ? fmt::format("{}, byte {} of {} in shared memory", name, offset - start, bytes)
               : fmt::format("{} bytes past the end of {}, {} bytes of shared memory", offset - start - bytes,
                             name, bytes);
  };
  std::string found = text("the launch's dynamic memory", 0, now.dynamic);
  std::size_t first = 0, end = now.dynamic, next = 0;  // of the one before, and of the one behind
  const char* next_name = "";
  for (std::size_t i = 0; i < now.offsets.size(); ++i) {
    const std::size_t start = now.offsets[i];
    const shared_size& s = shared_sizes()[i];
    if (start == 0) continue;
    if (start <= offset && start >= first)
      found = text(s.name, start, s.bytes), first = start, end = start + s.bytes;
    if (offset < start && (next == 0 || start < next)) next = start, next_name = s.name;
  }
  if (next != 0 && offset >= end && next - offset < offset - end)
    return fmt::format("{} bytes before {} in shared memory", next - offset, next_name);
  return found;
}

// Parts of the program's image that kernels may read: constants, virtual tables.
bool image_allows(std::uintptr_t address, std::size_t bytes, access_kind kind);
bool (*machine_allows)(std::uintptr_t, std::size_t, access_kind) = nullptr;

void touched(const void* p, std::size_t bytes, access_kind kind, const void* code, scope reach) {
  model& m = *now.m;
  if (!of_device(p, bytes)) {
    if (now.ordinary->watches() && on_host_thread())
      now.ordinary->touched(p, bytes, kind, code, reach == scope::system);
    return;
  }
  if (is_shared_with_host(p) && now.host_function != nullptr)
    return m.host_function_touch(*now.host_function, p, bytes, kind, code);
  if (is_shared_with_host(p)) return m.host_touch(p, bytes, kind, code, reach);
  finding f;
  f.kind = finding_kind::outside_memory;
  f.access.action = fmt::format("{} by the host", kind == access_kind::read ? "read" : "write");
  f.memory = is_variable(p) ? "the device's variable " + variable_name(p) : "device memory";
  f.missing = is_variable(p) ? sentence::copy_to_variable : sentence::copy_to_device;
  m.findings.note(std::move(f), m.places.number_of_code(code));
  end_run(std::make_exception_ptr(checker_detail::stopped("the host left its memory")));
}

bool is_gone(cudaStream_t on, const char* what, place where);
cudaError_t fails(cudaError_t e) {
  if (e != cudaSuccess) now.error = e;
  return e;
}

void refuse_launch(const char* name, place where, std::string what, std::string instead, cudaError_t e) {
  now.m->findings.note(finding_kind::bad_launch, name, now.m->places.number_of(where), std::move(what), "",
                       std::move(instead));
  fails(e);
}

std::vector<const char*>& notes() {
  static std::vector<const char*> all;
  return all;
}
std::map<std::string, dim3, std::less<>>& clusters() {
  static std::map<std::string, dim3, std::less<>> all;
  return all;
}
dim3* asked_cluster = nullptr;  // if a kernel's body is called for it
// Of a launch's attribute, or what __cluster_dims__ says; a template's name has its arguments behind it.
dim3 cluster_of(std::string_view name, const config& c, void (*body)(const void*), const void* params) {
  if (c.cluster[0] != 0) return {c.cluster[0], c.cluster[1], c.cluster[2]};
  name = name.substr(0, name.find('<'));
  name.remove_prefix(name.rfind(':') + 1);  // npos: nothing
  const auto at = clusters().find(name);
  dim3 size = at == clusters().end() ? dim3() : at->second;
  if (size.x == 0) {
    asked_cluster = &size;
    body(params);
    asked_cluster = nullptr;
  }
  return size;
}
// Blocks of a grid, those of a cluster one after the other.
std::vector<std::uint64_t> by_clusters(dim3 grid, dim3 cluster) {
  std::vector<std::uint64_t> all;
  const auto each = [](dim3 of, auto f) {
    for (unsigned z = 0; z < of.z; ++z)
      for (unsigned y = 0; y < of.y; ++y)
        for (unsigned x = 0; x < of.x; ++x) f(x, y, z);
  };
  each({grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z}, [&](unsigned x, unsigned y, unsigned z) {
    each(cluster, [&](unsigned in_x, unsigned in_y, unsigned in_z) {
      const std::uint64_t at_z = z * cluster.z + in_z, at_y = y * cluster.y + in_y;
      all.push_back((at_z * grid.y + at_y) * grid.x + x * cluster.x + in_x);
    });
  });
  return all;
}

std::size_t bytes_of_shared_variables() {  // those that the kernel has declared so far
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < now.offsets.size(); ++i)
    bytes += now.offsets[i] != 0 ? shared_sizes()[i].bytes : 0;
  return bytes;
}
void judge_shared_variables() {
  const std::size_t bytes = bytes_of_shared_variables();
  if (bytes > static_shared)
    refuse_launch(now.kernel, now.launched_at, fmt::format("{} bytes of __shared__ variables", bytes),
                  fmt::format("at most {}: more must be extern __shared__", static_shared), cudaSuccess);
  else if (bytes > 0 && bytes + now.dynamic > now.most_together)
    refuse_launch(
        now.kernel, now.launched_at,
        fmt::format("{} bytes of __shared__ variables and {} of dynamic shared memory", bytes, now.dynamic),
        fmt::format("at most {} together; cudaFuncSetAttribute(kernel, "
                    "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows "
                    "up to {}",
                    now.most_together, most_shared),
        cudaSuccess);
}

// True if some GPU of the kind has all blocks of a cooperative launch under way at once.
bool holds_together(const char* name, std::uint64_t blocks, int threads, std::size_t shared, place where) {
  const int each = blocks_together(threads, shared);
  if (each == 0 || blocks <= static_cast<std::uint64_t>(most_multiprocessors * each)) return true;
  refuse_launch(
      name, where,
      fmt::format("a cooperative launch of {} blocks, of {} threads and {} bytes of shared memory", blocks,
                  threads, shared),
      fmt::format("at most {}: {} a multiprocessor, of which GPUs of compute capability 9.0 have up to {}",
                  most_multiprocessors * each, each, most_multiprocessors),
      cudaErrorCooperativeLaunchTooLarge);
  return false;
}

bool fits(const char* name, const config& c, const void* entry, place where) {
  const auto refuse = [&](const std::string& what, const std::string& instead) {
    refuse_launch(name, where, what, instead, cudaErrorInvalidConfiguration);
    return false;
  };
  const std::uint64_t threads = std::uint64_t{c.block.x} * c.block.y * c.block.z,
                      blocks = std::uint64_t{c.grid.x} * c.grid.y * c.grid.z;
  if (threads == 0 || blocks == 0)
    return refuse(fmt::format("a launch of {} x {} x {} blocks of {} x {} x {} threads", c.grid.x, c.grid.y,
                              c.grid.z, c.block.x, c.block.y, c.block.z),
                  "at least one block, of at least one thread");
  if (threads > 1024 || c.block.z > 64)
    return refuse(fmt::format("a launch of {} x {} x {} threads a block", c.block.x, c.block.y, c.block.z),
                  "at most 1024 threads a block, 64 of them along z");
  if (c.grid.x > 0x7FFFFFFF || c.grid.y > 65535 || c.grid.z > 65535)
    return refuse(fmt::format("a launch of {} x {} x {} blocks", c.grid.x, c.grid.y, c.grid.z),
                  "at most 65535 blocks along y and z");
  if (const dim3 of = now.cluster; of.x != 1 || of.y != 1 || of.z != 1) {
    const std::uint64_t size = std::uint64_t{of.x} * of.y * of.z;
    if (size < 1 || size > 16)
      return refuse(fmt::format("a launch in clusters of {} x {} x {} blocks", of.x, of.y, of.z),
                    "1 to 16 blocks in a cluster");
    if (const auto& large = now.large_clusters;
        size > portable_cluster && (entry != nullptr ? !large.contains(entry) : large.empty()))
      return refuse(fmt::format("a launch in clusters of {} blocks", size),
                    fmt::format("at most {}; cudaFuncSetAttribute(kernel, "
                                "cudaFuncAttributeNonPortableClusterSizeAllowed, 1) allows 16",
                                portable_cluster));
    if (c.grid.x % of.x != 0 || c.grid.y % of.y != 0 || c.grid.z % of.z != 0)
      return refuse(fmt::format("a launch of {} x {} x {} blocks in clusters of {} x {} x {}", c.grid.x,
                                c.grid.y, c.grid.z, of.x, of.y, of.z),
                    "a multiple of the cluster's blocks along each dimension");
  }
  if (c.together && !holds_together(name, blocks, static_cast<int>(threads), c.shared, where)) return false;
  const auto allowed = now.allowed.find(entry);
  const std::size_t most =
      allowed != now.allowed.end()
          ? std::max<std::size_t>(static_cast<std::size_t>(allowed->second), static_shared)
      : entry == nullptr && !now.allowed.empty() ? most_shared
                                                 : static_shared;
  if (c.shared > most)
    return refuse(fmt::format("a launch with {} bytes of dynamic shared memory", c.shared),
                  fmt::format("at most {}; cudaFuncSetAttribute(kernel, "
                              "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) allows up to {}",
                              most, most_shared));
  now.most_together = allowed != now.allowed.end() || most > static_shared ? most_shared : static_shared;
  return true;
}

// The first and the last block, and others drawn anew for each run and launch.
std::vector<std::uint64_t> chosen_blocks(std::uint64_t blocks, std::uint64_t most) {
  std::vector<std::uint64_t> some{0, blocks - 1};
  std::set<std::uint64_t> known(some.begin(), some.end());
  std::mt19937_64 draw(now.launches + 977 * checker_detail::seed_of(*now.on));
  while (some.size() < most)
    if (const std::uint64_t b = draw() % blocks; known.insert(b).second) some.push_back(b);
  return some;
}

void watch_for_signals();

// Called before the first event that depends on the schedule.
void begin_schedule() {
  if (std::exchange(now.begun, true)) return;
  if (now.m->schedule_begins) now.m->schedule_begins();
  watch_for_signals();  // fork does not pass timers on to the process of a run
}

// From here on results, and kernels that wait for others, are not judged.
void leave_blocks_out() {
  if (!std::exchange(now.sampled, true)) {
    checker_detail::forgive_crashes();
    follow_stacks();
  }
  now.m->history.forgive_unwritten();
}

// True for a deadlock of threads that poll memory which the host could set while a kernel runs.
bool waits_for_host(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const cpu_detail::kernel_fault& f) {
    return std::ranges::any_of(f.polled, is_shared_with_host);
  } catch (...) {
    return false;
  }
}

std::string said_by(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// True for faults that missing blocks may have caused.
bool may_be_misled(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const cpu_detail::kernel_fault& f) {
    return f.kind == cpu_detail::fault::deadlock || (f.kind == cpu_detail::fault::gave_up && now.misled);
  } catch (...) {
    return false;
  }
}

// Host functions may not call CUDA.
bool in_host_function(const char* what, place where) {
  if (now.host_function == nullptr) return false;
  misused(where, fmt::format("{} in a host function on a stream", what),
          "the call in main, or in an order of the stream: a host function may not call CUDA",
          cudaErrorNotPermitted);
  return true;
}
void record_begun(const config& c) {
  const auto k = now.m->launches.last_kernel(c.stream);
  for (cudaEvent_t e : {c.lets_begin, c.begun}) {
    if (e == nullptr || k == nullptr) continue;
    e->after = checker_detail::launch_order::begun(k);
    e->of = e == c.begun ? nullptr : c.lets_begin_at_once ? checker_detail::launch_order::at_once(k) : k;
    e->capture = nullptr;
  }
}

}  // namespace

// device
// -----------------------------------------------------------------------------------------------------------

bool on_device() noexcept {
  return now.m != nullptr && now.m->current() != nullptr && machine::current != nullptr;
}
uint3 thread_idx() noexcept {
  const int number = machine::current->index;
  if (number != now.asked_of) {  // cached, as checked kernels ask again in every loop
    const auto i = static_cast<unsigned>(number);
    now.thread = {i % now.block.x, i / now.block.x % now.block.y, i / now.block.x / now.block.y};
    now.asked_of = number;
  }
  return now.thread;
}
uint3 block_idx() noexcept {
  const extent3 b = machine::current->block->index;
  return {b.x, b.y, b.z};
}
dim3 block_dim() noexcept { return now.block; }
dim3 grid_dim() noexcept { return now.grid; }
dim3 cluster_dim() noexcept { return now.cluster; }
int lane() noexcept { return machine::current->index % 32; }

void leaves(unsigned from, unsigned behind, place where) noexcept {
  cpu_detail::here().leaves = {where, from, behind};
}
rounds::rounds() noexcept {
  if (on_device()) own_.around = std::exchange(cpu_detail::here().loop, &own_);
}
void rounds::next() noexcept { ++own_.number; }
rounds::~rounds() {  // also of a thread that is ended from outside
  if (on_device()) cpu_detail::here().loop = own_.around;
}
void enters_arm(int number) noexcept { cpu_detail::here().arms |= 1u << number; }

int register_cluster(const char* kernel, int x, int y, int z) {
  clusters().insert_or_assign(kernel, dim3(x, y, z));
  return 0;
}
void keeps_bounds(long most) {
  const int threads = machine::current->block->threads;
  if (most <= 0 || threads <= most || machine::current->index != 0) return;
  refuse_launch(now.kernel, now.launched_at, fmt::format("a launch of {} threads a block", threads),
                fmt::format("at most {}, as its __launch_bounds__ says", most), cudaErrorInvalidValue);
}
namespace {
// The allocation that holds an address; its size is 0 if there is none.
std::pair<std::uintptr_t, std::size_t> allocation_at(std::uintptr_t p) {
  const auto after = now.allocations.upper_bound(reinterpret_cast<void*>(p));  // NOLINT: an address
  if (after == now.allocations.begin()) return {};
  const auto& [start, a] = *std::prev(after);
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  return p - first < a.bytes ? std::pair(first, a.bytes) : std::pair(first, std::size_t{0});
}
int arguments_within(std::uintptr_t start, std::size_t bytes) {
  int count = 0;
  for (std::size_t at = 0; at + sizeof start <= now.argument_bytes; at += sizeof start) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(now.arguments) + at, sizeof word);
    count += word - start < bytes;
  }
  return count;
}
}  // namespace
const void* restricted(const void* p, int parameter) {
  constexpr std::size_t most = std::size_t{1} << 26;
  constexpr int often = 3;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (now.moved.parameter == parameter && address - now.moved.start < now.moved.bytes)
    return static_cast<const char*>(p) + (now.moved.copy - now.moved.start);
  if (!now.restricted.insert(parameter).second || now.undefined.is_other()) return p;
  const auto [start, bytes] = allocation_at(address);
  if (bytes == 0 || bytes > most || arguments_within(start, bytes) < 2 || now.sampled ||
      now.parted[{now.launched_at.line(), parameter}]++ == often)
    return p;
  finding f;
  f.kind = finding_kind::race;
  f.access.action = "a launch of which a __restrict__ parameter reads what another pointer writes";
  f.missing = sentence::unaliased_hoisted;
  finding in_place = f;
  in_place.missing = sentence::unaliased;
  in_place.in_practice = sentence::gpu_restrict;
  if (!now.undefined.parts(now.m->places.number_of(now.launched_at), f, in_place)) return p;
  void* const copy = now.on->allocate(bytes);
  std::memcpy(copy, reinterpret_cast<const void*>(start), bytes);  // NOLINT: an address
  now.m->memory.set(copy, bytes, checker_detail::cell_state::written);
  now.moved = {parameter, start, reinterpret_cast<std::uintptr_t>(copy), bytes};
  return restricted(p, parameter);
}
namespace {
// From the end of the thread's stack: the same for all threads of a launch.
std::size_t place_on_stack(const void* p) {
  const checker_detail::address_range& stack = now.m->host.stack;
  return stack.low + stack.size - reinterpret_cast<std::uintptr_t>(p);
}
}  // namespace
void note_copied_parameter(const void* p, std::size_t bytes) {
  if (machine::current->index == 0) now.copied_parameters[place_on_stack(p)] = bytes;
}
void judge_map(const void* map, place where) {
  const std::size_t at = place_on_stack(map);
  const auto in = now.copied_parameters.lower_bound(at);
  if (in != now.copied_parameters.end() && at > in->first - in->second)
    now.m->note_here(finding_kind::bad_copy, now.m->places.number_of(where),
                     "a tensor map in a parameter that is not __grid_constant__", "",
                     explanation(sentence::argument,
                                 {"const __grid_constant__ before the parameter: without it each thread has "
                                  "a copy in local memory, where the copy engine cannot read"}));
}
bool tells_cluster(int x, int y, int z) noexcept {
  if (asked_cluster != nullptr) *asked_cluster = dim3(x, y, z);
  return asked_cluster != nullptr;
}
void refused(const char* why) {
  now.m->set_current(nullptr);
  end_run(std::make_exception_ptr(bad_source(why)));
}
int add_note(const char* text) {
  notes().push_back(text);
  return 0;
}
int register_shared(std::size_t bytes, std::size_t align) {
  shared_sizes().push_back({bytes, align, ""});
  return static_cast<int>(shared_sizes().size()) - 1;
}
int align_shared(std::size_t least) {
  now.least_alignment = least;
  return 0;
}
void* shared_memory(const int* number, const char* name) noexcept {
  std::size_t& offset = now.offsets[static_cast<std::size_t>(*number)];
  shared_size& s = shared_sizes()[static_cast<std::size_t>(*number)];
  if (offset == 0) {
    s.name = name;
    const std::size_t align = std::max(s.align, now.least_alignment), left = now.room - now.placed,
                      needed = s.bytes + align;
    const std::size_t beside =
        std::max(gap_beside(s.bytes), std::exchange(now.gap_behind, gap_beside(s.bytes)));
    // Variables lie as aligned as without gaps: what follows 16 bytes takes vectors of 16.
    constexpr std::size_t whole = 256;
    const std::size_t between = std::min(beside, (left - std::min(left, needed)) / 2) / whole * whole;
    offset = (now.placed + between + align - 1) / align * align;
    if (left < needed) {
      judge_shared_variables();
      now.m->history.stop("more __shared__ variables than there is room for");
    }
    now.placed = offset + s.bytes;
  }
  unsigned char* const p = machine::current->block->shared + offset;
  now.m->memory.begin_shared_variable(p, s.bytes);
  return p;
}
void* dynamic_shared_memory(std::size_t) {
  unsigned char* const p = machine::current->block->shared;
  now.m->memory.begin_shared_variable(p, now.dynamic);
  return p;
}

void fence(scope reach) {
  if (!on_device()) {
    if (now.m != nullptr && on_host_thread()) now.m->host_fence(checker_detail::order::total);
    return std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  machine::next_scope = reach;
  now.m->fence(checker_detail::order::total);
}
void fence(scope reach, ordering how) {
  const auto as = static_cast<checker_detail::order>(how);
  if (!on_device()) {
    if (now.m != nullptr && on_host_thread()) now.m->host_fence(as);
    return std::atomic_thread_fence(std::memory_order_acq_rel);
  }
  machine::next_scope = reach;
  now.m->fence(as);
}
void* in_block(void* mine, int rank, place where) {
  auto* const at = static_cast<unsigned char*>(mine);
  unsigned char* const own = machine::current->block->shared;
  const std::ptrdiff_t away = machine::to_shared_of(mine, rank, where);
  const auto offset = static_cast<std::size_t>(at - own);
  // A variable also exists in a block that has not declared it yet.
  for (std::size_t i = 0; i < now.offsets.size(); ++i)
    if (const std::size_t first = now.offsets[i];
        first != 0 && offset >= first && offset < first + shared_sizes()[i].bytes)
      now.m->memory.begin_shared_variable(own + away + first, shared_sizes()[i].bytes);
  if (offset < now.dynamic) now.m->memory.begin_shared_variable(own + away, now.dynamic);
  return at + away;
}
int block_of(const void* p, place where) {
  const machine::block_view& block = *machine::current->block;
  const auto* const at = static_cast<const unsigned char*>(p);
  for (int rank = 0; rank < block.cluster_extent; ++rank) {
    const auto* const first = block.shared + machine::to_shared_of(block.shared, rank, where);
    if (at >= first && at < first + block.shared_bytes) return rank;
  }
  machine::trap("an address of shared::cluster that is in no block's shared memory", where);
  return 0;
}
void read_only(void* to, const void* from, std::size_t bytes, const char* by_cache) {
  if (on_device()) now.m->read_constant(from, bytes, __builtin_return_address(0), by_cache);
  std::memcpy(to, from, bytes);
}
void discard(volatile void* p, std::size_t bytes) {
  now.m->discard(const_cast<const void*>(p), bytes, __builtin_return_address(0));
}
void judge_whole_warp(const char* what, place where) {
  if (cpu_detail::here().exchanged_by == ~0u) return;
  now.m->note_here(
      finding_kind::barrier_misuse, now.m->places.number_of(__builtin_return_address(0), where),
      fmt::format("{} by {} lanes of the warp", what, std::popcount(cpu_detail::here().exchanged_by)), "",
      sentence::whole_warp);
}
unsigned char* shared_base() noexcept { return machine::current->block->shared; }
unsigned vote(unsigned mask, bool predicate, place where) {
  const unsigned char mine = predicate;
  const machine::exchange_slot* all = machine::warp_exchange(mask, &mine, 1, where);
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane)
    // lanes that did not take part have another byte there
    if ((mask >> lane & 1u) != 0 && all[lane].bytes[0] == 1) votes |= 1u << lane;
  return votes;
}
namespace {
unsigned lanes_at(place where) {
  cpu_detail::thread_state& self = cpu_detail::here();
  const unsigned mine = 1u << self.index % 32;
  if (checker_detail::seed_of(*now.on) % 2 != 0) return mine;
  auto& gathering = now.gathering[{self.home, self.index / 32, where.line(), where.column()}];
  const bool first = gathering == nullptr || !gathering->open || gathering->block != now.m->current()->block;
  if (first) gathering = std::make_shared<gathered>(gathered{.block = now.m->current()->block});
  const std::shared_ptr<gathered> group = gathering;
  group->lanes |= mine;
  for (int turns = 0; group->open; ++turns) {
    if (first && turns == 2)
      group->open = false;
    else
      machine::yield(where);
  }
  machine::polled();
  return group->lanes;
}
std::string name_of(place where) {
  return fmt::format("{}:{}", checker_detail::shown(where.file_name()), where.line());
}
// Where the mask came from, if it is the latest that __activemask() gave to this thread.
std::string source_of(unsigned mask) {
  const auto at = now.active_masks.find(&cpu_detail::here());
  return at != now.active_masks.end() && at->second.first == mask ? name_of(at->second.second) : "";
}
}  // namespace
unsigned lanes_here(place where) {
  const unsigned mask = lanes_at(where);
  if (now.active_masks.empty()) now.first_active_mask = where;
  now.active_masks.insert_or_assign(&cpu_detail::here(), std::pair(mask, where));
  return mask;
}
void uses_storage(const void* storage, bool by_shuffles, place where) {
  now.m->write_pedantic(storage, 1, now.m->places.number_of(__builtin_return_address(0), where),
                        "use of TempStorage", by_shuffles ? sentence::gpu_cub_storage : sentence::none);
}
void exchange(unsigned mask, void* value, int bytes, int from, place where) {
  auto* const at = static_cast<unsigned char*>(value);
  const void* const code = __builtin_return_address(0);
  for (int done = 0; done < bytes; done += machine::exchange_bytes) {
    const int some = std::min(bytes - done, machine::exchange_bytes);
    const machine::exchange_slot* all = machine::warp_exchange(mask, at + done, some, where);
    cpu_detail::thread_state& self = cpu_detail::here();
    const checker_detail::place_number at_code = now.m->places.number_of(code, where);
    if ((self.exchanged_by >> from & 1u) != 0)
      std::memcpy(at + done, all[from].bytes, static_cast<std::size_t>(some));
    else
      now.undefined.bring(
          at_code, at + done, static_cast<std::size_t>(some), undefined_values::extreme(), [&] {
            finding f;
            f.kind = finding_kind::barrier_misuse;
            f.access = now.m->side_here(at_code,
                                        "a shuffle from a lane that does not take part, whose value is used");
            f.missing = sentence::shuffle_lane;
            if (const std::string mask_of = source_of(mask); !mask_of.empty())
              f.remarks.push_back(checker_detail::explain(sentence::active_mask, mask_of));
            return f;
          });
  }
}
namespace {
void require_aligned(const void* p, std::size_t bytes, const char* what, const void* code) {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(p) % bytes;
  if (beyond == 0) return;
  model& m = *now.m;
  m.note_here(finding_kind::misaligned, m.places.number_of_code(code),
              fmt::format("{} of {} bytes", what, bytes),
              fmt::format("an address that is {} more than a multiple of {}", beyond, bytes),
              checker_detail::explain(sentence::aligned, bytes));
  m.history.stop("a misaligned access");
}
std::optional<std::uint64_t> found_by_host(const void* p, std::size_t bytes) {
  if (!on_host_thread()) return {};
  return now.ordinary->old_value(p, bytes, checker_detail::seed_of(*now.on) % 2 == 0);
}
// An atomic update by the host, safe against its own other threads.
template <class Word> std::uint64_t update_on_host(void* p,
                                                   std::uint64_t (*change)(std::uint64_t, const void*),
                                                   const void* with, bool reads) {
  auto* const word = static_cast<Word*>(p);
  Word before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!reads && !__atomic_compare_exchange_n(word, &before, static_cast<Word>(change(before, with)), false,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return before;
}
std::uint64_t update_on_host(void* p, int bytes, ordering how,
                             std::uint64_t (*change)(std::uint64_t, const void*), const void* with,
                             unchanged same, std::uint64_t expected, ordering if_not, const void* code) {
  const bool reads = same == unchanged::only_read;
  std::uint64_t there = 0;
  std::memcpy(&there, p, static_cast<std::size_t>(bytes));
  if (same == unchanged::is_read && there != expected && change(there, with) == there) how = if_not;
  if (reads && now.m != nullptr)
    if (const auto old = found_by_host(p, static_cast<std::size_t>(bytes)); old) return *old;
  if (now.m != nullptr && on_host_thread())
    now.m->host_atomic(p, static_cast<std::size_t>(bytes),
                       reads                         ? atomic_kind::load
                       : same == unchanged::not_read ? atomic_kind::store
                                                     : atomic_kind::update,
                       static_cast<checker_detail::order>(how), code);
  switch (bytes) {
    case 1: return update_on_host<std::uint8_t>(p, change, with, reads);
    case 2: return update_on_host<std::uint16_t>(p, change, with, reads);
    case 4: return update_on_host<std::uint32_t>(p, change, with, reads);
    default: return update_on_host<std::uint64_t>(p, change, with, reads);
  }
}
}  // namespace
namespace {
// A compare-and-swap does not tell that a word has changed and come back (ABA), and few schedules show it. So
// under every other seed some threads are kept before one that would succeed, until another thread brings
// the word back, or for a number of turns. Then the thread goes on alone for a while.
struct kept_thread {
  const void* at = nullptr;  // the word; null: no thread is kept
  std::uint64_t expected = 0;
  const cpu_detail::thread_state* alone = nullptr;
  int steps_alone = 0;
  int left = 0;  // times that one may still be kept
  std::uint32_t draw = 0;
  bool back = false;
  // Likewise before a relaxed store, until another thread has stored to the word: so two that take turns, as
  // in Peterson's lock, may both have looked before.
  const void* store = nullptr;
  int stores_left = 0;
  std::uint32_t draw_store = 0;
  bool stored = false;
};
kept_thread kept;
constexpr int most_turns = 64, most_alone = 12, most_kept = 6;

void begin_keeping() {
  const unsigned seed = checker_detail::seed_of(*now.on);
  kept = {
      .left = seed % 2 == 0 ? most_kept : 0, .draw = seed, .stores_left = 2 * most_kept, .draw_store = seed};
}
// Such a turn is no wait in vain: the one that is waited for may have finished, or wait itself.
void wait_a_turn(cpu_detail::thread_state& self, place where) {
  self.owner->suspend(self, cpu_detail::condition::polling, where);
  self.owner->progress();
}
void let_alone(cpu_detail::thread_state& self, place where) {
  if (kept.alone == &self && --kept.steps_alone <= 0) kept.alone = nullptr;
  for (int turns = 0; kept.back || (kept.alone != nullptr && kept.alone != &self); ++turns) {
    // and from then on each turn: others may have set them again since
    if (turns >= most_turns) kept.alone = nullptr, kept.back = false;
    wait_a_turn(self, where);
  }
}
void keep_before_swap(cpu_detail::thread_state& self, const void* p, std::uint64_t expected, place where) {
  kept.draw = kept.draw * 1664525 + 1013904223;
  if (kept.left == 0 || kept.at != nullptr || kept.draw >> 31 != 0) return;
  --kept.left;
  kept.at = p;
  kept.expected = expected;
  for (int turns = 0; turns < most_turns && !kept.back; ++turns) wait_a_turn(self, where);
  kept.at = nullptr;
  if (!std::exchange(kept.back, false)) return;
  kept.alone = &self;
  kept.steps_alone = most_alone;
}
void keep_before_store(const void* p) {
  kept.stored |= p == kept.store;
  if (kept.stores_left == 0 || kept.store != nullptr) return;
  kept.draw_store = (kept.draw_store ^ kept.draw_store >> 15) * 0x2C1B3C6Du + 0x9E3779B9u;
  const std::uint32_t draw = kept.draw_store >> 24;
  if (draw % 4 == 0) return;
  const int most = most_turns >> (2 + draw / 4 % 3);  // few, so that the others do not end meanwhile
  --kept.stores_left;
  kept.store = p;
  kept.stored = false;
  cpu_detail::thread_state& self = cpu_detail::here();
  self.inside_hook = true;
  for (int turns = 0; turns < most && !kept.stored; ++turns) wait_a_turn(self, {});
  self.inside_hook = false;
  kept.store = nullptr;
}
// True for an update that leaves the same whatever was there, such as an exchange.
bool overwrites(std::uint64_t (*change)(std::uint64_t, const void*), const void* with, std::uint64_t before,
                std::size_t bytes) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - 8 * bytes), after = change(before, with);
  return change(~before & all, with) == after && change(0, with) == after && change(all, with) == after;
}
// The result of such an update where nobody had written: a program may only throw it away.
std::uint64_t undefined_result(const void* p, std::size_t bytes, std::uint64_t after, const void* code) {
  model& m = *now.m;
  const checker_detail::place_number at = m.places.number_of_code(code);
  undefined_values::others instead{};  // what a program may ask for, as in atomicExch(&done, 1) == 0
  std::memcpy(instead[0].data(), &after, bytes);
  if (after == 0) instead[0][0] = 1;
  std::uint64_t result = 0;
  now.undefined.bring(at, &result, bytes, instead, [&] {
    finding f;
    f.kind = finding_kind::uninitialised;
    f.access = m.side_here(at, "");
    f.access.action = fmt::format("use of an atomic read of {} bytes", bytes);
    f.memory =
        m.findings.describe({.thread = *m.current(), .kind = access_kind::read, .place = at, .bytes = bytes},
                            m.memory.offset_of(p, bytes));
    f.missing = sentence::write;
    return f;
  });
  return result;
}
}  // namespace
std::uint64_t update(void* p, int bytes, scope reach, ordering how,
                     std::uint64_t (*change)(std::uint64_t, const void*), const void* with, unchanged same,
                     place where, std::uint64_t expected, ordering if_not) {
  if (!on_device())
    return update_on_host(p, bytes, how, change, with, same, expected, if_not, __builtin_return_address(0));
  cpu_detail::thread_state& self = cpu_detail::here();
  self.code = __builtin_return_address(0);
  model& m = *now.m;
  require_aligned(p, static_cast<std::size_t>(bytes), "atomic operation", self.code);
  m.settle();
  const auto size = static_cast<std::size_t>(bytes);
  std::uint64_t before = 0;
  const bool there = m.memory.follows(p, size);
  self.owner->give_way(self);
  if (kept.back || kept.alone != nullptr) let_alone(self, where);
  if (same == unchanged::not_read && there) keep_before_store(p);
  if (kept.left > 0 && same == unchanged::is_read && there) {
    std::memcpy(&before, p, size);
    if (change(before, with) != before) keep_before_swap(self, p, before, where);
  }
  // others may run until here, but none from here to the end
  machine::next_scope = reach;
  if (there) std::memcpy(&before, p, size);
  const std::uint64_t after = there ? change(before, with) : 0;
  if (same == unchanged::is_read && after == before && before != expected) how = if_not;
  if (same == unchanged::is_read) m.compares(p, size, expected);
  const bool unwritten = there && same == unchanged::is_written && m.unwritten(p, size);
  const bool reads = same != unchanged::is_written || (after != before && !unwritten) ||
                     !overwrites(change, with, before, size);
  // acquire_release: sequentially consistent, so never an old value
  if (after == before && same != unchanged::not_read && how != ordering::acquire_release &&
      how != ordering::release &&
      m.brings_old(p, size, static_cast<checker_detail::order>(how), self.code, before,
                   same == unchanged::only_read ? nullptr : change, with, reads)) {
    self.owner->loaded(self, p, before, where);
    if (self.loads.is_waiting()) self.loads.looked_in_vain();
    return before;
  }
  machine::next_scope = reach;
  const bool writes = same == unchanged::is_written || same == unchanged::not_read || after != before;
  m.atomic(p, size,
           same == unchanged::not_read ? atomic_kind::store
           : writes                    ? atomic_kind::update
                                       : atomic_kind::load,
           static_cast<checker_detail::order>(how), self.code, reads || !unwritten);
  if (!there) return 0;
  std::memcpy(p, &after, size);
  if (after == before) {
    self.owner->loaded(self, p, before, where);  // may be a polling loop
    if (self.loads.is_waiting()) self.loads.looked_in_vain();
  } else {
    self.loads.something_else();
    self.owner->note_write();
    kept.back |= p == kept.at && after == kept.expected;
  }
  if (unwritten && !reads) return undefined_result(p, size, after, self.code);
  return before;
}
namespace {
// Arrivals are counted in device memory, as a program of its own would: arrived, phase.
unsigned* words_of_grid(place where) {
  if (!now.together)
    machine::trap("this_grid().sync() in a launch that is not cooperative: use cudaLaunchCooperativeKernel()",
                  where);
  static unsigned* words = nullptr;
  model& m = *now.m;
  if (words == nullptr) {
    const unsigned zeros[2] = {};
    words = static_cast<unsigned*>(now.on->allocate(sizeof zeros));
    m.memory.set(words, sizeof zeros, checker_detail::cell_state::written);
  }
  return words;
}
}  // namespace
unsigned grid_arrives(place where) {
  unsigned* const words = words_of_grid(where);
  machine::block_barrier(where);
  if (machine::current->index != 0) return 0;
  const void* code = __builtin_return_address(0);
  const auto blocks = static_cast<unsigned>(machine::current->block->grid.count());
  model& m = *now.m;
  m.atomic(&words[0], sizeof words[0], atomic_kind::update, checker_detail::order::both, code);
  const unsigned phase = words[1];
  if (++words[0] == blocks) {
    m.atomic(&words[1], sizeof words[1], atomic_kind::update, checker_detail::order::both, code);
    words[0] = 0;
    ++words[1];
  }
  return phase;
}
void grid_waits(unsigned phase, place where) {
  unsigned* const words = words_of_grid(where);
  if (machine::current->index == 0) {
    while (words[1] == phase) machine::yield(where);
    now.m->atomic(&words[1], sizeof words[1], atomic_kind::load, checker_detail::order::acquire,
                  __builtin_return_address(0));
    machine::polled();
  }
  machine::block_barrier(where);
}
void grid_barrier(place where) { grid_waits(grid_arrives(where), where); }

// launches
// -----------------------------------------------------------------------------------------------------------

// Name of a kernel launched by its address; the pointer stays valid.
const char* name_of(const void* entry) {
  static std::map<const void*, std::string> known;
  const auto [at, fresh] = known.try_emplace(entry);
  if (fresh) at->second = checker_detail::function_at(entry);
  return at->second.empty() ? "kernel" : at->second.c_str();
}

// True if the launch has read by the parameter that was moved what it has written by other pointers.
bool reads_what_is_written() {
  checker_detail::shadow& memory = now.m->memory;
  const std::size_t own = memory.offset_of(
                        reinterpret_cast<const void*>(now.moved.start)),       // NOLINT: an address
      copy = memory.offset_of(reinterpret_cast<const void*>(now.moved.copy));  // NOLINT: an address
  bool both = false;
  memory.visit_alike(copy, now.moved.bytes, [&](const checker_detail::cell& c, std::size_t at, std::size_t) {
    if (both || (c.first.lanes == 0 && c.more == 0)) return;
    const checker_detail::cell& of = memory.byte(own + (at - copy));
    both = of.has_writer() && of.block >= now.m->launches.first();
  });
  return both;
}
// Hash of all memory that outlives the launch, and, unless processes have parted, of the findings.
std::uint64_t outcome_as_number(bool has_parted) {
  if (has_parted && now.moved.bytes > 0 && !reads_what_is_written()) return 0;
  std::uint64_t n = 1;
  const auto add = [&](const void* start, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(start);
    for (std::size_t i = 0; i < bytes; i += sizeof n) {
      std::uint64_t word = 0;
      std::memcpy(&word, at + i, std::min(bytes - i, sizeof word));
      n = (n ^ word) * 0x9E3779B97F4A7C15u;
      n ^= n >> 29;
    }
  };
  for (const auto& f : now.m->findings.all())
    for (const std::string& said : {f.result.memory, f.result.access.action, to_text(f.result.missing)})
      if (!has_parted) add(said.data(), said.size());
  for (const auto& [p, a] : now.allocations) add(p, a.bytes);
  for (const auto& r : now.m->memory.host_ranges())
    add(reinterpret_cast<const void*>(r.low), r.bytes);  // NOLINT: an address of the program
  for (int i = 0; i < 6; i += 2)
    add(now.sections[i], static_cast<std::size_t>(now.sections[i + 1] - now.sections[i]));
  return n | (has_parted ? 1 : 0);
}

// Says that a launch with findings relies, perhaps, on a mask of __activemask().
void name_active_mask(const char* kernel, bool found) {
  if (!found || now.active_masks.empty()) return;
  now.m->findings.say(
      fmt::format("kernel {} takes a mask from __activemask() in {}: it names the lanes that happen to be "
                  "there, under half of the schedules the calling lane alone. Compute the mask of lanes that "
                  "should take part before they diverge, as with __ballot_sync()",
                  kernel, name_of(now.first_active_mask)));
}

void launch(const char* name, const config& c, place where, const void* entry, std::size_t bytes,
            void (*body)(const void*), const void* params) {
  only_by_main("a kernel is launched", where);
  const auto recorded = [&] {
    const auto* const first = static_cast<const unsigned char*>(params);
    return recorded_launch{name, c, where, entry, body, {first, first + bytes}};
  };
  if (now.recording != nullptr) {
    *std::exchange(now.recording, nullptr) = recorded();
    return;
  }
  if (in_host_function("a launch", where) || (any_capture() && captured(recorded()))) return;
  if (is_gone(c.stream, "a launch", where)) return;
  begin_schedule();
  now.overlapped |= c.overlaps || c.lets_begin != nullptr;
  if (++now.launches == 1)
    for (const char* note : notes()) now.m->findings.say(note);
  now.cluster = cluster_of(name, c, body, params);
  if (!fits(name, c, entry, where)) return;
  model& m = *now.m;
  now.misled = now.sampled;
  now.kernel = name;
  now.launched_at = where;
  now.grid = c.grid;
  now.block = c.block;
  now.asked_of = -1;
  now.together = c.together;
  begin_keeping();
  now.dynamic = c.shared;
  now.placed = (c.shared + 15) / 16 * 16;
  now.gap_behind = gap_beside(c.shared);
  now.offsets.assign(shared_sizes().size(), 0);
  std::size_t variables = 0;
  for (const shared_size& s : shared_sizes()) variables += s.bytes + s.align + 2 * gap_beside(s.bytes);
  now.room = now.placed + now.gap_behind + std::min(variables, shared_room);
  const kernel k{.name = name,
                 .threads = static_cast<int>(c.block.x * c.block.y * c.block.z),
                 .shared_bytes = now.room,
                 .shared = shared_kind::dynamic,
                 .blocks = c.together ? residency::together : residency::any,
                 .cluster = static_cast<int>(now.cluster.x * now.cluster.y * now.cluster.z),
                 .overlaps_previous = c.overlaps,
                 .params_bytes = bytes,
                 .body = body};
  const std::uint64_t blocks = std::uint64_t{c.grid.x} * c.grid.y * c.grid.z;
  const std::uint64_t most =
      now.most_threads == 0 ? blocks
                            : std::max<std::uint64_t>(4, now.most_threads / static_cast<unsigned>(k.threads));
  constexpr const char* rest =
      "memory that skipped blocks would have written is missing, so results are not checked. --blocks all "
      "runs all blocks";
  std::vector<std::uint64_t> chosen;
  const bool whole = c.together || k.cluster > 1;  // blocks that wait for each other
  std::uint64_t accesses = whole ? 0 : now.most_accesses;
  constexpr int often = 4;
  if (now.most_accesses > 0 && m.history.effort.total() > 6 * now.most_accesses &&
      ++now.launched[name] > often) {
    leave_blocks_out();
    return m.findings.say(fmt::format(
        "kernel {} is skipped from launch {} on, because the run has taken long: {}", name, often + 1, rest));
  }
  if (accesses > 0 && m.history.effort.total() > 3 * accesses) {  // a single block, another one each time
    accesses = 1;
    if (blocks > 1) chosen.push_back(chosen_blocks(blocks, std::min<std::uint64_t>(blocks, 3)).back());
  } else if (blocks > most && !whole) {
    m.findings.say(
        fmt::format("only {2} of the {0} blocks of kernel {1} run: first, last and a random sample; {3}",
                    blocks, name, most, rest));
    chosen = chosen_blocks(blocks, most);
  }
  const std::size_t found_before = m.findings.all().size();
  now.active_masks.clear();
  now.copied_parameters.clear();
  now.arguments = params, now.argument_bytes = bytes;
  now.restricted.clear();
  const bool together = chosen.empty();
  if (!together) leave_blocks_out();
  if (now.cluster.y > 1 || now.cluster.z > 1) chosen = by_clusters(c.grid, now.cluster);
  checker_detail::choose_blocks(*now.on, std::move(chosen), accesses);
  try {
    now.on->launch(k, {c.grid.x, c.grid.y, c.grid.z}, params, c.stream);
    now.overlapped |= m.launches.previous() != 0;  // by an edge of a graph
    now.undefined.launch_ended(m, name, outcome_as_number);
  } catch (...) {
    const std::string why = said_by(std::current_exception());
    now.undefined.launch_ended(m, name, [&](bool has_parted) {
      return has_parted ? 0 : outcome_as_number(false) ^ std::hash<std::string>{}(why);
    });
    name_active_mask(name, true);
    if (waits_for_host(std::current_exception()))
      end_run(std::make_exception_ptr(
          not_supported(fmt::format("kernel {} waits for a value that the host sets later; launches are "
                                    "synchronous here, so the program cannot be checked as it is",
                                    name))));
    if (now.sampled && may_be_misled(std::current_exception())) {
      m.findings.say(
          fmt::format("kernel {} trapped or waited without end after blocks were skipped, which is not "
                      "checked. --blocks all runs all blocks",
                      name));
      end_run(std::make_exception_ptr(checker_detail::stopped("misled")));
    }
    end_run(std::current_exception());
  }
  name_active_mask(name, m.findings.all().size() > found_before);
  if (checker_detail::blocks_begun(*now.on) < blocks) {
    if (together || accesses == 1)
      m.findings.say(
          fmt::format("only some of the {} blocks of kernel {} run, after {} million memory accesses: {}",
                      blocks, name, now.most_accesses / 1'000'000, rest));
    leave_blocks_out();
  }
  judge_shared_variables();
  if (c.together && bytes_of_shared_variables() > 0)
    holds_together(name, blocks, k.threads, c.shared + bytes_of_shared_variables(), where);
  record_begun(c);
}
void launch(const recorded_launch& l, cudaStream_t on) {
  config c = l.how;
  c.stream = on;
  launch(l.name, c, l.where, l.entry, l.params.size(), l.body, l.params.data());
}

void know_kernel(const void* entry, typed_launch how) { now.typed[entry] = how; }
cudaError_t launch_by_address(const void* entry, const config& c, void** a, place where) {
  const auto known = now.typed.find(entry);
  if (known == now.typed.end())
    refuse(where, "a launch by an address whose kernel is not known",
           "the kernel itself, or a cast of its name to void*");
  known->second(entry, c, a, where);
  return last_error(false);
}
recorded_launch record_launch(const void* entry, const config& c, void** a, place where) {
  recorded_launch l;
  now.recording = &l;
  launch_by_address(entry, c, a, where);
  return l;
}

cudaError_t config_of(const cudaLaunchConfig_t& from, config& to, place where) {
  to = {from.gridDim, from.blockDim, from.dynamicSmemBytes, from.stream};
  for (unsigned i = 0; i < from.numAttrs; ++i)
    if (const cudaError_t e = set_attribute(to, from.attrs[i].id, from.attrs[i].val, where); e != cudaSuccess)
      return e;
  return cudaSuccess;
}
cudaError_t set_attribute(config& c, cudaLaunchAttributeID id, const cudaLaunchAttributeValue& v,
                          place where) {
  switch (id) {
    case cudaLaunchAttributeCooperative: c.together = v.cooperative != 0; break;
    case cudaLaunchAttributeClusterDimension:
      if (v.clusterDim.x == 0 || v.clusterDim.y == 0 || v.clusterDim.z == 0)
        return fails(cudaErrorInvalidValue);
      c.cluster[0] = v.clusterDim.x;
      c.cluster[1] = v.clusterDim.y;
      c.cluster[2] = v.clusterDim.z;
      break;
    case cudaLaunchAttributeProgrammaticStreamSerialization:
      c.overlaps = v.programmaticStreamSerializationAllowed != 0;
      break;
    case cudaLaunchAttributeProgrammaticEvent:
      c.lets_begin = v.programmaticEvent.event;
      c.lets_begin_at_once = v.programmaticEvent.triggerAtBlockStart != 0;
      break;
    case cudaLaunchAttributeLaunchCompletionEvent: c.begun = v.launchCompletionEvent.event; break;
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
      refuse(where, "cudaLaunchAttributeMemSyncDomain", "launches in the default domain");
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
      refuse(where, "cudaLaunchAttributeDeviceUpdatableKernelNode", "cudaGraphExecKernelNodeSetParams()");
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributePreferredClusterDimension:
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
    case cudaLaunchAttributeNvlinkUtilCentricScheduling: break;  // no effect on what is judged
    default: refuse(where, fmt::format("launch attribute {}", static_cast<int>(id)), "no such attribute");
  }
  return cudaSuccess;
}

// libraries
// -----------------------------------------------------------------------------------------------------------

namespace {
void run_library_now(const char* name, cudaStream_t on, std::size_t bytes, void (*body)(const void*),
                     const void* params, const void* code) {
  begin_schedule();
  if (++now.launches == 1)
    for (const char* note : notes()) now.m->findings.say(note);
  model& m = *now.m;
  now.misled = now.sampled;
  now.kernel = name;
  now.grid = now.block = {};
  now.asked_of = -1;
  now.together = false;
  now.called_at = m.places.number_of_code(code);
  const kernel k{.name = name,
                 .threads = 1,
                 .shared_bytes = 0,
                 .shared = shared_kind::dynamic,
                 .blocks = residency::any,
                 .cluster = 1,
                 .params_bytes = bytes,
                 .body = body};
  checker_detail::choose_blocks(*now.on, {}, 0);
  m.host.runs_library = true;
  try {
    now.on->launch(k, {1, 1, 1}, params, on);
    m.host.runs_library = false;
    now.undefined.launch_ended(m, name, outcome_as_number);
  } catch (...) {
    m.host.runs_library = false;
    end_run(std::current_exception());
  }
}
// True for an operation that is not done now: it goes into a graph, or is an error.
bool puts_off(const char* name, cudaStream_t on, after_it then, const kept_operation& keep, const void* f,
              std::size_t bytes, void (*body)(const void*), const void* code) {
  const auto wrong = [&](const char* where, const char* instead) {
    now.m->findings.note(finding_kind::bad_launch, "", now.m->places.number_of_code(code),
                         fmt::format("{} {}", name, where), "", instead);
    return fails(cudaErrorStreamCaptureUnsupported) != cudaSuccess;
  };
  if (now.host_function != nullptr)
    return wrong("in a host function on a stream",
                 "the call in main, or in an order of the stream: a host function may not call CUDA");
  if (!is_capturing(on)) return false;
  if (then == after_it::host_waits)
    return wrong("waits for its stream, which is captured", "cudaStreamEndCapture() before it");
  if (keep == nullptr) {
    const code_place at = line_at(code);
    end_run(std::make_exception_ptr(not_supported(
        fmt::format("{}:{}: {} in a captured stream is not supported here: use a kernel of the program",
                    checker_detail::shown(at.file), at.line, name))));
  }
  return captured(on, cudaGraphNodeTypeGraph,
                  [name, bytes, body, code, own = keep(f)](cudaStream_t s) {
                    run_library_now(name, s, bytes, body, own.get(), code);
                  },
                  {});
}
}  // namespace
void run_library(const char* name, cudaStream_t on, after_it then, std::size_t bytes,
                 void (*body)(const void*), const void* params, kept_operation keep) {
  const void* const code = __builtin_return_address(0);
  if (puts_off(name, on, then, keep, params, bytes, body, code)) return;
  run_library_now(name, on, bytes, body, params, code);
  if (then == after_it::host_waits) wait_for_stream(on);
}
void wait_for_stream(cudaStream_t on) {
  if (on == nullptr)
    now.m->launches.synchronize_default();
  else
    now.m->launches.synchronize(on);
}
bool in_library() noexcept { return now.m != nullptr && now.m->host.runs_library; }
namespace {
// Host memory is none of the operation's arguments, though its code may use it.
void judge_for_library(const void* p, std::size_t bytes, access_kind kind) {
  if (bytes == 0) return;
  model& m = *now.m;
  if (m.clocks.log != nullptr && m.memory.follows(p, bytes))
    m.write_down(kind == access_kind::read ? event_kind::read : event_kind::write, p, bytes, now.called_at);
  const checker_detail::address_range own = std::exchange(m.host.stack, {});
  m.history.visit({.thread = *m.current(), .kind = kind, .place = now.called_at, .bytes = bytes}, p, bytes);
  m.host.stack = own;
}
}  // namespace
void library_reads(const void* p, std::size_t bytes) { judge_for_library(p, bytes, access_kind::read); }
void library_writes(const void* p, std::size_t bytes) { judge_for_library(p, bytes, access_kind::write); }
void library_load(void* to, const void* from, std::size_t bytes) {
  library_reads(from, bytes);
  std::memcpy(to, from, bytes);
}
void library_store(void* to, const void* from, std::size_t bytes) {
  library_writes(to, bytes);
  std::memcpy(to, from, bytes);
}
void refuse_use(const char* what, const char* instead) { refuse({}, what, instead); }
void owned_by_library(void* p) {
  if (const auto at = now.allocations.find(p); at != now.allocations.end()) at->second.of_library = true;
}

// host
// -----------------------------------------------------------------------------------------------------------

cudaError_t allocate(void** to, std::size_t bytes, memory_kind kind, place where) {
  only_by_main("memory is allocated", where);
  try {
    *to = now.on->allocate(bytes);
  } catch (const device_error& e) {
    end_run(std::make_exception_ptr(not_supported(e.what())));  // a real device may have more
  }
  now.allocations[*to] = {bytes, kind, where};
  return cudaSuccess;
}
cudaError_t allocate_on(void** to, std::size_t bytes, cudaStream_t on, place where) {
  only_by_main("memory is allocated", where);
  if (is_capturing(on)) refuse(where, "cudaMallocAsync() in a captured stream", "memory allocated before");
  const cudaError_t e = allocate(to, bytes, memory_kind::device, where);
  now.m->host_place = where;
  if (bytes > 0) now.m->host_allocates(*to, bytes, on);
  now.m->host_place = {};
  return e;
}
namespace {
// Pinned memory is no longer that of copies and kernels under way.
void give_back(const void* p, std::size_t bytes, place where, const char* what) {
  now.m->write_pedantic(p, bytes, now.m->places.number_of(where), what, sentence::gpu_pinned);
}
}  // namespace
cudaError_t register_host(void* p, std::size_t bytes, place where) {
  only_by_main("memory is registered", where);
  checker_detail::shadow& memory = now.m->memory;
  const auto* const known = p != nullptr ? memory.host_range_at(p) : nullptr;
  if (p == nullptr || (known != nullptr) != (bytes == 0)) return fails(cudaErrorInvalidValue);
  if (bytes > 0)
    memory.follow_host(p, bytes);
  else
    give_back(p, known->bytes, where, "cudaHostUnregister() by the host"), memory.forget_host(p);
  now.m->host.host_goes_on(memory);
  return cudaSuccess;
}
cudaMemoryType type_of(const void* p) {
  if (only_device(p)) return cudaMemoryTypeDevice;
  if (now.m->memory.host_range_at(p) != nullptr) return cudaMemoryTypeHost;
  if (!of_device(p)) return cudaMemoryTypeUnregistered;
  const auto after = now.allocations.upper_bound(const_cast<void*>(p));
  const bool pinned = !is_variable(p) && after != now.allocations.begin() &&
                      std::prev(after)->second.kind == memory_kind::host;
  return pinned ? cudaMemoryTypeHost : cudaMemoryTypeManaged;
}
cudaError_t release(void* p, place where) {
  // from the destructor of a kernel's argument: no device runs it
  if (p == nullptr || on_device()) return cudaSuccess;
  only_by_main("memory is freed", where);
  if (const auto known = now.allocations.find(p);
      known != now.allocations.end() && known->second.kind == memory_kind::host)
    give_back(p, known->second.bytes, where, "cudaFreeHost() by the host");
  synchronize(nullptr, waits_for::all, where);
  if (now.allocations.erase(p) == 0) {
    now.m->findings.note(finding_kind::outside_memory, "", now.m->places.number_of(where),
                         "cudaFree() of what is not allocated", "",
                         "a pointer that cudaMalloc() returned, once");
    return fails(cudaErrorInvalidValue);
  }
  now.on->deallocate(p);
  return cudaSuccess;
}

cudaError_t bad_copy(place where, std::string what, std::string memory, std::string instead, cudaError_t e) {
  now.m->findings.note(finding_kind::bad_copy, "", now.m->places.number_of(where), std::move(what),
                       std::move(memory), std::move(instead));
  return fails(e);
}
bool holds(std::size_t symbol, std::size_t offset, std::size_t bytes, place where) {
  if (offset <= symbol && bytes <= symbol - offset) return true;
  bad_copy(where, fmt::format("a copy of {} bytes to or from a symbol", bytes),
           fmt::format("the symbol has {} bytes, {} of them after the offset", symbol,
                       symbol - std::min(symbol, offset)),
           "a size in bytes that the symbol has", cudaErrorInvalidValue);
  return false;
}

cudaError_t release_on(void* p, cudaStream_t on, place where) {
  if (!on_device()) only_by_main("memory is freed", where);
  const auto known = now.allocations.find(p);
  if (p == nullptr || on_device() || known == now.allocations.end()) return release(p, where);
  if (is_capturing(on))
    refuse(where, "cudaFreeAsync() in a captured stream", "cudaFreeAsync() after the capture");
  now.m->host_place = where;
  now.m->host_access(p, known->second.bytes, access_kind::write, on, "cudaFreeAsync");
  now.m->host_place = {};
  now.allocations.erase(known);
  now.on->deallocate(p);
  return cudaSuccess;
}

namespace {
// True for memory of malloc() in kernels, which no call of the host may be given; that is a finding.
bool is_kernels_heap(const void* p, const char* what, place where) {
  const auto after = now.heap.upper_bound(p);
  if (after == now.heap.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  if (p >= static_cast<const char*>(start) + bytes) return false;
  bad_copy(where, fmt::format("{} of memory that a kernel's malloc() returned", what), "",
           "memory of cudaMalloc(): the host's calls do not reach the heap of kernels",
           cudaErrorInvalidValue);
  return true;
}
// Bytes from `p` to the end of the stack frame that it lies in, as many as you like if it lies in none.
std::size_t bytes_of_frame(const void* p) {
  struct search {
    std::uintptr_t at, first = 0, end = 0;
  } s{reinterpret_cast<std::uintptr_t>(p)};
  _Unwind_Backtrace(
      [](_Unwind_Context* of, void* to) {
        auto& found = *static_cast<search*>(to);
        const std::uintptr_t frame = _Unwind_GetCFA(of);
        if (found.first == 0) found.first = frame;
        if (frame <= found.at) return _URC_NO_REASON;
        found.end = frame;
        return _URC_END_OF_STACK;
      },
      &s);
  constexpr std::size_t callers = 2 * sizeof(void*);  // its frame pointer, and where to return to
  return s.at < s.first || s.end < s.at + callers ? ~std::size_t{0} : s.end - callers - s.at;
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
// Ends the run if the host has less memory there than a copy takes.
void require_allocated(const void* p, std::size_t bytes, const char* what, place where) {
  const std::size_t left = std::min({host_blocks().bytes_from(p), bytes_of_frame(p), bytes_of_variable(p)});
  if (bytes <= left) return;
  bad_copy(where, fmt::format("a copy of {} bytes {} memory of the host", bytes, what),
           fmt::format("at most {} bytes belong to the host's variable there", left),
           "a size in bytes that both sides have", cudaErrorInvalidValue);
  end_run(std::make_exception_ptr(checker_detail::stopped("a copy left the host's memory")));
}
cudaError_t copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t on,
                     returns when, place where) {
  if (bytes > 0 && (is_kernels_heap(to, "a copy", where) || is_kernels_heap(from, "a copy", where)))
    return cudaErrorInvalidValue;
  const bool to_device = of_device(to, bytes), from_device = of_device(from, bytes);
  const bool wanted_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
             wanted_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const auto wrong = [&](bool is, bool wanted, const void* p) {
    return kind != cudaMemcpyDefault && is != wanted && !is_shared_with_host(p);
  };
  model& m = *now.m;
  if (bytes > 0 && (wrong(to_device, wanted_to, to) || wrong(from_device, wanted_from, from))) {
    m.findings.note(finding_kind::bad_copy, "", m.places.number_of(where),
                    "a copy whose kind does not fit its pointers",
                    fmt::format("to {}, from {}", to_device ? "device memory" : "host memory",
                                from_device ? "device memory" : "host memory"),
                    "the cudaMemcpyKind of what the pointers are");
    return fails(cudaErrorInvalidValue);
  }
  const auto* const start = static_cast<const char*>(from);
  auto* const target = static_cast<char*>(to);
  if (bytes > 0 && to_device && from_device && target != start && target < start + bytes &&
      start < target + bytes)
    m.findings.note(finding_kind::bad_copy, "", m.places.number_of(where),
                    fmt::format("a copy of {} bytes, {} bytes from where it begins to where it goes", bytes,
                                std::abs(target - start)),
                    "", "memory that does not overlap: another buffer in between");
  if (!to_device) require_allocated(to, bytes, "to", where);
  if (!from_device) require_allocated(from, bytes, "from", where);
  const auto wait = [&] {
    if (on == nullptr)
      m.launches.synchronize_default();
    else
      m.launches.synchronize(on);
  };
  // From pageable host memory a copy is staged: the call waits for the stream first, and may return before
  // the device's memory is written (CUDA runtime, API synchronization behavior).
  const bool staged = only_device(to) && !from_device;
  if (when == returns::when_done && staged) wait();
  m.host_place = where;
  m.host_stages = staged;
  if (to_device && from_device)
    now.on->copy(to, from, bytes, on);
  else if (to_device)
    now.on->copy_in(to, from, bytes, on);
  else if (from_device)
    now.on->copy_out(to, from, bytes, on);
  else
    std::memmove(to, from, bytes);
  m.host_place = {};
  m.host_stages = false;
  if (graph_runs() && !to_device) now.ordinary->copied(to, bytes, access_kind::write, where, on);
  if (graph_runs() && !from_device) now.ordinary->copied(from, bytes, access_kind::read, where, on);
  if (when == returns::when_done && !staged && !(only_device(to) && only_device(from))) wait();
  return cudaSuccess;
}
cudaError_t copy_rows_now(const row_copy& c, cudaStream_t on, returns when, place where) {
  for (std::size_t i = 0; i < c.height; ++i)
    if (const cudaError_t e =
            copy_now(static_cast<char*>(c.to) + i * c.to_pitch,
                     static_cast<const char*>(c.from) + i * c.from_pitch, c.width, c.kind, on, when, where);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}
// True for work that is not done now: it goes into a graph, or is an error.
bool put_off(cudaGraphNodeType type, const char* what, cudaStream_t on, returns when, const stream_work& work,
             place where) {
  if (in_host_function(what, where)) return true;
  if (!any_capture()) return false;
  return when == returns::when_done ? disturbs_capture(on, waits_for::all, what, where)
                                    : captured(on, type, work, where);
}
cudaError_t set_now(void* p, std::span<const unsigned char> value, std::size_t bytes, cudaStream_t on,
                    place where);
cudaError_t set_now(void* p, int value, std::size_t bytes, cudaStream_t on, place where) {
  const auto byte = static_cast<unsigned char>(value);
  return set_now(p, {&byte, 1}, bytes, on, where);
}
}  // namespace
void copy_rows_now(const row_copy& c, cudaStream_t on, place where) {
  copy_rows_now(c, on, returns::at_once, where);
}
void set_now(const cudaMemsetParams& p, cudaStream_t on, place where) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) {
    misused(where, fmt::format("a memset node of elements of {} bytes", p.elementSize), "1, 2 or 4 bytes",
            cudaErrorInvalidValue);
    return;
  }
  if (p.height > 1 && p.pitch < p.width * p.elementSize) {
    misused(where,
            fmt::format("a memset node of rows of {} bytes, {} apart", p.width * p.elementSize, p.pitch),
            "a pitch in bytes: at least the width", cudaErrorInvalidValue);
    return;
  }
  const auto value = std::bit_cast<std::array<unsigned char, sizeof p.value>>(p.value);
  for (std::size_t row = 0; row < p.height; ++row)
    set_now(static_cast<char*>(p.dst) + row * p.pitch, {value.data(), p.elementSize}, p.width * p.elementSize,
            on, where);
}
cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t on,
                 returns when, place where) {
  return copy_rows(to, bytes, from, bytes, bytes, 1, kind, on, when, where);
}
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                      std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t on,
                      returns when, place where) {
  only_by_main("memory is copied", where);
  if (width > 0 && height > 0 && (width > to_pitch || width > from_pitch))
    return bad_copy(where, fmt::format("a copy of rows of {} bytes", width),
                    fmt::format("a pitch of {} bytes", std::min(to_pitch, from_pitch)),
                    "a pitch in bytes, from the beginning of a row to that of the next: at least the width",
                    cudaErrorInvalidPitchValue);
  const row_copy c{to, to_pitch, from, from_pitch, width, height, kind};
  const auto later = [c, where](cudaStream_t s) { copy_rows_now(c, s, where); };
  if (is_gone(on, "a copy", where)) return cudaErrorInvalidResourceHandle;
  if (put_off(cudaGraphNodeTypeMemcpy, "a copy", on, when, later, where)) return cudaSuccess;
  return copy_rows_now(c, on, when, where);
}
cudaError_t set(void* p, int value, std::size_t bytes, cudaStream_t on, returns when, place where) {
  only_by_main("memory is set", where);
  const auto later = [=](cudaStream_t s) { set_now(p, value, bytes, s, where); };
  if (is_gone(on, "cudaMemset()", where)) return cudaErrorInvalidResourceHandle;
  if (put_off(cudaGraphNodeTypeMemset, "cudaMemset()", on, when, later, where)) return cudaSuccess;
  const cudaError_t e = set_now(p, value, bytes, on, where);
  // cudaMemset of device memory returns at once too
  if (e == cudaSuccess && bytes > 0 && when == returns::when_done && is_shared_with_host(p))
    wait_for_stream(on);
  return e;
}
cudaError_t set_rows(void* p, std::size_t pitch, int value, std::size_t width, std::size_t height,
                     cudaStream_t on, returns when, place where) {
  if (height > 1 && width > pitch)
    return bad_copy(where, fmt::format("cudaMemset2D() of rows of {} bytes", width),
                    fmt::format("a pitch of {} bytes", pitch), "a pitch in bytes: at least the width",
                    cudaErrorInvalidValue);
  for (std::size_t i = 0; i < height; ++i)
    if (const cudaError_t e = set(static_cast<char*>(p) + i * pitch, value, width, on, when, where);
        e != cudaSuccess)
      return e;
  return cudaSuccess;
}
namespace {
cudaError_t set_now(void* p, std::span<const unsigned char> value, std::size_t bytes, cudaStream_t on,
                    place where) {
  if (bytes == 0) return cudaSuccess;
  if (!of_device(p, bytes))
    return bad_copy(where, "cudaMemset() of host memory", "", "a pointer to device memory",
                    cudaErrorInvalidValue);
  if (is_kernels_heap(p, "cudaMemset()", where)) return cudaErrorInvalidValue;
  now.m->host_place = where;
  checker_detail::fill(*now.on, p, value, bytes, on);
  now.m->host_place = {};
  return cudaSuccess;
}
}  // namespace
cudaError_t synchronize(cudaStream_t on, waits_for what, place where) {
  only_by_main("a stream is waited for", where);
  if (in_host_function("a wait", where) || disturbs_capture(on, what, "a wait", where))
    return cudaErrorStreamCaptureUnsupported;
  if (is_capturing(on))
    return misused(where, "a wait for a stream that is captured", "cudaStreamEndCapture() before it",
                   cudaErrorStreamCaptureUnsupported);
  if (what == waits_for::stream && is_gone(on, "a wait", where)) return cudaErrorInvalidResourceHandle;
  if (what == waits_for::stream)
    wait_for_stream(on);
  else
    now.m->launches.synchronize(on);
  return cudaSuccess;
}

namespace {
// Work is done when it is asked for, so a query would always find it done. Under every other seed the first
// one since the last launch or copy does not, unless the host has waited.
bool looks_under_way(const void* of, const checker_detail::past& work) {
  return !any_capture() && now.host_function == nullptr && checker_detail::seed_of(*now.on) % 2 == 0 &&
         !now.m->launches.has_waited(work) && now.queries.emplace(of, now.m->clocks.next_block()).second;
}
}  // namespace
cudaError_t query(cudaStream_t on, place where) {
  if (looks_under_way(on, now.m->launches.recorded(on))) return cudaErrorNotReady;
  return synchronize(on, waits_for::stream, where);
}
cudaError_t query(cudaEvent_t e, place where) {
  if (e != nullptr && e->of == nullptr && looks_under_way(e, e->after)) return cudaErrorNotReady;
  return synchronize(e, where);
}

cudaError_t create_stream(cudaStream_t* s, unsigned flags) {
  only_by_main("a stream is created");
  *s = reinterpret_cast<cudaStream_t>(64 * ++now.streams);
  if ((flags & cudaStreamNonBlocking) != 0) now.m->launches.apart_from_default(*s);
  return cudaSuccess;
}
unsigned flags_of(cudaStream_t s) {
  return now.m->launches.is_apart(s) ? cudaStreamNonBlocking : cudaStreamDefault;
}
cudaError_t create_event(cudaEvent_t* e) {
  only_by_main("an event is created");
  *e = new antiphase_plain_event;
  return cudaSuccess;
}
namespace {
bool is_gone(cudaStream_t on, const char* what, place where) {
  if (!now.destroyed.contains(on)) return false;
  misused(where, fmt::format("{} on a stream that has been destroyed", what),
          "cudaStreamDestroy() after its last use", cudaErrorInvalidResourceHandle);
  return true;
}
// An event lives on for those who use it when it has been destroyed.
bool is_gone(cudaEvent_t e, const char* what, place where) {
  if (e == nullptr) return fails(cudaErrorInvalidResourceHandle) != cudaSuccess;
  if (!e->destroyed) return false;
  misused(where, fmt::format("{} an event that has been destroyed", what),
          "cudaEventDestroy() after its last use", cudaErrorInvalidResourceHandle);
  return true;
}
// A wait for an event that has not been recorded is no error, and no wait.
void waits(cudaEvent_t e, place where) {
  if (!e->recorded && now.m->findings.unrecorded_wait.empty())
    now.m->findings.unrecorded_wait =
        fmt::format("{}:{}", checker_detail::shown(where.file_name()), where.line());
}
}  // namespace
cudaError_t destroy_event(cudaEvent_t e, place where) {
  if (is_gone(e, "cudaEventDestroy() of", where)) return cudaErrorInvalidResourceHandle;
  e->destroyed = true;
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t s, place where) {
  if (is_gone(s, "cudaStreamDestroy()", where)) return cudaErrorInvalidResourceHandle;
  if (s != nullptr) now.destroyed.insert(s);
  return cudaSuccess;
}
cudaError_t elapsed(float* ms, cudaEvent_t from, cudaEvent_t to, place where) {
  for (cudaEvent_t const e : {from, to}) {
    if (is_gone(e, "a time of", where)) return cudaErrorInvalidResourceHandle;
    if (e->of == nullptr && looks_under_way(e, e->after)) return cudaErrorNotReady;
  }
  *ms = 1;  // nothing is measured
  return cudaSuccess;
}
void record_now(cudaEvent_t e, cudaStream_t on) {
  e->after = now.m->launches.recorded(on);
  e->of = nullptr;
}
void wait_now(cudaStream_t on, cudaEvent_t e) {
  if (e->of != nullptr)
    now.m->launches.overlap_with(on, e->of);
  else
    now.m->launches.order_after(on, e->after);
}
cudaError_t record(cudaEvent_t e, cudaStream_t on, event_of what, place where) {
  only_by_main("an event is recorded", where);
  if (is_gone(e, "cudaEventRecord() of", where) || is_gone(on, "cudaEventRecord()", where))
    return cudaErrorInvalidResourceHandle;
  e->recorded = true;
  if (!captured_record(e, on, what, where)) record_now(e, on);
  return cudaSuccess;
}
cudaError_t wait_for(cudaStream_t on, cudaEvent_t e, event_of what, place where) {
  only_by_main("a stream is made to wait", where);
  if (is_gone(e, "a wait for", where) || is_gone(on, "a wait", where)) return cudaErrorInvalidResourceHandle;
  waits(e, where);
  if (!captured_wait(on, e, what, where)) wait_now(on, e);
  return cudaSuccess;
}
cudaError_t synchronize(cudaEvent_t e, place where) {
  only_by_main("an event is waited for", where);
  if (is_gone(e, "a wait for", where)) return cudaErrorInvalidResourceHandle;
  if (in_host_function("a wait", where)) return cudaErrorNotPermitted;
  waits(e, where);
  now.m->launches.synchronize(e->after);
  return cudaSuccess;
}

// host functions
// -----------------------------------------------------------------------------------------------------------

checker_detail::model& followed() { return *now.m; }
cudaError_t misused(place where, std::string what, std::string instead, cudaError_t e) {
  refuse_launch("", where, std::move(what), std::move(instead), e);
  return e;
}
void refuse(place where, const std::string& what, const std::string& instead) {
  const std::string at =
      where.line() == 0 ? "" : fmt::format("{}:{}: ", checker_detail::shown(where.file_name()), where.line());
  end_run(std::make_exception_ptr(
      not_supported(fmt::format("{}{} is not supported here: use {}", at, what, instead))));
}

void call_host_now(cudaStream_t on, const std::function<void()>& f, place where) {
  model& m = *now.m;
  m.host_place = where;
  model::stream_work work = m.begin_stream_work("host function", on);
  now.host_function = &work.thread;
  now.ordinary->begin(work.thread.block, __builtin_frame_address(0));
  f();
  now.host_function = nullptr;
  m.end_stream_work(work);
  now.ordinary->end(m.launches.recorded(on));
  m.host_place = {};
}
void frees_wrongly(const void* code) {
  const char* const action = "free() of what malloc() did not return here, or not any more";
  const char* const instead =
      "in kernels, memory of their malloc(), once; cudaFree() or cudaFreeHost() for the host's";
  model& m = *now.m;
  if (m.current() != nullptr)
    m.note_here(finding_kind::outside_memory, m.places.number_of_code(code), action, "",
                {sentence::argument, {instead}});
  else
    m.findings.note(finding_kind::outside_memory, "", m.places.number_of_code(code), action, "", instead);
}
void host_frees(void* p, const void* code) {
  if (now.ordinary && on_host_thread()) now.ordinary->freed(p, malloc_usable_size(p), code);
  std::free(p);
}
namespace {
cudaError_t call_host(cudaStream_t on, const std::function<void()>& f, place where) {
  if (is_gone(on, "a host function", where)) return cudaErrorInvalidResourceHandle;
  const auto work = [f, where](cudaStream_t s) { call_host_now(s, f, where); };
  if (!put_off(cudaGraphNodeTypeHost, "a host function", on, returns::at_once, work, where)) work(on);
  return cudaSuccess;
}
}  // namespace
cudaError_t call_host(cudaStream_t on, cudaHostFn_t f, void* with, place where) {
  return call_host(
      on, [=] { f(with); }, where);
}
cudaError_t call_host(cudaStream_t on, cudaStreamCallback_t f, void* with, place where) {
  return call_host(
      on, [=] { f(on, cudaSuccess, with); }, where);
}

cudaError_t last_error(bool forget) { return forget ? std::exchange(now.error, cudaSuccess) : now.error; }
cudaError_t reset_device() {
  now.m->launches.synchronize(nullptr);
  for (const auto& [p, a] : now.allocations) now.on->deallocate(p);
  now.allocations.clear();
  return cudaSuccess;
}
cudaError_t properties(cudaDeviceProp* p) {
  *p = {};
  std::strcpy(p->name, "antiphase's simulated device");
  p->totalGlobalMem = device_memory;
  p->sharedMemPerBlock = static_shared;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->warpSize = 32;
  p->memPitch = 0x7FFFFFFF;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7FFFFFFF;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->clockRate = 1'000'000;
  p->totalConstMem = 65536;
  std::tie(p->major, p->minor) = std::pair(9, 0);
  p->multiProcessorCount = 4;
  p->concurrentKernels = p->managedMemory = p->concurrentManagedAccess = p->cooperativeLaunch =
      p->unifiedAddressing = p->canMapHostMemory = p->deviceOverlap = p->streamPrioritiesSupported =
          p->computePreemptionSupported = p->canUseHostPointerForRegisteredMem = p->globalL1CacheSupported =
              p->localL1CacheSupported = 1;
  p->maxBlocksPerMultiProcessor = 32;
  p->reservedSharedMemPerBlock = 1024;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->asyncEngineCount = 2;
  p->memoryClockRate = 1'000'000;
  p->memoryBusWidth = 1024;
  p->l2CacheSize = 1 << 22;
  p->maxThreadsPerMultiProcessor = 2048;
  p->sharedMemPerMultiprocessor = most_shared + 1024;
  p->sharedMemPerBlockOptin = most_shared;
  return cudaSuccess;
}
cudaError_t attribute(int* value, cudaDeviceAttr a) {
  cudaDeviceProp p;
  properties(&p);
  const std::pair<cudaDeviceAttr, std::size_t> numbers[] = {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
      {cudaDevAttrReservedSharedMemoryPerBlock, p.reservedSharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, p.totalConstMem},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, p.memPitch},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrClockRate, p.clockRate},
      {cudaDevAttrTextureAlignment, p.textureAlignment},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrMemoryClockRate, p.memoryClockRate},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrComputeCapabilityMajor, p.major}};
  // what this device has not, or is not
  constexpr cudaDeviceAttr none[] = {cudaDevAttrKernelExecTimeout,
                                     cudaDevAttrIntegrated,
                                     cudaDevAttrComputeMode,
                                     cudaDevAttrEccEnabled,
                                     cudaDevAttrPciBusId,
                                     cudaDevAttrPciDeviceId,
                                     cudaDevAttrTccDriver,
                                     cudaDevAttrComputeCapabilityMinor,
                                     cudaDevAttrHostNativeAtomicSupported,
                                     cudaDevAttrPageableMemoryAccess,
                                     cudaDevAttrPageableMemoryAccessUsesHostPageTables,
                                     cudaDevAttrDirectManagedMemAccessFromHost,
                                     cudaDevAttrMaxPersistingL2CacheSize,
                                     cudaDevAttrMaxAccessPolicyWindowSize};
  const auto* const number = std::ranges::find(numbers, a, &std::pair<cudaDeviceAttr, std::size_t>::first);
  if (number != std::end(numbers))
    *value = static_cast<int>(number->second);
  else
    *value = std::ranges::find(none, a) == std::end(none) ? 1 : 0;
  return cudaSuccess;
}
cudaError_t set_limit(cudaLimit which, std::size_t value) {
  now.limits[which] = value;
  return cudaSuccess;
}
std::size_t limit(cudaLimit which) {
  const auto at = now.limits.find(which);
  return at != now.limits.end() ? at->second : 0;
}
int blocks_together(int threads, std::size_t shared) {
  constexpr int warps = 64, blocks = 32;
  const int warps_of_block = (threads + 31) / 32;
  if (threads < 1 || threads > 1024 || shared > most_shared) return 0;
  const std::size_t by_shared = (most_shared + shared_of_block) / (shared + shared_of_block);
  return static_cast<int>(
      std::min<std::size_t>({blocks, static_cast<std::size_t>(warps / warps_of_block), by_shared}));
}
cudaError_t allow_large_clusters(const void* entry, int yes) {
  if (yes != 0)
    now.large_clusters.insert(entry);
  else
    now.large_clusters.erase(entry);
  return cudaSuccess;
}
cudaError_t allow_shared(const void* entry, int bytes) {
  if (bytes < 0 || bytes > static_cast<int>(most_shared)) return fails(cudaErrorInvalidValue);
  now.allowed[entry] = bytes;
  return cudaSuccess;
}

namespace {
struct error_row {
  cudaError_t e;
  const char *name, *text;
};
constexpr error_row errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints"}};
}  // namespace
const char* error_name(cudaError_t e) {
  for (const error_row& r : errors)
    if (r.e == e) return r.name;
  return "cudaErrorUnknown";
}
const char* error_text(cudaError_t e) {
  for (const error_row& r : errors)
    if (r.e == e) return r.text;
  return "unknown error";
}

// runs
// -----------------------------------------------------------------------------------------------------------

namespace {

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

#if defined(__x86_64__)
std::uintptr_t interrupted_at(const void* context) {
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
}
// Ends the run with a finding at the instruction that was interrupted.
[[noreturn]] void end_at(std::uintptr_t at, finding_kind kind, const char* action, sentence missing,
                         const char* why) {
  model& m = *now.m;
  m.note_here(kind, m.places.number_of_code(reinterpret_cast<const void*>(at + 1)), action, "", missing);
  m.set_current(nullptr);
  end_run(std::make_exception_ptr(checker_detail::stopped(why)));
}
// Handler of a timer. An ordinary read hoisted out of a polling loop leaves a jump to itself: nothing else
// runs and no hook is called, so only a clock can notice. Such a loop holds no lock, so the handler may do
// anything.
void look_for_empty_loop(int, siginfo_t*, void* context) {
  const std::uintptr_t at = interrupted_at(context);
  constexpr unsigned char jump_to_itself[] = {0xEB, 0xFE};
  if (std::memcmp(reinterpret_cast<const void*>(at), jump_to_itself, sizeof jump_to_itself) != 0) return;
  Dl_info info{};
  if (now.m == nullptr || now.m->current() == nullptr || dladdr(reinterpret_cast<void*>(at), &info) == 0 ||
      reinterpret_cast<std::uintptr_t>(info.dli_fbase) != checker_detail::code_base)
    return;
  end_at(at, finding_kind::deadlock,
         "the loop never re-reads memory: the compiler hoisted the load, as nothing says that other threads "
         "change it",
         sentence::volatile_loop, "an empty loop");
}
// Division of an integer by zero ends a host program. A GPU continues with an undefined value.
void look_at_division(int, siginfo_t*, void* context) {
  if (now.m == nullptr || now.m->current() == nullptr) {  // in host code: ends as usual
    std::signal(SIGFPE, SIG_DFL);
    return;
  }
  end_at(interrupted_at(context), finding_kind::wrong_result,
         "an integer division without a result (by zero, or of the lowest number by -1)",
         sentence::checked_divisor, "a division by zero");
}
void watch_for_signals() {
  static std::vector<unsigned char> stack(std::size_t{1} << 20);
  stack_t own{};
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  sigaltstack(&own, nullptr);
  struct sigaction action {};
  action.sa_sigaction = look_for_empty_loop;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGVTALRM, &action, nullptr);
  action.sa_sigaction = look_at_division;
  sigaction(SIGFPE, &action, nullptr);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 20'000},
                        .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  setitimer(ITIMER_VIRTUAL, &often, nullptr);
}
#else
void watch_for_signals() {}
#endif

// True for what a program's own check of its results throws.
bool is_of_host(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::runtime_error& e) {
    return typeid(e) == typeid(std::runtime_error);
  } catch (...) {
    return false;
  }
}

// Runs main. An exception out of it counts as a failed check of results.
void run_host(const std::string& object, bool driven, int argc, char** argv) {
  try {
    now.exit_code = load(object, driven)(argc, argv, environ);
  } catch (const error&) {
    throw;
  } catch (const std::exception& e) {
    now.thrown = std::make_exception_ptr(
        std::runtime_error(std::string("the program ended with an exception: ") + e.what()));
  } catch (...) {
    now.thrown = std::make_exception_ptr(std::runtime_error("the program ended with an exception"));
  }
}

void report_leaks() {
  for (const auto& [p, a] : now.allocations) {
    if (a.kind == memory_kind::host || a.of_library) continue;
    const checker_detail::place_number at = now.m->places.number_of(a.where);
    checker_detail::event_log::question life{.now = {.by = {}, .place = at, .action = {}}, .earlier = {}};
    life.memory = reinterpret_cast<std::uintptr_t>(p);
    life.bytes = a.bytes;
    life.never_freed = true;
    life.is_thread = false;
    finding f;
    f.kind = finding_kind::leak;
    f.access.action = fmt::format("{} bytes of device memory were never freed", a.bytes);
    f.missing = sentence::free_memory;
    f.in_practice = sentence::gpu_frees;
    now.m->findings.note(std::move(f), at, life);
  }
}

}  // namespace

void allow_more_shared(device_limits& limits) {
  limits.shared_opt_in =
      static_cast<decltype(limits.shared_opt_in)>(most_shared + static_shared + shared_room);
}

namespace {
int tried = 0;
}  // namespace
void try_change(int number) { tried = number; }
bool is_tried(int number) {
  if (number != tried) return false;
  now.m->findings.tried_change = true;
  return true;
}

void run_main(const std::string& object, const plain_program& of, const context& where) {
  model& m = checker_detail::model_of(where.runs_on());
  now.on = &where.runs_on();
  now.m = &m;
  now.host = pthread_self();
  forget_textures();
  follow_stacks();
  now.most_threads = of.most_threads;
  now.most_accesses = of.most_accesses;
  m.history.effort.most = 10 * of.most_accesses;
  m.patient = of.most_accesses == 0;
  machine_allows = m.host.also;
  m.host.also = image_allows;
  m.host_touches = touched;
  now.ordinary.emplace(m);
  m.host_finds_old = found_by_host;
  m.host_reads_atomically = [](const void* p) {
    if (on_host_thread()) now.ordinary->read_atomically(p);
  };
  m.loops.before_store = keep_before_store;
  m.findings.shared_place = shared_place;
  m.findings.variable_name = variable_name;
  m.memory.shared_by_variables = true;
  static std::vector<std::string> words;
  static std::vector<char*> argv;
  words.assign(1, of.sources.front());
  words.insert(words.end(), of.arguments.begin(), of.arguments.end());
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  if (setjmp(now.end) == 0) run_host(object, !of.driver.empty(), static_cast<int>(words.size()), argv.data());
  checker_detail::end_if_forked(now.thrown ? 1 : now.exit_code);
  begin_schedule();
  checker_detail::active = nullptr;
  m.host_touches = nullptr;
  m.host_finds_old = nullptr;
  m.host_reads_atomically = nullptr;
  m.host.passed_over = nullptr;
  const bool unlaunched = now.launches == 0 && m.findings.all().empty();
  if (now.thrown && unlaunched && is_of_host(now.thrown))
    throw bad_request(said_by(now.thrown) + " " + checker_detail::before_launches);
  if (now.thrown && !(now.sampled && is_of_host(now.thrown))) std::rethrow_exception(now.thrown);
  if (now.exit_code != 0) {
    if (now.sampled) return;  // blocks were left out
    if (unlaunched)
      throw bad_request(
          fmt::format("the program ended with {} {}", now.exit_code, checker_detail::before_launches));
    throw std::runtime_error(fmt::format(
        "the program ended with {}{}{}", now.exit_code,
        now.error != cudaSuccess ? fmt::format(", after the error \"{}\"", error_text(now.error)) : "",
        now.differs.empty() ? "" : ": " + now.differs));
  }
  report_leaks();
  if (m.starts_dependents && !now.overlapped)
    m.findings.say(
        "griddepcontrol, or cudaGridDependencySynchronize() and its like, has no effect, as no launch allows "
        "it: launches follow each other without cudaLaunchAttributeProgrammaticStreamSerialization");
  if (now.launches == 0 && m.findings.all().empty())
    throw bad_request(std::string("the program ended ") + checker_detail::before_launches);
}

}  // namespace antiphase::plain

// called by compiled programs and the prelude
// -----------------------------------------------------------------------------------------

using namespace antiphase;

extern "C" {

bool antiphase_tried(int number) { return plain::is_tried(number); }
void antiphase_plain_differs(const char* how) {
  if (plain::now.differs.empty()) plain::now.differs = how;
}

// Called before the program's variables are initialised.
void antiphase_plain_loaded(char** sections, checker_detail::address_range* passed_over) {
  std::copy_n(sections, std::size(plain::now.sections), plain::now.sections);
  checker_detail::model& m = *plain::now.m;
  const auto [low, high] = std::minmax_element(sections, sections + std::size(plain::now.sections));
  m.memory.follow_variables(reinterpret_cast<std::uintptr_t>(*low), reinterpret_cast<std::uintptr_t>(*high));
  m.constants = {reinterpret_cast<std::uintptr_t>(sections[2]),
                 static_cast<std::uintptr_t>(sections[3] - sections[2])};
  Dl_info info{};
  if (dladdr(passed_over, &info) != 0)
    checker_detail::code_base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  m.host.passed_over = passed_over;
  m.host.host_goes_on(m.memory);
  checker_detail::active = &m;
}
// malloc and new in kernels allocate device memory. It is no leak if never freed, since it goes with the
// device.
void* antiphase_plain_malloc(std::size_t bytes) {
  if (!plain::on_device() || plain::now.m->host.runs_library) {
    void* const p = std::malloc(std::max<std::size_t>(bytes, 1));
    plain::host_blocks().add(p, bytes);
    return p;
  }
  if (bytes + plain::now.heap_used > plain::limit(cudaLimitMallocHeapSize)) return nullptr;
  void* const p = plain::now.on->allocate(std::max<std::size_t>(bytes, 1));
  plain::now.heap[p] = bytes;
  plain::now.heap_used += bytes;
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
  if (plain::now.m != nullptr) plain::now.m->memory.forget_host(p);
  if (plain::now.m == nullptr ||
      reinterpret_cast<std::uintptr_t>(p) - plain::now.m->memory.lowest() >= plain::now.m->memory.size())
    return plain::host_frees(p, code);
  const auto known = plain::on_device() ? plain::now.heap.find(p) : plain::now.heap.end();
  if (known == plain::now.heap.end()) return plain::frees_wrongly(code);
  plain::now.heap_used -= known->second;
  plain::now.heap.erase(known);
  plain::now.on->deallocate(p);
}
void antiphase_plain_free(void* p) { antiphase_plain_free_at(p, __builtin_return_address(0)); }
void antiphase_plain_lock() {
  if (plain::now.ordinary && !plain::on_device() && plain::on_host_thread())
    plain::now.ordinary->comes_to_lock();
}
[[noreturn]] void antiphase_plain_exit(int code) {
  if (!checker_detail::is_run_process()) {  // a child that the program has forked
    std::fflush(nullptr);
    _exit(code);
  }
  plain::now.exit_code = code;
  std::longjmp(plain::now.end, 1);
}
[[noreturn]] void antiphase_plain_abort() { plain::end_run("the program called abort()"); }
[[noreturn]] void antiphase_plain_assert(const char* what, const char* file, unsigned line, const char*) {
  const std::string said = fmt::format("assertion failed: {}", what);
  auto& m = *plain::now.m;
  if (m.current() == nullptr)
    plain::end_run(fmt::format("{}:{}: {}", checker_detail::shown(file), line, said));
  if (plain::now.misled)
    m.say_misled();
  else
    m.note_here(finding_kind::gave_up, m.places.number_of_code(__builtin_return_address(0)), said, "", {});
  m.history.stop("an assertion failed");
  __builtin_unreachable();
}

struct ubsan_place {
  const char* file;
  unsigned line, column;
};
struct ubsan_type {
  unsigned short kind, info;
  char name[1];
};
struct ubsan_mismatch {
  ubsan_place at;
  const ubsan_type* type;
  unsigned char log_alignment, access;
};
struct ubsan_bounds {
  ubsan_place at;
  const ubsan_type *array, *index;
};
void __ubsan_handle_type_mismatch_v1(ubsan_mismatch* data, std::uintptr_t p) {
  auto& m = *plain::now.m;
  if (m.current() == nullptr || p == 0) return;
  const unsigned alignment = 1u << data->log_alignment;
  // nvcc keeps a thread's small arrays in registers or aligns them; g++ aligns those of 16 bytes and more
  if (alignment < 16 && m.host.stack.holds(p)) return;
  m.note_here(finding_kind::misaligned, m.places.number_of_code(__builtin_return_address(0)),
              fmt::format("access of type {}", data->type->name),
              fmt::format("an address that is {} more than a multiple of {}", p % alignment, alignment),
              checker_detail::explain(sentence::aligned, alignment));
  m.history.stop("a misaligned access");
}
void __ubsan_handle_out_of_bounds(ubsan_bounds* data, std::uintptr_t index) {
  auto& m = *plain::now.m;
  if (m.current() == nullptr) return;
  m.note_here(finding_kind::outside_memory, m.places.number_of_code(__builtin_return_address(0)),
              fmt::format("index {} of {}", static_cast<long>(static_cast<int>(index)), data->array->name),
              "", sentence::within_array);
}

}  // extern "C"

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* extents, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill fill) {
  const auto refuse = [code = __builtin_return_address(0)](const std::string& why, const std::string& instead,
                                                           CUresult result) {
    plain::now.m->findings.note(finding_kind::bad_copy, "cuTensorMapEncodeTiled",
                                plain::now.m->places.number_of(code, plain::place{}), why, "", instead);
    return result;
  };
  constexpr int bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  if (rank < 2 || rank > tensor_dimensions || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || static_cast<std::size_t>(type) >= std::size(bytes_of) ||
      std::any_of(element_strides, element_strides + rank, [](cuuint32_t s) { return s != 1; }))
    return refuse("a tensor map that antiphase check does not have",
                  "2 to 4 dimensions, no interleaving, element strides of 1, zeros outside",
                  CUDA_ERROR_NOT_SUPPORTED);
  tensor_layout layout{.data = address,
                       .element_bytes = bytes_of[type],
                       .dimensions = static_cast<int>(rank),
                       .pattern = static_cast<antiphase::swizzle>(swizzle)};
  for (cuuint32_t d = 0; d < rank; ++d) {
    layout.extent[d] = extents[d];
    layout.box[d] = box[d];
    layout.stride[d] = d == 0 ? 0 : strides[d - 1];  // none for the innermost dimension
  }
  try {
    const tensor_map encoded = plain::now.on->encode(layout);
    static_assert(sizeof encoded == sizeof *map);
    std::memcpy(map, &encoded, sizeof encoded);
  } catch (const bad_request& e) {
    return refuse(e.what(), "what the driver's manual allows", CUDA_ERROR_INVALID_VALUE);
  }
  return CUDA_SUCCESS;
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long,
                                    cudaDriverEntryPointQueryResult* found) {
  const bool known = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0;
  *function = known ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
  if (found != nullptr) *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
