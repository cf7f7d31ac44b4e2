// SPDX-License-Identifier: Apache-2.0
#include "checker/plain/translate/compile/compile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "checker/plain/ptx/launch_file.hpp"
#include "checker/plain/translate/compile/assembly.hpp"
#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/compile/host_part.hpp"
#include "checker/plain/translate/compile/missing_headers.hpp"
#include "checker/plain/translate/passes/prepass.hpp"
#include "checker/plain/translate/passes/sides.hpp"
#include "checker/plain/translate/prepared.hpp"

namespace antiphase::plain {

namespace fs = std::filesystem;

namespace {

// Included before a unit's text; the last one only before CUDA.
constexpr std::array first_headers{"antiphase/executor/cpu/checked_prelude.hpp", "antiphase/plain/ends.h",
                                   "antiphase/plain/cuda_runtime.h"};

// Included after those before an extension of PyTorch, whose stand-ins are larger than all others; before the
// C++ that the program asks for.
constexpr const char* headers_of_extensions = "antiphase/stand_ins/bindings/bindings.h";

const words options_of_own_part{"-O2", "-fPIC", "-fno-plt"};

void require_file(const std::string& name, std::string_view whose) {
  std::error_code ignored;
  if (fs::is_directory(name, ignored))
    throw bad_request(
        fmt::format("'{}'{}{} is a directory: expected a file", name, whose, whose.empty() ? "" : ","));
  if (!fs::is_regular_file(name, ignored))
    throw bad_request(fmt::format("there is no file '{}'{}", name, whose));
}
void require_files(const plain_program& p) {
  if (p.sources.empty()) throw bad_request("no source was given: expected a .cu file");
  for (const std::string& s : p.sources) require_file(s, "");
  if (!p.driver.empty()) require_file(p.driver, ", which --kernels names");
}

// Compiles a program's sources to a shared object, through files in one folder. Each step reads what the last
// one left. Throws bad_source for faults of the program.
class compilation {
 public:
  // `older`: as C++17, with the standard library's headers of it, and C++20's new words as names.
  // `both_sides` false: where __CUDA_ARCH__ tells them apart, the device's alone.
  compilation(const plain_program& p, fs::path folder, bool older, bool both_sides);
  bool sides_differ() const { return sides_differ_; }
  bool can_be_prepared() const;
  preparation how_to_prepare() const;
  // Without parts, compiles everything. `translated` is called between the text and its compilation.
  void run(const std::string& object, const std::optional<prepared_parts>& parts,
           const std::function<void()>& translated = {});

 private:
  void write_beginning(const fs::path& to, bool of_c, bool for_host) const;
  void preprocess();
  void add_empty_headers(words& command, const fs::path& said) const;
  void preprocess(std::size_t unit, bool for_host);
  std::string text_of(std::size_t unit);                      // preprocessed, of both sides
  std::optional<int> number_by_nvcc(std::size_t unit) const;  // of a unit that is a host's part
  void translate_all();
  void compile_all();
  void link(const std::string& object) const;
  bool is_extension() const;

  void take_modules();
  bool is_for_nvcc(const std::string& source) const {
    return !program_.nvcc.empty() && source.ends_with(".cu");
  }
  void include_together();  // the sources and the driver
  fs::path file(std::size_t unit, const char* ending) const {
    return folder_ / (std::to_string(unit) + ending);
  }
  std::future<int> compile(words command, const fs::path& input);
  std::future<int> compile_host(const fs::path& input);
  std::future<int> compile_counted(words command, const fs::path& input);  // for plain_program::timed
  words after_compiler(const words& options) const {
    words all = compiler_;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  }

