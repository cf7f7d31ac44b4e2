// SPDX-License-Identifier: Apache-2.0
// Launches of kernels: now, recorded, or into a graph.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/executor/cpu/machine_verbs.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "checker/order/places.hpp"
#include "checker/plain/runtime/launches/launch_state.hpp"
#include "checker/plain/runtime/launches/streams.hpp"
#include "checker/plain/runtime/memory/memory.hpp"
#include "checker/plain/runtime/memory/undefined_values.hpp"
#include "checker/plain/runtime/run.hpp"
#include "checker/runs/executor.hpp"
#include "checker/runs/process/process.hpp"
#include "core/executor/cpu/worker.hpp"
#include "core/portable/demangled.hpp"

namespace antiphase::plain {

launch_state running_launch;

namespace {

using checker_detail::model;

// A launch in which threads poll memory without end that a later one in another stream may set. Launches run
// one after the other: it is not known before main waits, or that other one comes.
struct waiting_launch {
  std::exception_ptr deadlock;
  std::string words;
  std::vector<const void*> polled;
  checker_detail::launch_number number = 0;
};
struct launch_records {
  std::map<const void*, typed_launch> typed;  // kernels whose addresses have been taken
  recorded_launch* recording = nullptr;       // takes the next launch
  std::optional<waiting_launch> waiting;
};
launch_records launches;

void record_begun(const config& c) {
  const auto k = followed().launches.last_kernel(c.stream);
  for (cudaEvent_t e : {c.lets_begin, c.begun}) {
    if (e == nullptr || k == nullptr) continue;
    e->after = checker_detail::launch_order::begun(k);
    e->kernel = e == c.begun ? nullptr : c.lets_begin_at_once ? checker_detail::launch_order::at_once(k) : k;
    e->capture = nullptr;
  }
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
// Keeps a deadlock of threads that poll global memory until main waits. False: it is another fault, or the
// program has no streams.
bool may_wait_for_stream(const std::exception_ptr& thrown) {
  model& m = followed();
  if (!has_streams() || launches.waiting || coverage.sampled) return false;
  waiting_launch w{.deadlock = thrown, .words = launch_in_words(), .polled = {}};
  try {
    std::rethrow_exception(thrown);
  } catch (const cpu_detail::kernel_fault& f) {
    for (const void* p : f.polled)
      if (m.memory.follows(p) && m.memory.offset_of(p) >= checker_detail::shadow::shared_bytes)
        w.polled.push_back(p);
  } catch (...) {
    return false;
  }
  if (w.polled.empty()) return false;
  w.number = m.launches.latest();
  m.findings.is_closed = true;
  m.launches.host_waits = [] { end_run(end_of_waiting_launch()); };
  launches.waiting = std::move(w);
  return true;
}
// Ends the run after a launch that has thrown, or lets main go on to a launch that this one may wait for.
void end_failed_launch(const char* name) {
  const std::exception_ptr thrown = std::current_exception();
  const std::string why = message_of(thrown);
  undefined_results().launch_ended(followed(), name, [&](bool has_parted) {
    return has_parted ? 0 : outcome_as_number(false) ^ std::hash<std::string>{}(why);
  });
  name_active_mask(name, true);
  if (waits_for_host(thrown))
    end_run_with(not_supported(fmt::format(
        "kernel {} waits for a value that the host sets later; launches are synchronous here, so the "
        "program cannot be checked as it is",
        name)));
  if (may_wait_for_stream(thrown)) return;
  if (coverage.sampled && may_be_misled(thrown)) {
    followed().findings.say(fmt::format(
        "kernel {} trapped or waited without end after blocks were skipped, which is not checked. "
        "--blocks all runs all blocks",
        name));
    end_run_with(checker_detail::stopped("misled"));
  }
  if (followed().without != ring_wait::none) end_run(thrown);
  end_run_at(launch_in_words(), thrown);
}
// Starts the state of a launch anew; returns the kernel for the executor.
kernel begin_launch(const char* name, const config& c, dim3 cluster, place where, std::size_t bytes,
                    void (*body)(const void*), const void* params) {
  coverage.misled = coverage.sampled;
  running_launch = {.kernel = name,
                    .place = where,
                    .grid = c.grid,
                    .block = c.block,
                    .cluster = cluster,
                    .together = c.together,
                    .arguments = params,
                    .argument_bytes = bytes};
  if (has_host_of_nvcc()) followed().findings.launch = followed().places.number_of(where);
  forget_threads();
  forget_parameters();
  begin_keeping();
  return {.name = name,
          .threads = static_cast<int>(c.block.x * c.block.y * c.block.z),
          .shared_bytes = begin_shared_variables(c.shared),
          .shared = shared_kind::dynamic,
          .blocks = c.together ? residency::together : residency::any,
          .cluster = static_cast<int>(cluster.x * cluster.y * cluster.z),
          .overlaps_previous = c.overlaps,
          .params_bytes = bytes,
          .body = body};
}
// Runs a launch while another waits, to see whether it sets what that one polls. What else it does is not
// checked.
void run_next_to_waiting(const kernel& k, const config& c, const void* params) {
  model& m = followed();
  const checker_detail::block_number first = m.clocks.next_block();
  const dim3 cluster = running_launch.cluster;
  checker_detail::choose_blocks(
      device(),
      cluster.y > 1 || cluster.z > 1 ? blocks_by_cluster(c.grid, cluster) : std::vector<std::uint64_t>{},
      coverage.most_accesses);
  try {
    device().launch(k, {c.grid.x, c.grid.y, c.grid.z}, params, c.stream);
  } catch (...) {  // NOLINT(bugprone-empty-catch): it may wait for the other one in its turn
  }
  const bool sets = std::ranges::any_of(launches.waiting->polled, [&](const void* p) {
    const checker_detail::cell& word = m.memory.byte(m.memory.offset_of(p));
    return word.has_writer() && word.block >= first;
  });
  if (!sets) return;
  const std::string words = launches.waiting->words;
  end_of_waiting_launch();
  end_run_with(not_supported(fmt::format(
      "{} waits for what {} sets in another stream: launches run one after the other here, and that one had "
      "not begun, so the program cannot be checked as it is",
      words, launch_in_words())));
}
void run_kernel(const kernel& k, const config& c, const block_choice& choice, const void* params) {
  model& m = followed();
  const std::size_t found_before = m.findings.all().size();
  const dim3 cluster = running_launch.cluster;
  if (!choice.blocks.empty()) leave_blocks_out();
  checker_detail::choose_blocks(
      device(), cluster.y > 1 || cluster.z > 1 ? blocks_by_cluster(c.grid, cluster) : choice.blocks,
      choice.accesses);
  try {
    device().launch(k, {c.grid.x, c.grid.y, c.grid.z}, params, c.stream);
    coverage.overlapped |= m.launches.previous() != 0;  // by an edge of a graph
    undefined_results().launch_ended(m, k.name, outcome_as_number);
  } catch (...) {
    end_failed_launch(k.name);
  }
  name_active_mask(k.name, m.findings.all().size() > found_before);
}

}  // namespace

std::string launch_in_words() {
  return fmt::format("the launch of kernel {} in {}", running_launch.kernel, text_of(running_launch.place));
}
std::exception_ptr end_of_waiting_launch() {
  if (!launches.waiting) return nullptr;
  const waiting_launch w = *std::exchange(launches.waiting, std::nullopt);
  model& m = followed();
  m.launches.host_waits = nullptr;
  m.ended_at = w.words;
  return w.deadlock;
}

// The pointer stays valid.
namespace {
std::map<const void*, std::string>& names_of_kernels() {
  static std::map<const void*, std::string> known;
  return known;
}
}  // namespace
void set_name(const void* entry, const char* name) { names_of_kernels()[entry] = name; }
const char* name_of(const void* entry) {
  const auto [at, fresh] = names_of_kernels().try_emplace(entry);
  if (fresh) at->second = checker_detail::function_at(entry);
  return at->second.empty() ? "kernel" : at->second.c_str();
}

void launch(const char* name, const config& c, place where, const void* entry, std::size_t bytes,
            void (*body)(const void*), const void* params) {
  only_by_main("a kernel is launched", where);
  const auto recorded = [&] {
    const auto* const first = static_cast<const unsigned char*>(params);
    return recorded_launch{name, c, where, entry, body, {first, first + bytes}};
  };
  if (launches.recording != nullptr) {
    *std::exchange(launches.recording, nullptr) = recorded();
    return;
  }
  if (in_host_function("a launch", where) || (any_capture() && captured(recorded()))) return;
  if (is_gone(c.stream, "a launch", where)) return;
  if (launches.waiting && followed().launches.comes_after(launches.waiting->number, c.stream)) return;
  begin_schedule();
  coverage.overlapped |= c.overlaps || c.lets_begin != nullptr;
  count_launch();
  const dim3 cluster = cluster_of(name, c, entry, body, params);
  if (!fits(name, c, cluster, entry, where)) return;
  const kernel k = begin_launch(name, c, cluster, where, bytes, body, params);
  if (launches.waiting) return run_next_to_waiting(k, c, params);
  const std::uint64_t blocks = std::uint64_t{c.grid.x} * c.grid.y * c.grid.z;
  const std::optional<block_choice> choice =
      choose_blocks(name, blocks, k.threads, c.together || k.cluster > 1);
  if (!choice) return;
  run_kernel(k, c, *choice, params);
  if (launches.waiting) return;
  note_begun_blocks(name, blocks, *choice);
  check_shared_variables();
  if (c.together && bytes_of_shared_variables() > 0)
    holds_together(name, blocks, k.threads, c.shared + bytes_of_shared_variables(), where);
  record_begun(c);
}
void launch(const recorded_launch& l, cudaStream_t on) {
  config c = l.configuration;
  c.stream = on;
  launch(l.name, c, l.place, l.entry, l.params.size(), l.body, l.params.data());
}

namespace {
using kernel_by_nvcc = void (*)(const void* const*);
std::map<std::string, kernel_by_nvcc>& kernels_by_nvcc() {
  static std::map<std::string, kernel_by_nvcc> all;
  return all;
}
// g++ and nvcc number lambdas differently, in the same order. The pre-pass makes some of a launch, too.
std::string without_numbers(const std::string& mangled) {
  std::string out;
  for (std::size_t i = 0; i < mangled.size(); ++i) {
    out += mangled[i];
    if (mangled[i] != 'E') continue;
    const std::size_t end = std::min(mangled.find_first_not_of("0123456789", i + 1), mangled.size());
    if (end < mangled.size() && mangled[end] == '_') i = end - 1;
  }
  return out;
}
// The function's name, of templates with their arguments. Types of parameters may have other names here.
std::string without_parameters(const std::string& mangled) {
  const std::string all = demangled(mangled);
  return all.substr(0, all.find('('));
}
kernel_by_nvcc kernel_called_by(const void* site) {
  const std::string name = checker_detail::mangled_at(site);
  if (const auto found = kernels_by_nvcc().find(name); found != kernels_by_nvcc().end()) return found->second;
  const auto by_number = [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  };
  const std::vector<std::string> all = checker_detail::functions_with(site);
  for (const auto& key : {&without_numbers, &without_parameters}) {
    std::set<std::string, decltype(by_number)> of_host, compiled;
    for (const auto& [known, call] : kernels_by_nvcc())
      if (key(known) == key(name)) compiled.insert(known);
    for (const std::string& other : all)
      if (key(other) == key(name)) of_host.insert(other);
    if (compiled.size() == of_host.size() && (compiled.size() == 1 || key == &without_numbers))
      return kernels_by_nvcc().at(
          *std::next(compiled.begin(), std::distance(of_host.begin(), of_host.find(name))));
  }
  checker_detail::refuse_run(fmt::format(
      "kernel {} is not among those that nvcc has compiled: expected one that its source launches",
      checker_detail::function_at(site)));
}
}  // namespace
int register_kernel(const char* name, kernel_by_nvcc call) {
  kernels_by_nvcc()[name] = call;
  return 0;
}
void by_nvcc(std::initializer_list<const void*> arguments) {
  static std::map<const void*, kernel_by_nvcc> known;  // by the call
  const void* const site = __builtin_return_address(0);
  auto found = known.find(site);
  if (found == known.end()) found = known.emplace(site, kernel_called_by(site)).first;
  found->second(arguments.begin());
}

void know_kernel(const void* entry, typed_launch how) { launches.typed[entry] = how; }
cudaError_t launch_by_address(const void* entry, const config& c, void** a, place where) {
  const auto known = launches.typed.find(entry);
  if (known == launches.typed.end())
    refuse(where, "a launch by an address whose kernel is not known",
           "the kernel itself, or a cast of its name to void*");
  known->second(entry, c, a, where);
  return last_error(false);
}
recorded_launch record_launch(const void* entry, const config& c, void** a, place where) {
  recorded_launch l;
  launches.recording = &l;
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
    case cudaLaunchAttributeNvlinkUtilCentricScheduling: break;  // no effect on what is checked
    default: refuse(where, fmt::format("launch attribute {}", static_cast<int>(id)), "no such attribute");
  }
  return cudaSuccess;
}
}  // namespace antiphase::plain
