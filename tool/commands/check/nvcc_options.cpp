// SPDX-License-Identifier: Apache-2.0
// nvcc's options, as copied from a Makefile, for the subcommand check. Options without an effect here are
// skipped.
#include <fmt/format.h>

#include <algorithm>
#include <antiphase/core/error.hpp>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tool/commands/check/check.hpp"

namespace antiphase::tool {
namespace {

using std::string_view;

// Names without their dashes (nvcc takes one or two). A value follows "=" or is the next word.
constexpr string_view with_value =
    " gpu-architecture arch gpu-code code generate-code gencode relocatable-device-code rdc maxrregcount ftz "
    "prec-div prec-sqrt fmad "
    "compiler-options Xcompiler linker-options Xlinker archive-options Xarchive ptxas-options Xptxas "
    "nvlink-options Xnvlink Xcudafe "
    "output-file o output-directory odir objdir-as-tempdir compiler-bindir ccbin cudart cudadevrt optimize O "
    "Ofast-compile Ofc dopt "
    "opt-info optimization-info machine m threads t split-compile keep-dir x dependency-output MF "
    "dependency-target-name MT diag-error "
    "diag-suppress diag-warn Werror ftemplate-depth ftemplate-backtrace-limit default-stream std "
    "include-path I system-include isystem "
    "define-macro D undefine-macro U library-path L library l pre-include include options-file optf ";
constexpr string_view without_value =
    " g use_fast_math lineinfo generate-line-info debug device-debug G pg profile compile c device-c dc dw "
    "dlink device-link link "
    "allow-unsupported-compiler expt-relaxed-constexpr extended-lambda expt-extended-lambda restrict "
    "resource-usage res-usage verbose v "
    "disable-warnings w keep save-temps dryrun dlto lto dlink-time-opt extra-device-vectorization "
    "forward-unknown-to-host-compiler "
    "forward-unknown-to-host-linker forward-unknown-opts source-in-ptx src-in-ptx display-error-number "
    "no-compress no-exceptions noeh "
    "shared MD MMD MP cuda no-device-link nodlink keep-device-functions extensible-whole-program ewp O0 O1 "
    "O2 O3 ";
// Libraries of the toolkit, for which the stand-in headers substitute.
constexpr string_view libraries =
    " cuda cudart cudadevrt cublas cublasLt cudnn cufft curand cusolver cusparse nvrtc nvToolsExt nvidia-ml ";

bool among(string_view names, string_view name) {
  return !name.empty() && names.find(fmt::format(" {} ", name)) != string_view::npos;
}
// The equivalent g++ option of an option that the compiler also gets.
string_view letter_of(string_view name) {
  for (const auto& [is, letter] : {std::pair<string_view, string_view>{"include-path", "-I"},
                                   {"system-include", "-I"},
                                   {"isystem", "-I"},
                                   {"define-macro", "-D"},
                                   {"undefine-macro", "-U"},
                                   {"library-path", "-L"},
                                   {"library", "-l"}})
    if (name == is) return letter;
  return {};
}
// g++'s own options, which users pass to nvcc with --forward-unknown-to-host-compiler.
bool is_of_host_compiler(string_view word) {
  return word.size() > 2 && string_view("WfmgO").find(word[1]) != string_view::npos;
}

// Options that a file holds stand where it is named.
std::vector<std::string> with_files_of_options(const std::vector<std::string>& words) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t dashes = std::min(words[i].find_first_not_of('-'), words[i].size());
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const string_view name = string_view(words[i]).substr(dashes, std::max(equals, dashes) - dashes);
    if (dashes == 0 || (name != "options-file" && name != "optf")) {
      all.push_back(words[i]);
      continue;
    }
    if (equals == words[i].size() && i + 1 == words.size())
      throw bad_request(fmt::format("{} needs a value, as in nvcc: expected a file after it", words[i]));
    const std::string file = equals == words[i].size() ? words[++i] : words[i].substr(equals + 1);
    std::ifstream in(file);
    if (!in) throw bad_request(fmt::format("there is no file '{}' of options", file));
    all.insert(all.end(), std::istream_iterator<std::string>(in), {});
  }
  return all;
}

}  // namespace

std::vector<std::string> without_nvcc_options(const std::vector<std::string>& given,
                                              std::vector<std::string>& said, string_view own) {
  if (std::none_of(given.begin(), given.end(), is_source)) return given;
  const std::vector<std::string> words = with_files_of_options(given);
  std::vector<std::string> left;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const string_view word = words[i];
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size()),
                      equals = std::min(word.find('='), word.size());
    string_view name = word.substr(dashes, std::max(equals, dashes) - dashes);
    if (dashes == 0 || dashes > 2 || name.empty() || among(own, name)) {
      left.push_back(words[i]);
      continue;
    }
    std::string value(word.substr(std::min(equals + 1, word.size())));
    if (!among(with_value, name) && dashes == 1 && name.size() > 1 && !among(without_value, name) &&
        string_view("IDULl").find(name[0]) != string_view::npos) {
      value = word.substr(2);  // -Ifolder
      name = name.substr(0, 1);
    } else if (among(with_value, name) && equals == word.size()) {
      if (i + 1 == words.size())
        throw bad_request(fmt::format("{} needs a value, as in nvcc: expected one after it", word));
      value = words[++i];
    }
    const string_view letter = name.size() == 1 && string_view("IDULl").find(name[0]) != string_view::npos
                                   ? word.substr(0, 2)
                                   : letter_of(name);
    if (!letter.empty()) {
      const bool of_toolkit =
          letter == "-l" && among(libraries, string_view(value).substr(0, value.find("_static")));
      if (!of_toolkit) left.insert(left.end(), {std::string(letter), value});
    } else if (name == "default-stream") {
      if (value != "legacy" && value != "null")
        throw bad_request(fmt::format(
            "--default-stream {} is not followed: expected legacy, with streams of the program's own",
            value));
    } else if ((name == "arch" || name == "gpu-architecture") && value.starts_with("sm_") &&
               std::ranges::find(words, "--nvcc") != words.end()) {
      left.insert(left.end(), {"--arch", value});
    } else if (name == "std") {
      left.insert(left.end(), {"--std", value});
    } else if (name == "pre-include" || name == "include") {
      left.insert(left.end(), {"--pre-include", value});
    } else if (name == "o" || name == "output-file") {
      said.push_back(
          fmt::format("nothing is written to {}: the program is run, and what it does is checked", value));
    } else if (name == "use_fast_math") {
      said.push_back("fast mathematics is as exact as the other here: -use_fast_math changes nothing");
    } else if (name == "Xcompiler" || name == "compiler-options") {
      for (std::size_t at = 0; at < value.size();) {  // -Wall,-DN=4
        const std::size_t end = std::min(value.find_first_of(", ", at), value.size());
        const string_view option = string_view(value).substr(at, end - at);
        if (option.starts_with("-D") || option.starts_with("-U") || option.starts_with("-I"))
          left.emplace_back(option);
        at = end + 1;
      }
    } else if (!among(with_value, name) && !among(without_value, name) &&
               !(dashes == 1 && is_of_host_compiler(word))) {
      left.push_back(words[i]);
    }
  }
  return left;
}

}  // namespace antiphase::tool
