// SPDX-License-Identifier: Apache-2.0
// The subcommand advise: when double buffering pays, and with which policy. No GPU is needed, and except for
// a program in plain CUDA nothing runs.
#include <antiphase/advise.hpp>

#include <fmt/format.h>

#include <antiphase/context.hpp>
#include <antiphase/core/error.hpp>
#include <antiphase/core/names.hpp>
#include <cmath>
#include <memory>
#include <optional>

#include "tool/base/wrap.hpp"
#include "tool/commands/advise/advise.hpp"
#include "tool/program/command.hpp"
#include "tool/program/profiles.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

constexpr std::size_t shown = 8;

constexpr const char* explanation =
    "Without a GPU all is the same: it predicts, for an H200 if --device does not say otherwise.\n\n"
    "Predictions are those of docs/learn/model.md, which says how good they are. gain: in speed over one "
    "stage; the textbooks' formula, (Tl + Tc) / max(Tl, Tc), is what it guarantees to two. in flight: bytes "
    "that a multiprocessor has asked "
    "for; memory is busy with "
    "bandwidth x latency under load of them (Little's law). bandwidth: the share of it that the bytes take "
    "which have to be moved.\n"
    "\n"
    "Of a program in plain CUDA it runs what antiphase check runs, once, and fills a slot's bytes, loads, "
    "times "
    "and form from that, registers from ptxas if there is an nvcc (else 32).\n"
    "\n"
    "Examples:\n"
    "  antiphase advise my.cu -I include -- input.txt\n"
    "      every kernel of it that fills and reads parts of shared memory alternately\n"
    "  antiphase advise --from own.json\n"
    "      a timeline that a program recorded (docs/learn/timelines.md), or antiphase/record.h\n"
    "  antiphase advise gemm --m 4096 --n 4096 --k 4096\n"
    "  antiphase advise scan --size 1000000 --device A100\n"
    "  antiphase advise --kernel smem=16KiB,regs=64,load=16KiB,compute=900clk,threads=256\n"
    "      a kernel of your own: a slot's bytes, registers of a thread, what a step loads (or how long that "
    "takes: load=700clk), "
    "how long a block computes from a slot, and "
    "blocks= if a launch has few for each multiprocessor. copy=async (default), bulk or registers; "
    "form=pipeline (all warps load and compute, S - 1 loads are "
    "in flight) or roles (some warps only load, S are; what copy=bulk means if nothing is said). "
    "next=before: "
    "a pipeline's copies begin before the wait for the slot in use, or a single slot's next data wait in "
    "registers; next=blocking: they are waited for before the computation. slots=2,step=1100clk: what a step "
    "is known to take with so many buffers\n"
    "  antiphase advise gemm --m 512 --n 512 --k 512 --device my_gpu.json --json\n"
    "      a machine profile that antiphase info --measure wrote";

struct request {
  gemms::product_size size;
  std::optional<std::int64_t> count, square;
  std::int64_t element = 4;
  std::string device, kernel, recording;
  program_request program;
  common_options common;
};

// A shipped profile's name or a file; if empty, the profile of the first GPU, or of the H200 if there is
// none.
machine_profile profile_for(const std::string& device, std::string& why) {
  if (!device.empty()) return named_profile(device);
  const context best = context::best(&why);
  if (best.kind() == target::cuda) return profile_of(best.limits());
  why = "no GPU is usable here, so it is about an H200 (--device)";
  return shipped_profile("H200");
}

std::string us(double seconds) { return fmt::format("{:.2f}", seconds * 1e6); }

}  // namespace

namespace {

std::string by_tiles_text(const std::vector<advised_tiles>& list) {
  if (list.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"tiles of a block", "two buffers, by the formula", "advised buffers"}};
  for (const advised_tiles& t : list)
    rows.push_back({fmt::format("{}", t.tiles), fmt::format("{:+.1f} %", 100 * t.textbook_gain + 0.),
                    fmt::format("{:+.1f} %", 100 * t.gain + 0.)});
  return "\n" + table_text(rows, terminal_columns()) +
         wrapped(
             "the first load and the last computation are never hidden: of the time that buffers save of a "
             "long "
             "run, n tiles save (n - 1) / n\n");
}

