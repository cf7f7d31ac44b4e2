// Scans (prefix sums, products, minima, maxima) of whole arrays, along one axis.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <string_view>

namespace antiphase {

struct scan_options {
  std::string_view policy = "auto";  // the name of a step of the scan ladder (scan/ladder.hpp); auto: the fastest that takes it
  stream on = nullptr;
};

// Scans every (outer, inner) line of the problem. The memory must be reachable from `where` (device_array).
//
// Integers wrap around; input and output have the same type (convert first to accumulate in a wider one). min and max keep NaN from the
// first one on, as numpy's minimum.accumulate and maximum.accumulate do. An exclusive scan starts from the operator's identity: 0, 1, the
// largest value of the type for min and the lowest for max (floats: +infinity and -infinity). Results do not depend on the run: the order
// of operations is fixed by the problem's shape and the policy.
//
// One long line of sums, at 16-byte aligned addresses on a GPU with bulk copies (sm_90), is scanned in a single kernel that reads it once
// ("single-pass"); its few bytes of working memory per tile belong to the executor and the stream, so such calls on one stream may not
// overlap, and return when the kernel has been queued. Other lines that are longer than one block's tile take a workspace allocated in the
// call, which then waits for the stream before it returns. A problem without elements launches nothing.
//
// Throws bad_request naming the first argument that makes no sense, not_supported when this build has no kernel for the type, operation and
// policy: `auto` has them all, single-pass sums of all types, the other steps but items only sums of f32, f64, i32 and u32.
launch_counts scan(const context& where, const prefix::problem& p, const scan_options& options = {});

}  // namespace antiphase
