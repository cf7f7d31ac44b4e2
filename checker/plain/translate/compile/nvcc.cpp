// SPDX-License-Identifier: Apache-2.0
// Kernels that nvcc compiles to PTX, with the headers of its toolkit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "checker/order/places.hpp"
#include "checker/plain/translate/compile/compile.hpp"
#include "checker/plain/translate/compile/compile_steps.hpp"
#include "checker/plain/translate/passes/statements.hpp"
#include "checker/plain/translate/prepared.hpp"
#include "checker/plain/translate/tokens.hpp"

namespace antiphase::plain {

namespace fs = std::filesystem;

namespace {

fs::path nvcc_of_toolkit() {
  std::error_code ignored;
  const fs::path in_path = found_in_path("nvcc");
  if (in_path.has_parent_path()) return in_path;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const root = std::getenv(name))
      if (const fs::path found = fs::path(root) / "bin/nvcc"; fs::exists(found, ignored)) return found;
  if (const fs::path usual = "/usr/local/cuda/bin/nvcc"; fs::exists(usual, ignored)) return usual;
  throw not_supported(
      "--nvcc compiles kernels by nvcc: expected it in PATH, in bin of CUDA_HOME, or in /usr/local/cuda/bin");
}

// The source with the changes of its own lines that are tried.
fs::path changed(const plain_program& p, const std::string& source, const fs::path& folder, int number) {
  std::string out;
  bool changes = false;
  std::istringstream in(read_file(source));
  const std::string shown = checker_detail::shown(fs::absolute(source).string());
  int line = 0;
  for (std::string text; std::getline(in, text);) {
    changes |= apply_edits(text, shown, ++line, p.edits);
    out += text + '\n';
  }
  if (!changes) return source;
  const fs::path file = folder / fmt::format("changed{}.cu", number);
  write_file(file, fmt::format("extern \"C\" __device__ bool antiphase_tried(int);\n#line 1 \"{}\"\n{}",
                               fs::absolute(source).lexically_normal().string(), out));
  return file;
}

}  // namespace

void place_asm_at_first_lines(ptx_module::module_text& m) {
  struct span {
    int first, last;
  };
  std::map<std::string, std::vector<span>> known;  // asm statements, by file
  const auto spans_of = [&](const std::string& file) -> const std::vector<span>& {
    const auto [found, fresh] = known.try_emplace(file);
    std::error_code ignored;
    if (!fresh || !fs::is_regular_file(file, ignored)) return found->second;
    std::string text;  // without comments, whose quotes begin no strings
    for (const source_line& line : read_source(file).lines) text += text.empty() ? " \n" : line.code + '\n';
    const token_list list = tokens_of(text);
    const auto& t = list.tokens;
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (t[i] != "asm" && t[i] != "__asm__" && t[i] != "__asm") continue;
      std::size_t open = i + 1;
      while (open < t.size() && t[open].kind == token_kind::name) ++open;
      const std::size_t close = open < t.size() ? matching_sign(t, open) : t.size();
      if (close < t.size()) found->second.push_back({t[i].line, t[close].line});
    }
    return found->second;
  };
  for (ptx_module::function& f : m.functions)
    for (ptx_module::statement& s : f.body)
      if (s.of_asm)
        for (const span& one : spans_of(s.place.file))
          if (one.first <= s.place.line && s.place.line <= one.last) s.place.line = one.first;
}

std::string anonymous_of(int number) { return fmt::format("ap_anonymous_{}", number); }

fs::path host_by_nvcc(const fs::path& folder, int number) {
  return folder / fmt::format("nvcc{}.host.cpp.ii", number);
}

bool belongs_to_libraries(const ptx_module::module_text& m) {
  return m.functions.empty() || std::ranges::any_of(m.functions, [](const ptx_module::function& f) {
           const std::string_view name = f.name;
           return f.is_kernel && std::ranges::any_of(std::array{"N3cub", "N6thrust", "N7cutlass", "N4cute"},
                                                     [&](const char* scope) { return name.find(scope) < 4; });
         });
}

