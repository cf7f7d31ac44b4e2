// What a scan is asked to do.
#pragma once
#include <antiphase/core/element.hpp>
#include <cstdint>

namespace antiphase {

enum class scan_operation { sum, product, min, max };
enum class scan_kind {
  inclusive,  // out[i] = in[0] . in[1] ... in[i]
  exclusive,  // out[i] = identity . in[0] ... in[i - 1]
};
enum class scan_direction {
  forward,
  reverse,  // the same from the other end: out[i] = in[length - 1] ... in[i]
};

namespace prefix {

// outer x inner scans of `length` elements each, over one densely packed array: element i of the scan (o, j) lies at
// (o * length + i) * inner + j. A scan along axis a of a C-ordered array has outer = the product of the extents before a, inner = the
// product of those after it. `in` and `out` may be the same pointer, but not overlap in another way.
struct problem {
  element type = element::f32;
  scan_operation operation = scan_operation::sum;
  scan_kind kind = scan_kind::inclusive;
  scan_direction direction = scan_direction::forward;
  const void* in = nullptr;
  void* out = nullptr;
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;
};

}  // namespace prefix
}  // namespace antiphase
