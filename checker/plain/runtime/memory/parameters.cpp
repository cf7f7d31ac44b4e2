// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels: copies of threads, and pointers with __restrict__.
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "checker/order/missing.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "checker/plain/runtime/run.hpp"

namespace antiphase::plain {
void note_printed(const void* p, std::size_t bytes);
namespace {
struct parameter_state {
  std::map<std::size_t, std::size_t> copied;  // bytes, by place on the stack
  std::uint64_t printed = 0;                  // hash of the numbers
  std::set<int> restricted;                   // parameters with __restrict__ that a thread has come to
  std::map<std::pair<unsigned, int>, int>
      parted;  // how often processes have parted there, by line of the launch
  struct {
    int parameter = -1;
    std::uintptr_t start = 0, copy = 0;
    std::size_t bytes = 0;
  } moved;  // in such a process: the parameter that points into a copy
};
parameter_state parameters;
}  // namespace

void forget_parameters() {
  parameters.copied.clear();
  parameters.restricted.clear();
  parameters.printed = 0;
}

namespace {
int arguments_within(std::uintptr_t start, std::size_t bytes) {
  int count = 0;
  for (std::size_t at = 0; at + sizeof start <= running_launch.argument_bytes; at += sizeof start) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(running_launch.arguments) + at, sizeof word);
    count += word - start < bytes;
  }
  return count;
}
}  // namespace

const void* restricted(const void* p, int parameter) {
  if (!on_device()) return p;  // the kernel is asked for its cluster; below as well
  constexpr std::size_t most = std::size_t{1} << 26;
  constexpr int often = 3;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  if (parameters.moved.parameter == parameter && address - parameters.moved.start < parameters.moved.bytes)
    return static_cast<const char*>(p) + (parameters.moved.copy - parameters.moved.start);
  if (!parameters.restricted.insert(parameter).second) return p;
  const auto [start, bytes] = allocation_at(address);
  if (bytes > 0 && arguments_within(start, bytes) < 2) followed().history.read_only.push_back({start, bytes});
  if (undefined_results().is_other()) return p;
  if (bytes == 0 || bytes > most || arguments_within(start, bytes) < 2 || coverage.sampled ||
      parameters.parted[{running_launch.place.line(), parameter}]++ == often)
    return p;
  finding f;
  f.kind = finding_kind::race;
  f.access.action = "a launch of which a __restrict__ parameter reads what another pointer writes";
  f.missing = sentence::unaliased_hoisted;
  finding in_place = f;
  in_place.missing = sentence::unaliased;
  in_place.in_practice = sentence::gpu_restrict;
  if (!undefined_results().parts(followed().places.number_of(running_launch.place), f, in_place)) return p;
  void* const copy = device().allocate(bytes);
  std::memcpy(copy, reinterpret_cast<const void*>(start), bytes);  // NOLINT: an address
  followed().memory.set(copy, bytes, checker_detail::cell_state::written);
  parameters.moved = {parameter, start, reinterpret_cast<std::uintptr_t>(copy), bytes};
  return restricted(p, parameter);
}
namespace {
// From the end of the thread's stack: the same for all threads of a launch.
std::size_t place_on_stack(const void* p) {
  const checker_detail::address_range& stack = followed().host.stack;
  return stack.low + stack.size - reinterpret_cast<std::uintptr_t>(p);
}
}  // namespace

void note_copied_parameter(const void* p, std::size_t bytes) {
  if (on_device() && machine::current->index == 0) parameters.copied[place_on_stack(p)] = bytes;
}
void check_map(const void* map, place where) {
  const std::size_t at = place_on_stack(map);
  const auto in = parameters.copied.lower_bound(at);
  if (in != parameters.copied.end() && at > in->first - in->second)
    followed().note_here(
        finding_kind::bad_copy, followed().places.number_of(where),
        "a tensor map in a parameter that is not __grid_constant__", "",
        explanation(
            sentence::argument,
            {"const __grid_constant__ before the parameter: without it each thread has a copy in local "
             "memory, where the copy engine cannot read"}));
}
namespace {
// True if the launch has read by the parameter that was moved what it has written by other pointers.
bool reads_what_is_written() {
  checker_detail::shadow& memory = followed().memory;
  const std::size_t own = memory.offset_of(
                        reinterpret_cast<const void*>(parameters.moved.start)),       // NOLINT: an address
      copy = memory.offset_of(reinterpret_cast<const void*>(parameters.moved.copy));  // NOLINT: an address
  bool both = false;
  memory.visit_alike(copy, parameters.moved.bytes,
                     [&](const checker_detail::cell& c, std::size_t at, std::size_t) {
                       if (both || (c.first.lanes == 0 && c.more == 0)) return;
                       const checker_detail::cell& of = memory.byte(own + (at - copy));
                       both = of.has_writer() && of.block >= followed().launches.first();
                     });
  return both;
}
}  // namespace

namespace {
void add_to(std::uint64_t& n, const void* start, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(start);
  for (std::size_t i = 0; i < bytes; i += sizeof n) {
    std::uint64_t word = 0;
    std::memcpy(&word, at + i, std::min(bytes - i, sizeof word));
    n = (n ^ word) * 0x9E3779B97F4A7C15u;
    n ^= n >> 29;
  }
}
}  // namespace

void note_printed(const void* p, std::size_t bytes) { add_to(parameters.printed, p, bytes); }
// Hash of all memory that outlives the launch, of what it prints, and, unless processes have parted, of the
// findings.
std::uint64_t outcome_as_number(bool has_parted) {
  if (has_parted && parameters.moved.bytes > 0 && !reads_what_is_written()) return 0;
  std::uint64_t n = 1 + parameters.printed;
  const auto add = [&](const void* start, std::size_t bytes) { add_to(n, start, bytes); };
  for (const auto& f : followed().findings.all())
    for (const std::string& said : {f.result.memory, f.result.access.action, to_text(f.result.missing)})
      if (!has_parted) add(said.data(), said.size());
  if (forget_brought())
    n += static_cast<std::uint64_t>(getpid());  // whatever came of it: no two outcomes are alike
  visit_memory(add);
  return n | (has_parted ? 1 : 0);
}

}  // namespace antiphase::plain
