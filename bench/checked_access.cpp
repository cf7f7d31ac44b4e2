// SPDX-License-Identifier: Apache-2.0
// The cost of checking: the same schedule of the same kernels plain, instrumented without an observer, and
// checked. One thread, processor time, the least of several runs.
//
//     bench_checked_access FOLDER [RUNS]      FOLDER: bench, which holds the programs in plain CUDA
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <antiphase/checker.hpp>
#include <antiphase/executor/forwarding_executor.hpp>
#include <antiphase/gemm.hpp>
#include <antiphase/plain_cuda.hpp>
#include <antiphase/scan.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace antiphase;
using program = std::function<void(const context&)>;

double seconds(int who) {
  rusage used{};
  getrusage(who, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}
double least(int runs, int who, const std::function<void()>& what) {
  double all = 1e9;
  for (int i = 0; i < runs; ++i) {
    const double start = seconds(who);
    what();
    all = std::min(all, seconds(who) - start);
  }
  return all;
}

// Runs kernels compiled for the checker, without an observer.
class unwatched final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  target kind() const override { return target::checked; }
};

std::vector<float> numbers(std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i % 13) - 5;
  return all;
}
program product(std::int64_t size, const char* policy, int times) {
  return [=, input = numbers(size * size)](const context& where) {
    const device_array<float> a(where, std::span<const float>(input)),
        b(where, std::span<const float>(input));
    device_array<float> c(where, input.size());
    for (int i = 0; i < times; ++i)
      gemm(where,
           {.a = row_major(a.data(), size, size),
            .b = row_major(b.data(), size, size),
            .c = row_major(c.data(), size, size)},
           {.policy = policy});
  };
}
program one_scan(std::int64_t length, int times) {
  return [=, input = numbers(length)](const context& where) {
    const device_array<float> in(where, std::span<const float>(input));
    device_array<float> out(where, input.size());
    for (int i = 0; i < times; ++i) scan(where, {.in = in.data(), .out = out.data(), .length = length});
  };
}

check_options one_schedule(int schedules = 1) {
  return {.schedules = schedules,
          .orders = {schedule::random},
          .copies = {landing::late},
          .resident_blocks = {1},
          .workers = 1,
          .shorten = false};
}

void print(const std::string& name, double plain, double unlistened, double checked, double accesses) {
  std::cout << fmt::format(
      R"({{"kernel": "{}", "plain_s": {:.4f}, "instrumented_s": {:.4f}, "checked_s": {:.4f}, "accesses": {:.0f}, "checked_by_plain": {:.2f}, "checked_by_instrumented": {:.2f}, "ns_per_access": {:.2f}}})"
      "\n",
      name, plain, unlistened, checked, accesses, checked / plain, checked / unlistened,
      (checked - unlistened) / accesses * 1e9);
  std::cout.flush();
}

void of_library(const char* name, const program& p, int runs) {
  // The options that check() uses.
  cpu_options like{.seed = 1, .order = schedule::random, .copies = landing::late, .workers = 1};
  like.resident_blocks = 1;
  like.sums = tensor_sums::plain;
  const context plain(make_cpu_executor(like)),
      instrumented(std::make_shared<unwatched>(make_cpu_executor(like)));
  check_report report = check(p, one_schedule());
  if (!report.clean()) throw std::runtime_error(fmt::format("{} is not clean: {}", name, to_text(report)));
  const double without = least(runs, RUSAGE_SELF, [&] { p(plain); });
  const double unlistened = least(runs, RUSAGE_SELF, [&] { p(instrumented); });
  const double with = least(runs, RUSAGE_SELF, [&] { check(p, one_schedule()); });
  print(name, without, unlistened, with, static_cast<double>(report.accesses));
}

// A wrapper around g++ that drops `option`. Returns its path.
std::string compiler_without(const std::string& option) {
  std::string file = "/tmp/checked_access_XXXXXX";
  const int made = mkstemp(file.data());
  if (made < 0) throw std::runtime_error("no temporary file can be made");
  close(made);
  std::ofstream(file) << "#!/bin/sh\nfor a; do shift; [ \"$a\" = " << option
                      << " ] || set -- \"$@\" \"$a\"; done\nexec g++ \"$@\"\n";
  chmod(file.c_str(), 0700);
  return file;
}

// Seconds per schedule of a program: those of eight more schedules, divided by eight, so that compilation and
// startup are left out.
double schedule_of(const plain_program& p, int runs, double& accesses) {
  const auto of = [&](int schedules) {
    return least(runs, RUSAGE_CHILDREN, [&] {
      const check_report report = check_plain(p, one_schedule(schedules));
      if (!report.clean() || report.unfinished > 0) throw std::runtime_error(to_text(report));
      accesses = static_cast<double>(report.accesses) / schedules;
    });
  };
  const double one = of(1), nine = of(9);
  return (nine - one) / 8;
}
void of_program(const std::string& folder, const char* name, int runs) {
  plain_program p;
  p.sources = {folder + "/" + name + ".cu"};
  p.most_threads = p.most_accesses = 0;
  double accesses = 0, none = 0;
  const double with = schedule_of(p, runs, accesses);
  p.compiler = compiler_without("-fsanitize=thread");
  const double without = schedule_of(p, runs, none);
  unlink(p.compiler.c_str());
  print(std::string("plain CUDA: ") + name, without, without, with, accesses);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: bench_checked_access FOLDER [RUNS [NAME]]\n";
    return 2;
  }
  const int runs = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string wanted = argc > 3 ? argv[3] : "";
  const auto is_wanted = [&](const std::string& name) {
    return wanted.empty() || name.find(wanted) != std::string::npos;
  };
  const std::pair<const char*, program> all[] = {{"gemm naive 128^3", product(128, "naive", 4)},
                                                 {"gemm tiled 128^3", product(128, "tiled", 4)},
                                                 {"gemm async-2 128^3", product(128, "async-2", 4)},
                                                 {"gemm split 128^3", product(128, "fp16", 1)},
                                                 {"scan 2^18", one_scan(1 << 18, 4)}};
  for (const auto& [name, p] : all)
    if (is_wanted(name)) of_library(name, p, runs);
  for (const char* name : {"product", "tiles", "reduction", "stencil", "transpose", "scan"})
    if (is_wanted(std::string("plain CUDA: ") + name)) of_program(argv[1], name, runs);
}
