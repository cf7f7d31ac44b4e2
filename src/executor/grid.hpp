// Judging the grid of a launch, for all executors.
#pragma once
#include <fmt/format.h>

#include <antiphase/executor/limits.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace antiphase {

// Why a grid cannot be launched; nothing if it can, or has no blocks. misfit() multiplies x and y as signed numbers, so grids that are too
// large for that alone come no further than here.
inline std::optional<std::string> refuses_grid(const kernel& k, extent3 grid) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (std::uint64_t{grid.x} * grid.y <= most) return misfit(k, grid);
  if (grid.z == 0) return std::nullopt;
  return fmt::format("kernel {}: a grid of {} x {} x {} blocks: expected less than 2^63", k.name, grid.x, grid.y, grid.z);
}

}  // namespace antiphase