std::string textbook_text(const std::vector<textbook_tile>& list) {
  if (list.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"tile", "Tl ns", "Tc ns", "Tc without the 2", "Tc / Tl", "formula's gain"}};
  for (const textbook_tile& t : list)
    rows.push_back({fmt::format("{0} x {0}", t.extent), fmt::format("{:.1f}", t.times.load * 1e9),
                    fmt::format("{:.1f}", t.times.compute * 1e9),
                    fmt::format("{:.1f}", t.times.compute * 1e9 / 2),
                    fmt::format("{:.2f}", t.times.compute / t.times.load),
                    fmt::format("{:+.0f} %", 100 * (t.times.gain() - 1))});
  return wrapped(
             "\nthe textbooks' formulas, for a multiprocessor: Tl = 2 x T^2 x 4 bytes / bandwidth, Tc = 2 x "
             "T^3 "
             "/ (FLOP/s), both at their peak\n") +
         table_text(rows, terminal_columns());
}

}  // namespace

std::string text_of(const advice& a) {
  const bool own = a.pipelined == "this kernel";
  std::string text = wrapped(fmt::format("{}, on {}", a.about, a.machine.limits.name)) + "\n";
  const auto list = [&](std::string_view head, const std::vector<std::string>& sentences) {
    if (sentences.empty()) return;
    text += fmt::format("\n{}\n", head);
    for (const std::string& s : sentences) text += wrapped(fmt::format("  {}", s)) + "\n";
  };
  list("advice", a.recommends);
  list("what limits it", a.limits);
  list("what would change the answer", a.changes);
  if (!own && !a.others.empty()) {
    std::vector<std::vector<std::string>> rows{{"policy", "predicted us", "limit"}};
    for (const advised_policy& p : a.others)
      if (rows.size() <= shown)
        rows.push_back({p.name, us(p.takes.seconds), std::string(name(p.takes.largest()))});
    // Two lists, each sorted from the fastest: candidates of `auto`, and ladder steps, which must be
    // requested by name.
    if (const std::size_t first = a.compared + 1; a.compared > 0 && first < rows.size())
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(first),
                  {"---", "steps of the ladder, by name:"});
    text += "\n" + table_text(rows, terminal_columns());
  }
  if (!a.stages.empty()) {
    std::vector<std::vector<std::string>> rows{{"stages", own ? "step us" : "us", "gain", "shared B",
                                                "blocks", "occupancy", "in flight KiB", "bandwidth",
                                                "limit"}};
    if (own) rows.front().insert(rows.front().begin() + 3, "at least");
    for (const advised_stages& s : a.stages)
      rows.push_back(
          s.fits ? std::vector<std::string>{fmt::format("{}", s.stages),
                                            own ? fmt::format("{:.3f}", s.seconds * 1e6) : us(s.seconds),
                                            s.stages == 1
                                                ? ""
                                                : fmt::format("{:+.1f} %", std::round(1000 * s.gain) / 10 +
                                                                               0.) /* -0 + 0 is 0 */,
                                            fmt::format("{}", s.shared_bytes), fmt::format("{}", s.resident),
                                            fmt::format("{:.0f} %", 100 * s.occupancy),
                                            fmt::format("{:.1f}", s.bytes_in_flight / 1024),
                                            s.bandwidth > 0 ? fmt::format("{:.0f} %", 100 * s.bandwidth) : "",
                                            std::string(name_of(a, s.largest))}
                 : std::vector<std::string>{fmt::format("{}", s.stages),
                                            fmt::format("{} B of shared memory do not fit", s.shared_bytes)});
    if (own)
      for (std::size_t i = 0; i < a.stages.size(); ++i)
        if (const advised_stages& s = a.stages[i]; s.fits)
          rows[i + 1].insert(rows[i + 1].begin() + 3,
                             s.stages == 1 ? "" : fmt::format("{:+.0f} %", 100 * s.least_gain + 0.));
    text += wrapped(fmt::format("\nstages of {}; the textbooks' formula predicts {:+.1f} % to two\n",
                                a.pipelined, 100 * (a.textbook_gain - 1)));
    text += table_text(rows, terminal_columns());
    if (own)
      text += wrapped(
          "\"At least\" is the gain if the model errs as it did at worst for measured kernels, one block on "
          "a "
          "multiprocessor: by 12 % with two buffers, 27 % with three, 42 % with four, 73 % with more "
          "(docs/learn/model.md)\n");
    text += wrapped(fmt::format("{} is kept busy by {:.1f} KiB in flight on each multiprocessor\n",
                                a.in_cache ? "the L2 cache" : "memory", a.bytes_needed_in_flight / 1024));
    if (own)
      text += wrapped(
          fmt::format("{} slots fit into shared memory: so many stages CUTLASS's StageCountAuto takes\n",
                      a.stages_that_fit));
  }
  text += by_tiles_text(a.by_tiles) + textbook_text(a.textbook);
  return text;
}

