// SPDX-License-Identifier: Apache-2.0
// The subcommand new: a folder with a kernel on the ring, to begin one's own from.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/names.hpp>
#include <cctype>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tool/base/errors.hpp"
#include "tool/commands/start/ring_files.hpp"
#include "tool/files/folders.hpp"
#include "tool/program/command.hpp"
#include "tool/program/text/console.hpp"
#include "tool/program/text/names.hpp"

namespace antiphase::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* explanation =
    "The folder has a kernel that adds up columns of a matrix by tiles, on the ring of antiphase/ring.cuh, "
    "which lies next to it; a program that runs it and compares; and what builds it. nvcc alone compiles it, "
    "and "
    "antiphase check runs it.\n\nWithout a GPU all of that works but the program itself.\n\nExamples:\n"
    "  antiphase new my_kernel                 every thread loads and computes: cp.async\n"
    "  antiphase new my_kernel --form roles    one thread loads, by bulk copies (Hopper)";

struct form {
  std::string_view name;
  std::string_view file;  // of its kernel
  std::string_view architecture;
  std::string_view load, compute;  // what is changed first
  std::string_view advice;         // what `antiphase advise --kernel` asks for
};
constexpr form forms[] = {
    {"pipeline", "pipeline.cuh", "80", "the lambda `load`", "the lambda `compute`",
     "smem=8KiB,regs=40,threads=128,load=8KiB,compute=100clk"},
    {"roles", "roles.cuh", "90", "`bytes` and `bulk_load`", "the lines between `wait` and `release`",
     "smem=8KiB,regs=40,threads=160,load=8KiB,compute=100clk,copy=bulk,form=roles"},
};

struct request {
  std::string folder, form = "pipeline";
};

constexpr std::string_view cmake_lists = R"(cmake_minimum_required(VERSION 3.18)
project(my_kernel LANGUAGES CXX CUDA)

add_executable(my_kernel my_kernel.cu)
set_target_properties(my_kernel PROPERTIES CUDA_STANDARD 17 CUDA_ARCHITECTURES @architecture@)

enable_testing()
find_program(ANTIPHASE antiphase)
if(ANTIPHASE)
  add_test(NAME check COMMAND "${ANTIPHASE}" check "${CMAKE_CURRENT_SOURCE_DIR}/my_kernel.cu")
endif()
)";

constexpr std::string_view read_me = R"(# my_kernel

The kernel is in `my_kernel.cuh`, the program that runs it and compares in `my_kernel.cu`; `ring.cuh` is antiphase's,
the ring of slots under the kernel.

Without a GPU, races, missing waits and bad accesses; it also runs the program:

    antiphase check my_kernel.cu
    antiphase check my_kernel.cu --trace bug.html    # what was found, drawn
    antiphase count my_kernel.cu                     # bank conflicts and coalescing of every line
    antiphase trace my_kernel.cu -o my_kernel.html   # when it loads, waits and computes, on a modeled GPU
    antiphase advise my_kernel.cu                    # what more buffers would gain

With one, right or not, and its speed (with CMake: cmake -B build && cmake --build build):

    nvcc -O3 -arch=sm_@architecture@ my_kernel.cu -o my_kernel
    ./my_kernel
    ./my_kernel 20000 16896    # 132 blocks of 128 columns

How many slots pay: bytes of a slot and of a step are the kernel's, registers those of `nvcc -Xptxas -v`, and the time
that a step computes is a guess until it is measured:

    antiphase advise --kernel @advice@

To make it yours, change what a slot holds (`tile`), what fills it (@load@) and what is done with it
(@compute@); then the kernel's arguments, and in `my_kernel.cu` what it is compared with. The ring stays: it
counts the slots and waits. A slot may be a struct of several arrays, such as a tile of a matrix and one of a
vector.

To see the checker at work, take a wait or a barrier away, or let `release` come before the last use.
)";

std::string replaced(std::string text,
                     std::initializer_list<std::pair<std::string_view, std::string_view>> words) {
  for (const auto& [from, to] : words)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

std::string text_of(std::string_view file) {
  const auto all = ring_files();
  return std::string(
      std::find_if(all.begin(), all.end(), [&](const ring_file& f) { return f.name == file; })->text);
}

bool is_identifier(std::string_view name) {
  const auto fits = [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits) &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

void make(const request& r) {
  const form& chosen = forms[choice_of("--form", r.form, names_of(forms))];
  fs::path folder = r.folder;
  if (!folder.has_filename()) folder = folder.parent_path();  // of a/b/
  const std::string name = folder.filename().string();
  if (!is_identifier(name))
    throw bad_request(fmt::format(
        "'{}' cannot be the name of a kernel: expected letters, digits and _, such as my_kernel", name));
  // The bare name could be a device function's or a variable's.
  const std::string kernel = name.ends_with("_kernel") ? name : name + "_kernel";
  const auto named = [&](std::string text, const std::string& my_kernel) {
    return replaced(std::move(text), {{"<antiphase/ring.cuh>", "\"ring.cuh\""},
                                      {"pipeline.cuh", name + ".cuh"},
                                      {"my_kernel", my_kernel},
                                      {"@architecture@", chosen.architecture},
                                      {"@load@", chosen.load},
                                      {"@compute@", chosen.compute},
                                      {"@advice@", chosen.advice}});
  };
  const std::pair<std::string, std::string> files[] = {
      {name + ".cuh", named(text_of(chosen.file), kernel)},
      {name + ".cu", named(text_of("main.cu"), kernel)},
      {"ring.cuh", text_of("ring.cuh")},
      {"CMakeLists.txt", named(std::string(cmake_lists), name)},
      {"README.md", named(std::string(read_me), name)},
  };
  make_folder(folder, "a name that is free", files);
  print(
      fmt::format("{0}/{1}.cuh is the kernel, {0}/README.md says more. Next:\n"
                  "  antiphase check {0}/{1}.cu\n"
                  "  nvcc -O3 -arch=sm_{2} {0}/{1}.cu -o {0}/{1}\n",
                  folder.string(), name, chosen.architecture));
}

}  // namespace

void add_new(arguments program) {
  arguments command = program.add_subcommand(
      "new", "Begin a kernel of your own: a folder with one on the ring, and all it needs");
  const auto r = std::make_shared<request>();
  command.add_option("name", r->folder, "The folder to make; its last part names the kernel")
      .required()
      .check(not_empty())
      .type_name("NAME");
  command.add_option("--form", r->form, "pipeline: every thread loads and computes; roles: one thread loads")
      .offers(names_of(forms))
      .shows_default()
      .type_name("FORM");
  command.footer(explanation);
  command.runs([r] { make(*r); });
}

}  // namespace antiphase::tool