std::string more_of_host() {
  std::string all =
      "\nstatic cudaError_t antiphase_plain_properties(cudaDeviceProp* p) {\n"
      "  const auto set = [&](auto& to, cudaDeviceAttr a) {\n"
      "    int v = 0;\n    cudaDeviceGetAttribute(&v, a, 0), to = v;\n  };\n  *p = {};\n"
      "  __builtin_strcpy(p->name, \"antiphase's simulated device\");\n  p->totalGlobalMem = 1ul << 30;\n";
  constexpr std::pair<const char*, const char*> members[] = {
      {"major", "ComputeCapabilityMajor"},
      {"minor", "ComputeCapabilityMinor"},
      {"multiProcessorCount", "MultiProcessorCount"},
      {"warpSize", "WarpSize"},
      {"maxThreadsPerBlock", "MaxThreadsPerBlock"},
      {"maxThreadsPerMultiProcessor", "MaxThreadsPerMultiProcessor"},
      {"maxThreadsDim[0]", "MaxBlockDimX"},
      {"maxThreadsDim[1]", "MaxBlockDimY"},
      {"maxThreadsDim[2]", "MaxBlockDimZ"},
      {"maxGridSize[0]", "MaxGridDimX"},
      {"maxGridSize[1]", "MaxGridDimY"},
      {"maxGridSize[2]", "MaxGridDimZ"},
      {"sharedMemPerBlock", "MaxSharedMemoryPerBlock"},
      {"sharedMemPerBlockOptin", "MaxSharedMemoryPerBlockOptin"},
      {"sharedMemPerMultiprocessor", "MaxSharedMemoryPerMultiprocessor"},
      {"reservedSharedMemPerBlock", "ReservedSharedMemoryPerBlock"},
      {"regsPerBlock", "MaxRegistersPerBlock"},
      {"regsPerMultiprocessor", "MaxRegistersPerMultiprocessor"},
      {"totalConstMem", "TotalConstantMemory"},
      {"memPitch", "MaxPitch"},
      {"l2CacheSize", "L2CacheSize"},
      {"memoryBusWidth", "GlobalMemoryBusWidth"},
      {"maxBlocksPerMultiProcessor", "MaxBlocksPerMultiprocessor"},
      {"asyncEngineCount", "AsyncEngineCount"},
      {"concurrentKernels", "ConcurrentKernels"},
      {"managedMemory", "ManagedMemory"},
      {"concurrentManagedAccess", "ConcurrentManagedAccess"},
      {"cooperativeLaunch", "CooperativeLaunch"},
      {"unifiedAddressing", "UnifiedAddressing"},
      {"canMapHostMemory", "CanMapHostMemory"}};
  for (const auto& [member, attribute] : members)
    all += fmt::format("  set(p->{}, cudaDevAttr{});\n", member, attribute);
  all += "  return cudaSuccess;\n}\n";
  for (const char* name : {"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"})
    all += fmt::format(
        "extern \"C\" __attribute__((weak)) cudaError_t antiphase_plain_{0}(cudaDeviceProp*, int) "
        "__asm__(\"{0}\");\n"
        "cudaError_t antiphase_plain_{0}(cudaDeviceProp* p, int) {{ return antiphase_plain_properties(p); "
        "}}\n",
        name);
  return all;
}

fs::path ptx_by_nvcc(const plain_program& p, const std::string& source, const fs::path& folder, int number) {
  const fs::path kept = folder / fmt::format("nvcc{}", number), ptx = kept / "kernels.ptx",
                 host = host_by_nvcc(folder, number);
  std::error_code ignored;
  if (fs::exists(ptx, ignored)) return ptx;
  fs::create_directories(kept, ignored);
  // Both halves by one run, so that names of what has internal linkage are the same.
  const std::string arch = "compute" + p.nvcc.substr(p.nvcc.find('_'));
  words command{nvcc_of_toolkit().string(),
                "-cuda",
                "--keep",
                "--keep-dir=" + kept.string(),
                "-lineinfo",
                "-w",
                fmt::format("-gencode=arch={0},code={0}", arch),
                "--extended-lambda",
                "--expt-relaxed-constexpr"};
  bool has_standard = false;
  for (const std::string& o : p.compiler_options) {
    if (o.starts_with("--pre-include="))
      command.insert(command.end(), {"-include", o.substr(o.find('=') + 1)});
    else if (is_for_preprocessor(o) || is_standard(o))
      command.push_back(o);
    has_standard |= is_standard(o);
  }
  if (!has_standard) command.emplace_back("-std=c++20");
  const fs::path own = changed(p, source, folder, number);
  command.insert(command.end(),
                 {"-I" + fs::absolute(source).parent_path().string(), own.string(), "-o", host.string()});
  const fs::path said = folder / fmt::format("nvcc{}.said", number);
  if (run_command(command, said) != 0)
    throw bad_source(fmt::format("nvcc does not compile {}:\n{}", source, read_file(said)));
  fs::rename(kept / (own.stem().string() + ".ptx"), ptx);
  return ptx;
}

}  // namespace antiphase::plain
