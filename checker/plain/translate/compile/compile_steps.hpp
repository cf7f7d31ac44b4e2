// SPDX-License-Identifier: Apache-2.0
// Steps of a compilation that lie in files of their own.
#pragma once
#include <antiphase/plain_cuda.hpp>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "checker/plain/ptx/module.hpp"

namespace antiphase::plain {

using words = std::vector<std::string>;

// compiler_options.cpp
bool has_ending(const std::string& file, std::initializer_list<const char*> endings);
bool is_c(const std::string& source);
bool is_cuda(const std::string& source);
bool is_module(const std::string& source);  // of PTX
bool is_linked(const std::string& file);
bool is_standard(const std::string& option);
bool asks_for_older(const words& options);  // for a C++ before 20, in which concept and requires are names
bool names_toolkit(const std::string& option);  // whose headers would be found before the stand-ins
bool is_for_linker(const std::string& option);
bool is_for_preprocessor(const std::string& option);
bool is_for_compiler(const std::string& option);
std::optional<std::string> included_first(const std::string& option);  // a file included before the source
bool is_own_macro(const std::string& option);
std::string directive_of(const std::string& option);  // that an option -D or -U stands for
std::filesystem::path found_in_path(const std::string& program);
words compiler_of(const plain_program& p);
void require_gcc(const words& compiler);
std::string needs_gcc(const std::string& but);
words without_cpp(words command);  // a command for C, made of one for C++
std::filesystem::path headers_of(
    const plain_program& p);  // the stand-ins'; throws not_supported without them
// Options for units. Alignment and array bounds are checked by UndefinedBehaviorSanitizer's calls, which the
// runtime answers.
extern const words instrumented;
// A unit's options except for those of the user. What a precompiled header was compiled with must be the same
// where it is used; macros that tell of it are undone.
words preprocessing_options(const std::filesystem::path& include);

// compile_errors.cpp
constexpr const char* does_not_compile = "the program does not compile:\n";
[[noreturn]] void fail(const std::filesystem::path& errors);
void run_or_fail(const words& command, const std::filesystem::path& errors);

// edits.cpp
// Makes the changes of one line of `file`, as findings name it. False: that line has none.
bool apply_edits(std::string& line, const std::string& file, int number,
                 const std::vector<plain_edit>& edits);
std::string edited(std::string text, const std::vector<plain_edit>& edits);  // preprocessed text

// nvcc.cpp
// Compiles a source's kernels to PTX, unless that has been done, and returns the file. Throws bad_source, or
// not_supported without nvcc.
std::filesystem::path ptx_by_nvcc(const plain_program& p, const std::string& source,
                                  const std::filesystem::path& folder, int number);
std::filesystem::path host_by_nvcc(const std::filesystem::path& folder,
                                   int number);  // what it left for a host
std::string more_of_host();  // C++ that such a text lacks here, as its types are the toolkit's
// True if kernels are of libraries whose host code launches them, CUB, Thrust, CUTLASS, or if there are none.
bool belongs_to_libraries(const ptx_module::module_text& m);
// nvcc gives an asm statement of several lines its last one: here it gets its first one, where the source is.
void place_asm_at_first_lines(ptx_module::module_text& m);
std::string anonymous_of(int number);  // what anonymous namespaces of a source are called

// own_part.cpp
std::string own_part();
words wrapped_functions();                                  // of the C library
std::string sections_of_templates(const words& variables);  // a script for the linker

// work_folder.cpp
std::string read_file(const std::filesystem::path& file);
[[noreturn]] void fail_to_write(const std::filesystem::path& file, const std::string& why);

}  // namespace antiphase::plain
