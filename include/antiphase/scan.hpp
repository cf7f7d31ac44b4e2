// Scans (prefix sums, products, minima, maxima) of whole arrays, along one axis.
#pragma once
#include <antiphase/context.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace antiphase {

struct scan_options {
  // The name of a step of the scan ladder or of one for short lines (both in scan/ladder.hpp); auto: the fastest that
  // takes the problem.
  std::string_view policy = "auto";
  stream on = nullptr;
  // The caller's, of scan_workspace() bytes or more, aligned to 16 and initialised once; empty: the library's.
  std::span<std::byte> workspace = {};
};

// Scans every (outer, inner) line of the problem. The memory must be reachable from `where` (device_array), addresses are multiples of the
// elements' sizes.
//
// Sums and products of floats are not taken in sequential order. An output is within the bounds of docs/accuracy.md if the positive elements up
// to it, of its line or segment and with the initial value, add up to less than 3.4e38 (FP64: 1.79e308), and the negative ones likewise;
// else it may be infinite or NaN although its elements are finite, and if it is finite it is right all the same. Of products: if the
// factors above 1 in magnitude multiply to at most 1e38 (FP64: 1e308), and those below 1, zeros aside, to at least 1e-37 (FP64: 1e-307);
// else it may also be 0. An output never depends on elements behind it, nor on other lines (docs/accuracy.md).
//
// Integers wrap around. min and max keep NaN from the first one on, as numpy's minimum.accumulate and maximum.accumulate do. An exclusive
// scan starts from problem::initial, or else from the operator's identity: 0, 1, the largest value of the type for min and the lowest for
// max (floats: +infinity and -infinity). Sums may be of a wider type than the elements (problem::accumulate). What runs in f16 and bf16 is
// computed in FP32 and rounded where it is written; of FP32 sums, the running prefix between tiles is a double (docs/accuracy.md). Results do
// not depend on the run, nor on where the arrays lie: the order of operations is fixed by the problem's shape and the policy.
//
// One line, and rows (inner = 1) of all but 8- and 16-bit integers, are scanned on a GPU from sm_80 on in a single kernel that reads them
// once ("single-pass", by bulk copies, on sm_90; "single-pass-async", by cp.async, on the others), unless they are a few KiB; sums of one
// line of up to 16 MiB (of 32-bit types; of others less) in one that keeps them in registers ("one-wave"). Their few bytes of working
// memory per tile belong to the executor and the stream, or are the caller's: such calls with one workspace may not overlap. They return
// when the kernel has been queued. Other lines that are longer than one block's tile take a workspace allocated in the call, which then
// waits for the stream before it returns, or the caller's. A problem without elements launches nothing.
//
// Throws bad_request naming the first argument that makes no sense, not_supported when this build has no kernel for the type, operation and
// policy: single-pass and single-pass-async have them all but inner > 1 (on the CPU executor the latter f32 and u8 only), one-wave sums of
// one line, items those whose results have the type of the elements, but f16 and bf16; `auto` chooses; of the other steps the short rings
// have sums of f32, the rest sums of f32, f64, i32 and u32. The steps for short lines have what items has, on the CPU executor only.
launch_counts scan(const context& where, const scans::problem& p, const scan_options& options = {});

// The same for the segments of one line (outer = inner = 1) that keys or flags tell apart: each is scanned on its own, an exclusive scan
// begins at `initial` in each. A reverse scan runs through each segment from its end. Values of all types but 8- and 16-bit integers, keys
// of any type but f16 and bf16. Policies single-pass and single-pass-async only: throws not_supported on a device before sm_80.
launch_counts scan_by_key(const context& where, const scans::problem& p, const scans::scan_keys& keys, const scan_options& options = {});

// What the call would run, and why. Of the arrays only the addresses are looked at. Throws what the call would throw.
struct scan_choice {
  std::string kernel = {};                          // a step's name
  int threads = 0;                                  // of a block
  std::int64_t tile = 0;                            // elements
  std::int64_t tiles = 0;                           // of all lines
  int stages = 1;                                   // tiles of a block's ring
  std::uint64_t blocks = 0;                         // of the largest launch
  int launches = 0;                                 // 0: there is nothing to scan
  std::size_t workspace = 0;                        // bytes that the call works in; scan_workspace() may ask for more
  std::vector<std::string> why = {}, refused = {};  // sentences
};
scan_choice explain(const context& where, const scans::problem& p, const scan_options& options = {});
scan_choice explain(const context& where, const scans::problem& p, const scans::scan_keys& keys, const scan_options& options = {});

// A workspace of the caller's, for calls that may be captured in a graph and replayed: its size in bytes, enough for this problem and all
// that are shorter and otherwise the same, by policies auto, one-wave, single-pass, single-pass-async and items, on any device.
// initialise_scan_workspace() is called once before the first use, and again after work with it was broken off (a launch that failed, a
// kernel that was stopped), since a scan waits for what a broken one has left half done, for ever; it waits for the stream. Then the
// workspace serves scans of all types, sizes and policies, one after the other, always passed whole.
std::size_t scan_workspace(const scans::problem& p);
std::size_t scan_workspace(const scans::problem& p, const scans::scan_keys& keys);
void initialise_scan_workspace(const context& where, std::span<std::byte> workspace, stream on = nullptr);

}  // namespace antiphase
