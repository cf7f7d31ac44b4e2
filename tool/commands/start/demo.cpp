// SPDX-License-Identifier: Apache-2.0
// The subcommand demo: other subcommands on real data, one after the other, with what their results mean.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tool/base/errors.hpp"
#include "tool/commands/start/examples.hpp"
#include "tool/files/npy/npy.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"

extern char** environ;

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

constexpr const char* explanation =
    "It multiplies images of handwritten digits, adds up a scan, climbs the ladders of kernels, draws a "
    "timeline and checks a CUDA program that has a race: about 20 seconds without a GPU. Each command that "
    "it runs is shown. Checking needs g++.\n\nExamples:\n  antiphase demo results    the timeline is "
    "results/overlap.html then";

struct request {
  std::string folder = "antiphase-demo";
  common_options common;
};

// Shows a command of this program and runs it. Returns its exit code.
int run(const words& command) {
  std::string shown = "$ antiphase";
  for (const std::string& w : command) shown += ' ' + w;
  print(shown + '\n');
  std::vector<char*> argv{const_cast<char*>("antiphase")};
  for (const std::string& w : command) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (const int failed = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ))
    throw error(fmt::format("{} does not start: {}", shown, std::strerror(failed)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void run_well(const words& command) {
  if (const int code = run(command); code != 0)
    throw program_failed(code,
                         fmt::format("demo: antiphase {} ended with exit code {}", command.front(), code));
}

// Images of 8 x 8 values from 0 to 16, and the digits that they show.
struct digits {
  static constexpr std::size_t side = 8, pixels = side * side;
  digits(const fs::path& folder, const std::string& which)
      : values(read_npy((folder / ("digits_" + which + ".npy")).string())),
        labels(read_npy((folder / ("labels_" + which + ".npy")).string())) {}
  std::size_t size() const { return labels.bytes().size(); }
  int label(std::size_t i) const { return static_cast<int>(labels.bytes()[i]); }
  std::span<const float> image(std::size_t i) const {
    return values.values<float>().subspan(i * pixels, pixels);
  }
  std::string line(std::size_t i, std::size_t y) const {
    static constexpr std::string_view shades = " .:-=+*#%@";
    std::string all;
    for (const float value : image(i).subspan(y * side, side))
      all += std::string(2, shades[static_cast<std::size_t>(std::lround(value * 9 / 16))]);
    return all;
  }
  npy_array values, labels;
};

// |t|^2 - 2 s.t is the squared distance of the images s and t without |s|^2, which is the same for all t.
void show_neighbours(const fs::path& data, const fs::path& product) {
  const digits test(data, "test"), train(data, "train");
  const npy_array file = read_npy(product.string());
  const std::span<const float> products = file.values<float>();
  std::vector<std::size_t> nearest(test.size());
  std::size_t right = 0, wrong = 0;  // how many; the first that is not
  for (std::size_t i = test.size(); i-- > 0;) {
    float least = INFINITY;
    for (std::size_t j = 0; j < train.size(); ++j) {
      const std::span<const float> image = train.image(j);
      const float distance = std::inner_product(image.begin(), image.end(), image.begin(), 0.0f) -
                             2 * products[i * train.size() + j];
      if (distance < least) least = distance, nearest[i] = j;
    }
    train.label(nearest[i]) == test.label(i) ? ++right : wrong = i;
  }
  const std::array<std::size_t, 3> shown{0, 5, wrong};
  std::string text = "\n";
  for (const std::size_t i : shown)
    text +=
        fmt::format("  {:36}", fmt::format("a {}, nearest: a {}{}", test.label(i), train.label(nearest[i]),
                                           test.label(i) == train.label(nearest[i]) ? "" : "  (wrong)"));
  for (std::size_t y = 0; y < digits::side; ++y) {
    text += '\n';
    for (const std::size_t i : shown)
      text += fmt::format("  {}  {}  ", test.line(i, y), train.line(nearest[i], y));
  }
  print(fmt::format("{}\n\n{} of {} test images have a nearest neighbour that shows the same digit.\n", text,
                    right, test.size()));
  if (10 * right < 9 * test.size()) throw verification_failed("demo: expected nine in ten");
}

void show_ink(const fs::path& sums) {
  const npy_array file = read_npy(sums.string());
  const std::span<const std::int64_t> totals = file.values<std::int64_t>();
  const auto half =
      std::find_if(totals.begin(), totals.end(), [&](auto t) { return 2 * t >= totals.back(); });
  print(fmt::format("\nWriting {} digits takes {} dots of ink; half of it is used up by digit {}.\n",
                    totals.size(), totals.back(), half - totals.begin() + 1));
  if (!std::is_sorted(totals.begin(), totals.end())) throw verification_failed("demo: ink was taken back");
}

void run(const request& r) {
  const fs::path shipped = shipped_examples(), data = shipped / "data", folder = r.folder;
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) throw output_failed(fmt::format("'{}' cannot be made: {}", r.folder, failed.message()));
  const auto in = [&](const char* name) { return (data / name).string(); };
  const auto out = [&](const char* name) { return (folder / name).string(); };
  const auto step = [](int number, const char* title) { print(fmt::format("\n[{}/5] {}\n", number, title)); };

  step(1,
       "A product: every test image times every training image, and what it says about handwritten digits");
  run_well({"gemm", in("digits_test.npy"), in("digits_train.npy"), "--output", out("products.npy")});
  show_neighbours(data, folder / "products.npy");
  step(2, "A scan: how much ink has been used after each digit");
  run_well({"scan", in("ink.npy"), "--output", out("ink_used.npy")});
  show_ink(folder / "ink_used.npy");
  step(3, "The ladders: one idea added at a time, each step verified");
  run_well({"ladder", "gemm", "--quiet"});
  run_well({"ladder", "scan", "--quiet"});
  step(4, "The overlap: a timeline of the running kernel with 1, 2 and 3 buffers");
  run_well({"trace", "--stages", "1,2,3", "--output", out("overlap.html")});
  step(5, "The checker: a sum in plain CUDA that has lost its barriers");
  const int found = run({"check", (shipped / "plain_cuda/sum.cu").string()});
  if (found == 0) throw verification_failed("demo: antiphase check found nothing: expected a race");
  if (found != 5) print("\nThat could not be checked here, for the reason above.\n");
  print(fmt::format("\nDone. The timeline to open in a browser is {}\n", out("overlap.html")));
}

}  // namespace

void add_demo(arguments program) {
  arguments command = program.add_subcommand("demo", "See it work on real data: in less than a minute");
  const auto r = std::make_shared<request>();
  command.add_option("folder", r->folder, "Where results go")
      .check(not_empty())
      .shows_default()
      .type_name("FOLDER");
  command.footer(explanation);
  command.runs([r] { run(*r); });
}

}  // namespace antiphase::tool