  const plain_program& program_;
  fs::path folder_, include_;
  words compiler_;
  words common_;  // the compiler and the user's options
  bool older_;
  driven driven_;
  std::vector<ptx_module::module_text> modules_;
  words compiled_;                           // units of kernels by nvcc
  std::vector<fs::path> hosts_;              // host code that nvcc has made of sources
  std::map<std::string, int> made_by_nvcc_;  // numbers of sources
  words sources_;                            // the program's, with a translation in place of each PTX module
  words units_;                              // their sources
  std::vector<fs::path> inputs_;             // translated units
  std::optional<prepared_parts> parts_;
  words device_templates_;
  bool tagged_ = false;  // templates have variables of the device
  bool both_sides_, sides_differ_ = false;
  std::set<std::string> headers_of_a_side_;
};

compilation::compilation(const plain_program& p, fs::path folder, bool older, bool both_sides)
    : program_(p),
      folder_(std::move(folder)),
      include_(headers_of(p)),
      compiler_(compiler_of(p)),
      common_(compiler_),
      older_(older),
      both_sides_(both_sides) {
  require_gcc(compiler_);
  common_.emplace_back("-std=gnu++20");
  if (older_) common_.emplace_back("-fno-char8_t");
  for (const std::string& o : p.compiler_options)
    if (!is_for_linker(o) && !names_toolkit(o) && !is_own_macro(o) && !included_first(o) &&
        !(is_standard(o) &&
          has_ending(o, {"++20", "++2a", "++17", "++1z", "++14", "++1y", "++11", "++0x", "++03"})))
      common_.push_back(o);
  take_modules();
  if (p.driver.empty())
    std::ranges::copy_if(sources_, std::back_inserter(units_), std::not_fn(is_linked));
  else
    units_.emplace_back(folder_ / "driven.cu");
  units_.insert(units_.end(), compiled_.begin(), compiled_.end());
}

// PTX modules become sources in CUDA C++.
void compilation::take_modules() {
  sources_ = program_.sources;
  int number = 0;
  for (std::string& s : sources_) {
    if (!is_module(s)) continue;
    const fs::path made = folder_ / fmt::format("module{}.cu", number);
    modules_.push_back(ptx_module::read(read_file(s), s));
    place_asm_at_first_lines(modules_.back());
    write_file(made, ptx_module::unit_of(modules_.back(), number++));
    s = made;
  }
  for (const std::string& s : program_.sources) {
    if (!is_for_nvcc(s)) continue;
    const fs::path made = folder_ / fmt::format("nvcc{}.cu", number);
    modules_.push_back(ptx_module::read(read_file(ptx_by_nvcc(program_, s, folder_, number)), s));
    place_asm_at_first_lines(modules_.back());
    compiled_.push_back(made);
    if (program_.driver.empty() && belongs_to_libraries(modules_.back())) {
      write_file(made, ptx_module::unit_of(modules_.back(), number, ptx_module::launched_by::host_of_nvcc));
      hosts_.push_back(fs::path(made).replace_extension(".whole.ii"));
      write_file(hosts_.back(), read_file(host_by_nvcc(folder_, number++)) + more_of_host());
      std::erase(sources_, s);
    } else {
      write_file(made, ptx_module::unit_of(modules_.back(), number, ptx_module::launched_by::host_part,
                                           anonymous_of(number)));
      made_by_nvcc_[s] = number++;
    }
  }
  if (hosts_.empty()) return;
  compiled_.push_back(folder_ / "toolkit_host.cu");
  const std::size_t digits = program_.nvcc.find_first_of("123456789");
  const bool has_libraries = std::ranges::any_of(hosts_, [](const fs::path& host) {
    const std::string text = read_file(host);
    return text.find("cublasCreate") != text.npos || text.find("curandCreateGenerator") != text.npos;
  });
  write_file(compiled_.back(),
             fmt::format("#define AP_COMPUTE_CAPABILITY {}\n#include <antiphase/{}.h>\n",
                         std::strtol(program_.nvcc.c_str() + digits, nullptr, 10),
                         has_libraries ? "stand_ins/toolkit_libraries" : "plain/toolkit_host"));
}

// One unit for driver and kernels, so that the driver can instantiate templates.
void compilation::include_together() {
  driven_.driver = fs::absolute(program_.driver).lexically_normal();
  const bool is_launch = program_.driver.ends_with(".json");
  const std::string driver = is_launch ? (folder_ / "launch.cu").string() : driven_.driver;
  if (is_launch)
    write_file(driver, ptx_module::driver_of(read_file(program_.driver), driven_.driver, modules_));
  std::string all;
  // first, so that a source's missing semicolon is not an error in them
  if (read_file(driver).find("antiphase/plain/driver.h") != std::string::npos)
    all += "#include <antiphase/plain/driver.h>\n";
  for (const std::string& s : sources_)
    if (!is_linked(s)) all += fmt::format("#include \"{}\"\n", fs::absolute(s).lexically_normal().string());
  write_file(units_.front(), all + fmt::format("#include \"{}\"\n", driver));
}

// The text before a unit's own, after the first headers: macros and files that options name.
void compilation::write_beginning(const fs::path& to, bool of_c, bool for_host) const {
  std::ostringstream file;
  for (const std::string& o : program_.compiler_options)
    if (is_own_macro(o)) file << directive_of(o);
  if (for_host)
    for (const char* name : {"__CUDA_ARCH__", "__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__",
                             "__CUDA_ARCH_FEAT_SM90_ALL"})
      file << "#undef " << name << "\n";
  if (older_ && !of_c) file << "#undef __cplusplus\n#define __cplusplus 201703L\n";
  for (const std::string& header : headers_of_a_side_) file << fmt::format("#include \"{}\"\n", header);
  std::error_code ignored;
  for (const std::string& o : program_.compiler_options)
    if (const auto name = included_first(o))
      file << fmt::format("#include \"{}\"\n",
                          fs::exists(*name, ignored) ? fs::absolute(*name).string() : *name);
  write_file(to, file.str());
}

void compilation::preprocess(std::size_t unit, bool for_host) {
  const bool of_c = is_c(units_[unit]), of_cuda = is_cuda(units_[unit]);
  const fs::path beginning = file(unit, for_host ? ".host.h" : ".h");
  write_beginning(beginning, of_c, for_host);
  words command = common_;
  const words more = preprocessing_options(include_);
  command.insert(command.end(), more.begin(), more.end());
  if (!program_.driver.empty()) command.emplace_back("-DAP_DRIVEN");
  if (parts_ && of_cuda) {
    command.insert(command.end(), {"-fpch-preprocess", "-include", parts_->header});
  } else {
    for (const char* header : first_headers)
      if (of_c ? header == first_headers[1] : of_cuda || header != first_headers.back())
        command.insert(command.end(), {"-include", header});
    if (!of_c && is_extension()) command.insert(command.end(), {"-include", headers_of_extensions});
  }
  command.insert(command.end(), {"-include", beginning, "-E", "-x", of_c ? "c" : "c++", "-o",
                                 file(unit, for_host ? ".host.ii" : ".ii"), units_[unit]});
  if (of_c) command = without_cpp(std::move(command));
  if (number_by_nvcc(unit)) add_empty_headers(command, file(unit, ".said"));
  run_or_fail(command, file(unit, ".said"));
}

// Headers of the toolkit that have no stand-in: nvcc has read them for kernels, and the host's part of a
// source seldom needs what they have.
void compilation::add_empty_headers(words& command, const fs::path& said) const {
  const fs::path folder = folder_ / "absent";
  command.insert(command.begin() + static_cast<std::ptrdiff_t>(common_.size()), {"-idirafter", folder});
  constexpr int most = 50;
  for (int k = 0; k < most && run_command(command, said) != 0; ++k) {
    const std::string name = absent_header(read_file(said));
    std::error_code ignored;
    if (name.empty() || fs::exists(folder / name, ignored)) return;
    fs::create_directories((folder / name).parent_path(), ignored);
    write_file(folder / name, "");
  }
}

void compilation::preprocess() {
  if (!program_.driver.empty()) include_together();
  for (std::size_t i = 0; i < units_.size(); ++i) preprocess(i, number_by_nvcc(i).has_value());
}

std::optional<int> compilation::number_by_nvcc(std::size_t unit) const {
  if (!program_.driver.empty() && unit == 0 && !made_by_nvcc_.empty()) return made_by_nvcc_.begin()->second;
  const auto found = made_by_nvcc_.find(units_[unit]);
  return found == made_by_nvcc_.end() ? std::nullopt : std::optional(found->second);
}

std::string compilation::text_of(std::size_t unit) {
  const auto text = [&](const char* ending) { return edited(read_file(file(unit, ending)), program_.edits); };
  if (const auto number = number_by_nvcc(unit)) return host_part(text(".host.ii"), anonymous_of(*number));
  std::string device = text(".ii");
  if (!is_cuda(units_[unit]) || !tells_sides(device)) return device;
  preprocess(unit, true);
  const std::set<std::string> ours = system_headers(device),
                              others = system_headers(read_file(file(unit, ".host.ii")));
  std::ranges::set_symmetric_difference(ours, others,
                                        std::inserter(headers_of_a_side_, headers_of_a_side_.end()));
  if (!headers_of_a_side_.empty()) {  // both sides include them first, so that neither has them elsewhere
    preprocess(unit, false);
    preprocess(unit, true);
    headers_of_a_side_.clear();
    device = text(".ii");
  }
  sides both = of_both_sides(device, text(".host.ii"), both_sides_);
  sides_differ_ |= both.differ;
  if (!both.refused.empty()) throw bad_source(fmt::format("{}", fmt::join(both.refused, "\n")));
  return std::move(both.text);
}

void compilation::translate_all() {
  int numbers = 0;
  bool has_main = !hosts_.empty(), fails = false;
  std::string refused;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    translation t = is_c(units_[i]) ? translation{read_file(file(i, ".ii"))}
                                    : translate(text_of(i), numbers, driven_, units_.size() == 1, older_);
    for (const refusal& r : t.refused) {
      refused += (refused.empty() ? "" : "\n") + to_text(r);
      fails |= !r.when_reached;
    }
    device_templates_.insert(device_templates_.end(), t.device_templates.begin(), t.device_templates.end());
    has_main |= t.has_main || is_c(units_[i]);
    tagged_ |= t.text.find("abi_tag(\"ap_") != t.text.npos;
    write_file(inputs_.emplace_back(file(i, is_c(units_[i]) ? ".plain.i" : ".plain.ii")), t.text);
  }
  if (fails) throw bad_source(refused);
  const bool complete = program_.object.empty() && program_.driver.empty() &&
                        std::ranges::none_of(program_.sources, is_linked) &&
                        std::ranges::none_of(program_.compiler_options, is_for_linker);
  if (!has_main && complete) throw bad_source(no_main);
}

std::future<int> compilation::compile(words command, const fs::path& input) {
  command.insert(command.end(), {"-c", input, "-o", input.string() + ".o"});
  return std::async(std::launch::async, [command = std::move(command), input] {
    return run_command(command, input.string() + ".said");
  });
}
std::future<int> compilation::compile_host(const fs::path& input) {
  words command = common_;
  for (const std::string& o : program_.compiler_options)
    if (is_standard(o)) command.push_back(o);
  command.insert(command.end(), instrumented.begin(), instrumented.end());
  command.insert(command.end(), {"-x", "c++-cpp-output"});
  return compile(command, input);
}
std::future<int> compilation::compile_counted(words command, const fs::path& input) {
  const std::string assembly = input.string() + ".s", object = input.string() + ".o";
  command.insert(command.end(), {"-fsanitize-coverage=trace-pc", "-S", input, "-o", assembly});
  return std::async(std::launch::async, [this, command = std::move(command), input, assembly, object] {
    const fs::path said = input.string() + ".said";
    if (const int failed = run_command(command, said); failed != 0) return failed;
    const std::string counted = with_counted_arithmetic(read_file(assembly));
    write_file(assembly, counted);
    return run_command(after_compiler({"-c", assembly, "-o", object}), said);
  });
}

void compilation::compile_all() {
  words of_unit = common_;
  of_unit.insert(of_unit.end(), instrumented.begin(), instrumented.end());
  std::vector<std::future<int>> compilations;
  for (const fs::path& input : inputs_) {
    const bool of_c = input.extension() == ".i";
    words command = of_c ? without_cpp(of_unit) : of_unit;
    command.insert(command.end(), {"-x", of_c ? "cpp-output" : "c++-cpp-output"});
    compilations.push_back(program_.timed ? compile_counted(command, input) : compile(command, input));
  }
  for (const fs::path& host : hosts_) {
    inputs_.push_back(host);
    compilations.push_back(compile_host(host));
  }
  if (!parts_) {
    const fs::path& own = inputs_.emplace_back(folder_ / "own_part.cpp");
    write_file(own, own_part());
    compilations.push_back(compile(after_compiler(options_of_own_part), own));
  }
  for (auto& c : compilations) c.wait();
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (compilations[i].get() != 0) fail(inputs_[i].string() + ".said");
}

void compilation::link(const std::string& object) const {
  words command = after_compiler({"-shared", "-Wl,-Bsymbolic", "-Wl,-z,lazy", "-o", object});
  for (const std::string& name : wrapped_functions()) command.push_back("-Wl,--wrap=" + name);
  for (const fs::path& input : inputs_) command.push_back(input.string() + ".o");
  if (parts_) command.push_back(parts_->own_part);
  if (tagged_) {
    const fs::path script = folder_ / "sections.ld";
    write_file(script, sections_of_templates(device_templates_));
    command.push_back("-Wl,-T," + script.string());
  }
  std::ranges::copy_if(program_.sources, std::back_inserter(command), is_linked);
  std::ranges::copy_if(program_.compiler_options, std::back_inserter(command), is_for_linker);
  command.emplace_back("-lstdc++");  // which gcc leaves out
  run_or_fail(command, folder_ / "link.said");
}

bool compilation::can_be_prepared() const {
  return std::ranges::any_of(units_, is_cuda) &&
         std::ranges::all_of(program_.compiler_options, [](const std::string& o) {
           return is_for_linker(o) || is_for_preprocessor(o) || is_for_compiler(o) || included_first(o);
         });
}

bool compilation::is_extension() const {
  return program_.driver.empty() && std::ranges::any_of(units_, [](const std::string& unit) {
           const std::string text = read_file(unit);
           return text.find("#include <torch/") != text.npos || text.find("#include <ATen/") != text.npos;
         });
}

preparation compilation::how_to_prepare() const {
  words header;
  std::ranges::copy_if(common_, std::back_inserter(header),
                       [](const std::string& o) { return !is_for_preprocessor(o); });
  const words more = preprocessing_options(include_);
  header.insert(header.end(), more.begin(), more.end());
  header.insert(header.end(), {"-x", "c++-header"});
  words own = after_compiler(options_of_own_part);
  own.emplace_back("-c");
  return {
      .compile_header = std::move(header),
      .compile_own_part = std::move(own),
      .header = fmt::format("#include \"{}\"\n{}", fmt::join(first_headers, "\"\n#include \""),
                            is_extension() ? fmt::format("#include \"{}\"\n", headers_of_extensions) : ""),
      .own_part = own_part(),
      .compiler = found_in_path(compiler_.back()),
      .include = include_ / "antiphase"};
}

void compilation::run(const std::string& object, const std::optional<prepared_parts>& parts,
                      const std::function<void()>& translated) {
  parts_ = parts;
  inputs_.clear();
  preprocess();
  translate_all();
  if (translated) translated();
  compile_all();
  link(object);
}

}  // namespace

