#include "src/scan/one_wave.hpp"

#include <fmt/format.h>

#include <antiphase/core/error.hpp>
#include <antiphase/core/tile.hpp>
#include <antiphase/scan/single_pass.hpp>
#include <cstring>

#include "build_config.hpp"
#include "src/checked_list.hpp"
#include "src/named_lists.hpp"
#include "src/scan/request.hpp"

namespace antiphase::prefix {

namespace cpu {
std::vector<wave_instance> one_wave_kernels();
}
#if ANTIPHASE_HAS_CUDA
namespace cuda {
std::vector<wave_instance> one_wave_kernels();
}
#endif

std::span<const wave_instance> wave_instances(target where) {
  static const std::vector<wave_instance> on_cpu = cpu::one_wave_kernels();
#if ANTIPHASE_HAS_CUDA
  static const std::vector<wave_instance> on_cuda = cuda::one_wave_kernels();
#else
  static const std::vector<wave_instance> on_cuda;
#endif
  if (where == target::checked) return require_checked_list<wave_instance>();
  return where == target::cuda ? on_cuda : on_cpu;
}

namespace {

std::int64_t bytes_of(const problem& p) { return p.length * static_cast<std::int64_t>(size_of(p.type)); }
std::uint32_t tiles_of(const problem& p) {
  return static_cast<std::uint32_t>(ceil_div<std::int64_t>(bytes_of(p), wave_for(bytes_of(p)).tile_bytes()));
}

std::string refuses(const problem& p) {
  if (p.outer != 1 || p.inner != 1) return fmt::format("{} x {} lines: it scans one contiguous line", p.outer, p.inner);
  if (p.operation != scan_operation::sum || is_half(p.type) || result_type(p) != p.type)
    return fmt::format("{}: it is compiled for sums of the elements' own type, but f16 and bf16", description(p, nullptr));
  if (bytes_of(p) > most_bytes_of_wave)
    return fmt::format("{} elements of {} are {} bytes: it scans at most {}", p.length, name(p.type), bytes_of(p), most_bytes_of_wave);
  return {};
}

}  // namespace

std::string one_wave_refuses(const executor& on, const problem& p) {
  if (on.limits().major < 8) return fmt::format("{} is older than what it is compiled for (compute capability 8.0)", on.limits().name);
  return refuses(p);
}

std::size_t most_one_wave_workspace() { return single_pass_bytes(sizeof(std::uint64_t), most_tiles_of_wave); }
std::size_t one_wave_workspace(const problem& p) {
  if (p.length == 0 || !refuses(p).empty() || tiles_of(p) == 1) return 0;
  return single_pass_bytes(size_of(p.type), tiles_of(p));
}

std::vector<launchable> prepare_one_wave(target where, const problem& p, element computes, std::uint64_t initial,
                                         std::span<std::byte> workspace) {
  const wave_policy how = wave_for(bytes_of(p));
  const bool exchanges = tiles_of(p) > 1;
  auto* const words = reinterpret_cast<std::uint64_t*>(workspace.data());
  const one_wave_arguments all{.in = p.in,
                               .out = p.out,
                               .length = p.length,
                               .tiles = tiles_of(p),
                               .kind = p.kind,
                               .direction = p.direction,
                               .initial = initial,
                               .control = exchanges ? words : nullptr,
                               .states = exchanges ? words + control_words : nullptr,
                               .state_words = exchanges ? workspace.size() / sizeof(std::uint64_t) - control_words : 0};
  for (const wave_instance& i : wave_instances(where)) {
    if (i.type != computes || i.operation != p.operation || !(i.how == how)) continue;
    launchable l{.code = i.code, .grid = {all.tiles, 1, 1}, .arguments = {}};
    l.arguments.resize(sizeof all);
    std::memcpy(l.arguments.data(), &all, sizeof all);
    return {l};
  }
  throw not_supported(fmt::format("this build has no one-wave kernel for sums of {}", name(p.type)));
}

}  // namespace antiphase::prefix
