// SPDX-License-Identifier: Apache-2.0
#include "tool/commands/start/course_gpu.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <regex>
#include <sstream>

#include "tool/base/errors.hpp"
#include "tool/base/shell.hpp"
#include "tool/base/temporary_folder.hpp"
#include "tool/files/output_file.hpp"
#include "tool/files/whole_file.hpp"
#include "tool/program/place.hpp"
#include "tool/program/text/table.hpp"

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;

// Values that the ladder has of constants that are small in labs, so that these are checked fast.
struct constant {
  int lab;
  const char *name, *value;
};
constexpr constant constants[] = {{3, "tile", "32"},        {4, "tile", "32"}, {5, "tile", "32"},
                                  {6, "tile", "32"},        {10, "dim", "64"}, {10, "keys", "16"},
                                  {10, "group_size", "128"}};

std::string with_constants(int lab, std::string text) {
  for (const constant& c : constants)
    if (c.lab == lab)
      text = std::regex_replace(
          text, std::regex(fmt::format("(constexpr\\s+int\\b[^;]*?\\b{}\\s*=\\s*)\\d+", c.name)),
          std::string("$01") + c.value, std::regex_constants::format_first_only);
  return text;
}

// The time that `antiphase ladder` measures for one step; 0: it cannot.
double ladder_time(const std::string& step) {
  const std::string tool = quoted_for_shell(fs::canonical("/proc/self/exe").string());
  const shell_output all =
      output_of_shell(fmt::format("{} ladder {} --on cuda --json --quiet 2>/dev/null", tool, step));
  const json result = json::parse(all.text, nullptr, false);
  if (!result.is_object() || !result.contains("records")) return 0;
  for (const json& record : result["records"])
    if (record.contains("time_us")) return record["time_us"].value("ours", 0.0);
  return 0;
}

lab_time time_of(const json& line) {
  const json& other = line.at("reference");
  lab_time t{.kernel = line.at("name"),
             .us = line.at("us"),
             .amount = line.at("amount"),
             .unit = line.at("unit"),
             .right = line.at("right"),
             .reference = other.at("name"),
             .reference_us = other.at("us"),
             .alike = other.at("alike")};
  if (const std::string step = other.at("ladder"); !step.empty()) t.reference_us = ladder_time(step);
  return t;
}

std::string rate_text(const lab_time& t) {
  return fmt::format("{:.4g} G {}/s", t.amount / t.us / 1e3, t.unit);
}
// The gain in speed of a row over the one before.
std::string gain_text(double before, double now) {
  return before > 0 && now > 0 ? fmt::format("{:+.0f} %", 100 * (before / now - 1)) : "";
}

}  // namespace

std::vector<lab_time> time_on_gpu(const fs::path& course, int lab, const std::string& file) {
  if (output_of_shell("command -v nvcc").status != 0)
    throw not_supported(
        "--on cuda compiles the lab with nvcc, which was not found: expected a CUDA toolkit's folder bin in "
        "PATH");
  const temporary_folder own("lab");
  if (own.path.empty()) throw output_failed("no folder can be made for the lab's program");
  const fs::path source = own.path / "start.cu", program = own.path / "lab";
  output_file out(source.string());
  out.write(fmt::format("#line 1 \"{}\"\n", file) + with_constants(lab, whole_file(file)));
  out.commit();
  const std::string command =
      fmt::format("nvcc -std=c++17 -O3 -arch=native -I {} -DLAB={} {} {} -o {} 2>&1",
                  quoted_for_shell(fs::absolute(file).parent_path().string()), lab,
                  quoted_for_shell(fmt::format("-DSTART=\"{}\"", source.string())),
                  quoted_for_shell((course / "gpu.cu").string()), quoted_for_shell(program.string()));
  if (const shell_output compiled = output_of_shell(command); compiled.status != 0)
    throw bad_input(fmt::format("nvcc does not compile {}:\n{}", file, compiled.text));
  constexpr int seconds = 60;
  const shell_output ran =
      output_of_shell(fmt::format("timeout {} {} 2>&1", seconds, quoted_for_shell(program.string())));
  if (ran.status != 0) {
    choose_place({.executor = "cuda"});  // says why there is no GPU
    throw bad_input(ran.status == 124
                        ? fmt::format("{} had not ended on the GPU after {} seconds", file, seconds)
                        : fmt::format("{} failed on the GPU: {}", file, ran.text));
  }
  std::vector<lab_time> times;
  std::istringstream lines(ran.text);
  for (std::string line; std::getline(lines, line);)
    if (const json one = json::parse(line, nullptr, false); one.is_object()) times.push_back(time_of(one));
  return times;
}

std::string text_of(std::span<const lab_time> times) {
  std::vector<std::vector<std::string>> rows{
      {"on the GPU", "time", "rate", "gain", "reference", "its time", "its gain", "share of its speed"}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const lab_time& t = times[i];
    const lab_time* const before = i > 0 ? &times[i - 1] : nullptr;
    rows.push_back(
        {t.kernel, fmt::format("{:.1f} us", t.us), t.right ? rate_text(t) : "WRONG RESULT",
         before != nullptr ? gain_text(before->us, t.us) : "", t.reference.empty() ? "-" : t.reference,
         t.reference_us > 0 ? fmt::format("{:.1f} us", t.reference_us) : "-",
         before != nullptr ? gain_text(before->reference_us, t.reference_us) : "",
         t.alike && t.reference_us > 0 ? fmt::format("{:.0f} %", 100 * t.reference_us / t.us) : "-"});
  }
  return table_text(rows);
}

json to_json(std::span<const lab_time> times) {
  json all = json::array();
  for (const lab_time& t : times)
    all.push_back({{"kernel", t.kernel},
                   {"time_us", t.us},
                   {"amount", t.amount},
                   {"unit", t.unit},
                   {"right", t.right},
                   {"reference", t.reference.empty() ? json() : json(t.reference)},
                   {"reference_us", t.reference_us > 0 ? json(t.reference_us) : json()},
                   {"share", t.alike && t.reference_us > 0 ? json(t.reference_us / t.us) : json()}});
  return all;
}

}  // namespace antiphase::tool