namespace {

void tell(const advice& a, const request& r, const std::string& why) {
  if (!why.empty()) say(r.common, why);
  if (r.common.json)
    print_json(json::parse(to_json_text(a)));
  else
    print(text_of(a));
}

template <class Advise> void run(const request& r, Advise advise) {
  std::string why;
  const machine_profile on = profile_for(r.device, why);
  tell(advise(on), r, why);
}

void add_device_options(arguments command, const std::shared_ptr<request>& r) {
  command
      .add_option(
          "--device", r->device,
          fmt::format("{}, or a file that info --measure wrote (default: the GPU here, else the H200)",
                      profile_names()))
      .check(not_empty())
      .type_name("NAME");
  add_common_options(command, r->common);
}

}  // namespace

void add_advise(arguments program) {
  arguments command = program.add_subcommand(
      "advise", "Say which policy and how many buffers suit a product, a scan or a kernel of your own (.cu)");
  command.footer(explanation);
  const auto own = std::make_shared<request>();
  command
      .add_option("PROGRAM", own->program.kernels, "A program in plain CUDA (.cu files, then its arguments)")
      .type_name("...");
  add_compiler_options(command, {own, &own->program});
  command
      .add_option("--seconds", own->program.seconds,
                  "A program's run that takes longer is stopped, and nothing is said (default: 60)")
      .check(integer_from(1))
      .type_name("S");
  command.add_option("--from", own->recording, "A recorded timeline of a kernel of your own")
      .check(not_empty())
      .type_name("FILE");
  command
      .add_option("--kernel", own->kernel,
                  "A kernel of your own: smem=, compute=, issue=, regs=, load=, from=, threads=, fixed=, "
                  "blocks=, copy=, form=, next=, slots=, step=")
      .type_name("MEMBERS");
  add_device_options(command, own);
  command.runs([own] {
    const bool of_program = !own->program.kernels.empty();
    if (static_cast<int>(of_program) + !own->kernel.empty() + !own->recording.empty() > 1)
      throw bad_usage("advise: expected one of a program, --kernel and --from");
    if (of_program || !own->recording.empty()) {
      std::string why;
      const machine_profile on = profile_for(own->device, why);
      own->program.common = own->common;
      if (!why.empty()) say(own->common, why);
      return of_program ? advise_program(own->program, on)
                        : advise_recording(own->common, own->recording, on);
    }
    if (own->kernel.empty())
      throw bad_usage(
          "advise: expected gemm, scan, a program (.cu), --from FILE, or --kernel smem=...,compute=...");
    run(*own, [&](const machine_profile& on) { return advise_kernel(on, parse_kernel(on, own->kernel)); });
  });

  arguments gemm = command.add_subcommand("gemm", "A product C = A B of FP32");
  const auto product = std::make_shared<request>();
  product->size.count = 1;
  const auto extent = [&](const char* option, std::int64_t& to, const char* about) {
    gemm.add_option(option, to, about)
        .required()
        .check(integer_between(1, (std::int64_t{1} << 31) - 1))
        .type_name("N");
  };
  extent("--m", product->size.m, "Rows of A");
  extent("--n", product->size.n, "Columns of B");
  extent("--k", product->size.k, "Columns of A");
  gemm.add_option("--batch", product->size.count, "How many products, one after the other (default 1)")
      .check(integer_from(1))
      .type_name("N");
  add_device_options(gemm, product);
  gemm.footer(explanation);
  gemm.runs([product] {
    run(*product, [&](const machine_profile& on) { return advise_gemm(on, product->size); });
  });

  arguments scan = command.add_subcommand("scan", "Inclusive sums of an array");
  const auto line = std::make_shared<request>();
  scan.add_option("--size", line->size.n, "Number of elements")
      .required()
      .check(integer_from(1))
      .type_name("N")
      .otherwise("--n");
  scan.add_option("--bytes", line->element, "Of an element: 1, 2, 4 (default) or 8")
      .check(integer_between(1, 8))
      .type_name("N");
  add_device_options(scan, line);
  scan.footer(explanation);
  scan.runs([line] {
    run(*line, [&](const machine_profile& on) {
      return advise_scan(on, line->size.n, static_cast<std::size_t>(line->element));
    });
  });
}

}  // namespace antiphase::tool
