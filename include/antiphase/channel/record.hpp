// SPDX-License-Identifier: Apache-2.0
// What a recorder leaves behind: spans of time, in memory that the host has set aside. Plain data, for host
// and device.
#pragma once
#include <cstdint>

namespace antiphase {

// What an agent (a warp) did during a span. The copy itself has no span of its own: it is in flight from the
// beginning of its load to the end of the wait that finds it landed.
enum class span_kind : std::int16_t {
  load,  // issuing the load of a step
  // closing it; a ring that stages loads in registers stores them here, once they have arrived. With roles:
  // an event's share done
  commit,
  wait,     // for an event of a step: for its data, where there are no others
  compute,  // using them; of a ring with roles, whatever a warp does between its waits
  release,  // giving the slot back; a ring of one slot waits here until every warp has used it
  acquire,  // with roles: waiting for a free slot
};

struct span_record {
  std::int64_t begin, end;  // of the device's clock
  span_kind kind;
  std::int8_t ring = 0;   // of the kernel's rings
  std::int8_t event = 0;  // of that ring: waited for, or committed
  std::int32_t step, slot;
  std::int32_t agent;
};

// Room for the spans of one block. An agent counts the spans that find no room; nothing is written past the
// end.
struct span_log {
  span_record* spans;     // agents x capacity
  std::int32_t* counts;   // of each agent: spans it had to log, with or without room
  std::int32_t capacity;  // spans per agent
  std::uint32_t block;    // the block that is recorded
};

}  // namespace antiphase
