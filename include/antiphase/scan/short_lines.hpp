// Steps beside the ladder: for many short lines on the CPU executor, where every thread of a block costs time, also one without elements.
#pragma once
#include <antiphase/scan/ladder.hpp>

namespace antiphase::prefix {

// The kernels of items in smaller blocks. Compiled for the CPU executor only. A line that is longer than the block's tile takes three
// kernels, as with items, and is not what they are for.
inline constexpr step short_line_steps[] = {
    {"items-thread", "items in blocks of one thread, for lines of up to 16 elements; CPU executor only",
     policy{.how = method::warp_shuffle, .threads = 1, .bytes = 64}},
    {"items-warp", "items in blocks of one warp, for lines of up to 512 elements; CPU executor only",
     policy{.how = method::warp_shuffle, .threads = 32, .bytes = 64}},
};

// The first of them that takes each line of the problem as one tile; null where there are no several lines, where they are longer, and on
// other executors.
const step* select_short_lines(const executor& on, const problem& p);

}  // namespace antiphase::prefix
