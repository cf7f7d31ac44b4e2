// SPDX-License-Identifier: Apache-2.0
// Acts of a kernel's threads, for drivers that ask: antiphase/plain/driver.h.
#include <algorithm>
#include <map>

#include "checker/order/event_log.hpp"
#include "checker/order/places.hpp"
#include "checker/runs/model.hpp"

namespace antiphase::checker_detail {
namespace {

// The first line that is the user's, of a place in a header of ours too; 0: none is known.
int line_of(const model& m, place_number place) {
  static std::map<place_number, int> known;
  const auto [at, fresh] = known.try_emplace(place, 0);
  if (fresh && place != 0) {
    const std::vector<code_place> lines = m.places.lines(place);
    const auto own = std::ranges::find_if_not(lines, is_machinery);
    if (own != lines.end()) at->second = own->line;
  }
  return at->second;
}

}  // namespace
}  // namespace antiphase::checker_detail

// As in driver.h.
extern "C" {

struct antiphase_plain_act {
  int kind;  // event_kind
  int line;
  unsigned long address, bytes;
  bool shared;
  const char* name;
  unsigned long object, number, moment;
};

void antiphase_plain_record() { antiphase::checker_detail::active->keep_all(); }

// Returns their number; writes at most `most` of them.
unsigned long antiphase_plain_recorded(unsigned block, int thread, antiphase_plain_act* to,
                                       unsigned long most) {
  using namespace antiphase::checker_detail;
  const model& m = *active;
  const auto* const events = m.clocks.log->of_last_kernel(block, thread);
  if (events == nullptr) return 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(events->size(), most); ++i) {
    const event_log::event& e = (*events)[i];
    to[i] = {.kind = static_cast<int>(e.kind),
             .line = line_of(m, e.place),
             .address = e.first_address,
             .bytes = e.bytes,
             .shared = e.first_address - m.memory.lowest() < shadow::shared_bytes,
             .name = e.name != nullptr ? e.name : "",
             .object = e.in.owner,
             .number = e.in.number,
             .moment = e.first};
  }
  return events->size();
}

}  // extern "C"