namespace {

void require_room_for_programs(const fs::path& folder) {
  struct statvfs about {};
  if (statvfs(folder.c_str(), &about) == 0 && (about.f_flag & ST_NOEXEC) != 0)
    throw device_error(
        fmt::format("programs cannot be run in {}, which is mounted noexec: expected another place in TMPDIR",
                    folder.string()));
}

}  // namespace

compiled::compiled(const plain_program& p)
    : object_(p.object.empty() ? folder_.path() / "program.so" : fs::path(p.object)) {
  require_files(p);
  require_room_for_programs(fs::absolute(object_).parent_path());
  std::error_code ignored;
  if (!p.object.empty() && fs::exists(object_, ignored)) return;
  // C++20 if nothing else is asked for. A program that is not valid in the first may be in the other.
  const bool older = asks_for_older(p.compiler_options);
  std::future<void> made;  // parts for later programs: of one that is refused, none are made and waited for
  bool sides_differ = false;
  const auto compile = [&](bool as_older, bool both_sides) {
    compilation steps(p, folder_.path(), as_older, both_sides);
    try {
      const bool may_be_prepared = steps.can_be_prepared();
      if (may_be_prepared)
        if (const auto parts = prepared(steps.how_to_prepare())) try {
            return steps.run(object(), parts);
          } catch (const bad_source& e) {
            // the program's fault, or that of the parts: compiled without them, its errors are its own
            if (e.what() == std::string_view(no_main)) throw;
          }
      steps.run(object(), {}, [&] {
        if (may_be_prepared && !made.valid()) made = prepare(steps.how_to_prepare());
      });
    } catch (const bad_source&) {
      sides_differ = steps.sides_differ();
      throw;
    }
  };
  try {
    compile(older, true);
  } catch (const bad_source& first) {
    if (!std::string_view(first.what()).starts_with(does_not_compile)) throw;
    const bool differed = sides_differ;
    for (const bool other : {false, true}) try {
        if (!other && !differed) continue;
        compile(other ? !older : older, other);
        return;
      } catch (const bad_source&) {  // the first errors are those of the program
      }
    throw;
  }
}

}  // namespace antiphase::plain
