// SPDX-License-Identifier: Apache-2.0
// The data of a recorder: spans of time, in memory that the host has allocated. For host and device.
#pragma once
#include <cstdint>

namespace antiphase {

// What an agent (a warp) did during a span. A copy has no span of its own: it is in flight from the begin of
// its load to the end of the wait for it.
enum class span_kind : std::int16_t {
  load,  // issuing the load of a step
  // closing the load; a ring that stages loads in registers waits for and stores them here. With roles: the
  // commit of an event
  commit,
  wait,     // for an event of a step; without roles, for its data
  compute,  // using the data; with roles, whatever a warp does between its waits
  release,  // of the slot; in a ring of one slot, waits until every warp has used it
  acquire,  // with roles: waiting for a free slot
};

struct span_record {
  std::int64_t begin, end;  // of the device's clock
  span_kind kind;
  std::int8_t ring = 0;   // index among the kernel's rings
  std::int8_t event = 0;  // of that ring: the one waited for or committed
  std::int32_t step, slot;
  std::int32_t agent;
};

// Memory for the spans of one block. Spans beyond the capacity are counted, but not written.
struct span_log {
  span_record* spans;     // agents x capacity
  std::int32_t* counts;   // per agent: its spans, those beyond the capacity included
  std::int32_t capacity;  // spans per agent
  std::uint32_t block;    // the block that is recorded
};

}  // namespace antiphase
