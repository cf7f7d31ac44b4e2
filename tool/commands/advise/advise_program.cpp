// SPDX-License-Identifier: Apache-2.0
// The subcommand advise on kernels that ran: as a program in plain CUDA, or in a recording.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <antiphase/trace.hpp>
#include <memory>

#include "tool/base/errors.hpp"
#include "tool/base/wrap.hpp"
#include "tool/commands/advise/advise.hpp"
#include "tool/files/file_handle.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/measure/ptxas.hpp"
#include "tool/pictures/origin.hpp"
#include "tool/program/text/console.hpp"

namespace antiphase::tool {
namespace {

using next_loads = pipeline_step::next_loads;

// As parse_kernel() reads it, so that a user can change a member and ask again.
std::string members_of(const own_kernel& k, double clock) {
  std::string text = fmt::format("smem={},regs={},threads={}", k.smem, k.registers, k.threads);
  if (k.fixed > 0) text += fmt::format(",fixed={}", k.fixed);
  if (k.blocks > 0) text += fmt::format(",blocks={}", k.blocks);
  if (k.load_bytes) text += fmt::format(",load={:.0f}", *k.load_bytes);
  if (k.load_seconds) text += fmt::format(",load={:.0f}clk", *k.load_seconds * clock);
  text += fmt::format(",compute={:.0f}clk", k.compute * clock);
  if (k.issue > 0) text += fmt::format(",issue={:.0f}clk", k.issue * clock);
  text += fmt::format(",copy={},form={}", k.asynchronous ? "async" : "registers",
                      k.by_roles ? "roles" : "pipeline");
  if (k.next != next_loads::after)
    text += fmt::format(",next={}", k.next == next_loads::before ? "before" : "blocking");
  if (k.in_cache) text += ",from=cache";
  if (k.slots > 0) text += fmt::format(",slots={},step={:.0f}clk", k.slots, k.step * clock);
  return text;
}

const advised_stages* row_of(const advice& a, int stages) {
  const auto row =
      std::ranges::find_if(a.stages, [&](const advised_stages& s) { return s.fits && s.stages == stages; });
  return row == a.stages.end() ? nullptr : &*row;
}

own_kernel kernel_of(const timed_kernel& k, const machine_profile& on, int registers) {
  const std::size_t ring = k.slot_bytes * static_cast<std::size_t>(k.drawn.stages);
  const auto processors = static_cast<std::uint64_t>(std::max(1, on.limits.multiprocessors));
  const std::uint64_t blocks = (k.grid.count() + processors - 1) / processors;
  own_kernel own{.smem = k.slot_bytes,
                 .fixed = k.shared_bytes - std::min(k.shared_bytes, ring),
                 .registers = registers,
                 .threads = k.threads,
                 .load_bytes = k.load_bytes,
                 .load_seconds = k.load_ticks / on.clock.value,
                 .compute = std::max(1., k.compute_ticks) / on.clock.value,
                 .issue = k.issue_ticks / on.clock.value,
                 .asynchronous = k.asynchronous,
                 .blocks = blocks <= 32 ? static_cast<int>(blocks) : 0,
                 .by_roles = k.by_roles,
                 .next = k.early                                                     ? next_loads::before
                         : k.drawn.loads_block.value_or(false) && k.drawn.stages > 1 ? next_loads::blocking
                                                                                     : next_loads::after,
                 .in_cache = k.in_cache};
  // the timeline's step, if it is of as many blocks on a multiprocessor
  const advice predicted = advise_kernel(on, own);
  const advised_stages* row = row_of(predicted, k.drawn.stages);
  if (const double step = steady_time(k.drawn); step > 0 && row != nullptr && row->resident == k.resident)
    own.slots = k.drawn.stages, own.step = step / on.clock.value;
  return own;
}

// Whether its blocks fill the device, and what is advised where they do.
struct launch_size {
  std::uint64_t blocks = 0, room = 0;
  int resident = 0;  // on a multiprocessor, if it is full
  advice filled{};
  bool is_small() const { return blocks < room; }
};
launch_size size_of_launch(const timed_kernel& k, const machine_profile& on, own_kernel own) {
  own.blocks = own.slots = 0, own.step = 0;
  launch_size s{.blocks = k.grid.count(), .filled = advise_kernel(on, own)};
  if (const advised_stages* row = row_of(s.filled, k.drawn.stages))
    s.resident = row->resident,
    s.room = static_cast<std::uint64_t>(row->resident * std::max(1, on.limits.multiprocessors));
  return s;
}
std::string text_of(const launch_size& s, const timed_kernel& k, const machine_profile& on) {
  if (!s.is_small()) return "";
  std::string text = fmt::format(
      "the launch is too small to fill the device: {} {}, and {} multiprocessors have room for {}", s.blocks,
      s.blocks == 1 ? "block" : "blocks", on.limits.multiprocessors, s.room);
  if (s.resident > k.resident)
    text += fmt::format(", {} on each. With so many: {}. What follows is of {} on each", s.resident,
                        s.filled.recommends.front(), k.resident);
  return text;
}

// Of a kernel whose loads block its warps: what it takes if they do not.
std::string not_blocking_text(const advice& a, const timed_kernel& k, const machine_profile& on,
                              own_kernel own) {
  if (own.next != next_loads::blocking) return "";
  own.next = next_loads::after, own.slots = 0, own.step = 0;
  const advice mended = advise_kernel(on, own);
  const advised_stages *now = row_of(a, k.drawn.stages), *then = row_of(mended, k.drawn.stages);
  if (now == nullptr || then == nullptr) return "";
  return fmt::format(
      "its loads are waited for before the computation, so that the table is of that. Stored after "
      "it, a step is predicted to take {:.0f} clocks, {:+.1f} %",
      then->seconds * then->resident * on.clock.value, 100 * (now->seconds / then->seconds - 1));
}

}  // namespace

void advise_program(const program_request& r, const machine_profile& on) {
  if (!is_source(r.kernels.front()))
    throw bad_request(fmt::format("{}: expected gemm, scan or a .cu file", tool::quoted(r.kernels.front())));
  const std::vector<timed_kernel> kernels =
      timed_program(r, {.profile = std::make_shared<const machine_profile>(on)});
  const kernel_registers registers = registers_of(program_of(r), on.limits);
  if (registers.empty()) say(r.common, "no nvcc compiles it here, so a thread is taken to have 32 registers");
  json list = json::array();
  std::string text;
  for (const timed_kernel& k : kernels) {
    const std::string& name = k.drawn.policy;
    if (k.slot_bytes == 0 || k.of_results || k.drawn.steps < 2 || k.compute_ticks <= 0) {
      say(r.common,
          fmt::format("{}: no advice: it has no buffers that are loaded and read alternately", name));
      continue;
    }
    const own_kernel own = kernel_of(k, on, registers.of(name).value_or(32));
    const advice a = advise_kernel(on, own);
    const std::string members = members_of(own, on.clock.value);
    const launch_size launch = size_of_launch(k, on, own);
    const std::string small = text_of(launch, k, on), mended = not_blocking_text(a, k, on, own);
    list.push_back({{"kernel", name},
                    {"members", members},
                    {"has_stages", k.drawn.stages},
                    {"registers_known", registers.of(name).has_value()},
                    {"modelled_step_clocks", k.step_ticks},
                    {"resident", k.resident},
                    {"launch",
                     {{"blocks", launch.blocks},
                      {"room", launch.room},
                      {"filled", launch.is_small() ? json::parse(to_json_text(launch.filled)) : json()}}},
                    {"loads_block", own.next == next_loads::blocking},
                    {"advice", json::parse(to_json_text(a))}});
    text += wrapped(fmt::format(
                "{}kernel {}: {} {} of {} bytes; antiphase trace models {:.0f} clocks a step, of "
                "which {:.0f} are not loading",
                text.empty() ? "" : "\n", name, k.drawn.stages, k.drawn.stages == 1 ? "buffer" : "buffers",
                k.slot_bytes, k.step_ticks, k.compute_ticks)) +
            "\n";
    if (!small.empty()) text += wrapped(small) + "\n";
    text += fmt::format("--kernel {}\n", members) + text_of(a);
    if (!mended.empty()) text += wrapped(mended) + "\n";
    for (const std::string& n : k.drawn.notes) text += wrapped(fmt::format("note: {}", n)) + "\n";
  }
  if (list.empty())
    throw bad_input(
        fmt::format("{} has no kernel to advise on: expected one that loads parts of shared memory and reads "
                    "them, alternately",
                    r.kernels.front()));
  if (r.common.json)
    print_json({{"schema", 1}, {"command", "advise"}, {"program", r.kernels.front()}, {"kernels", list}});
  else
    print(text);
}

void advise_recording(const common_options& common, const std::string& file, const machine_profile& on) {
  timeline t;
  try {
    t = timeline_of(whole_file(file));
  } catch (const bad_request& e) {
    throw bad_input(fmt::format("{}: {}", input_name(file), e.what()));
  }
  const overlap o = measure(t);
  if (o.steps == 0)
    throw bad_input(fmt::format("{}: expected a timeline with complete steps", input_name(file)));
  if (t.step_bytes <= 0)
    throw bad_input(fmt::format("{}: it does not say how many bytes a step loads: expected step_bytes",
                                input_name(file)));
  own_kernel own{.smem = static_cast<std::size_t>(t.step_bytes),
                 .threads = 32 * t.warps,
                 .load_bytes = static_cast<double>(t.step_bytes),
                 .load_seconds = {},
                 .compute = std::max(1., o.busy_time) / on.clock.value,
                 .asynchronous = !o.loads_block,
                 .by_roles = !t.roles.empty()};
  if (o.load_time > 0) own.load_seconds = o.load_time / on.clock.value;
  const advice a = advise_kernel(on, own);
  if (common.json) return print_json(json::parse(to_json_text(a)));
  print(wrapped(fmt::format(
            "{} {}: {} {}, {:.0f} {} a step, of which {:.0f} wait for no data; a thread is taken to "
            "have 32 registers",
            t.kernel, t.policy, t.stages, t.stages == 1 ? "stage" : "stages", o.step_time, t.unit,
            o.busy_time)) +
        "\n" + fmt::format("--kernel {}\n", members_of(own, on.clock.value)) + text_of(a));
}

}  // namespace antiphase::tool
