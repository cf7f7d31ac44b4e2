// SPDX-License-Identifier: Apache-2.0
// A pipeline over a type that never releases a slot.
// error: template constraint failure for ... pipelined
#include <antiphase/core/pipeline.hpp>

struct takes {
  static constexpr int stages = 2;
  void acquire(antiphase::cursor<2>) {}
  void commit(antiphase::cursor<2>) {}
  void wait(antiphase::cursor<2>) {}
};
struct takes_and_gives : takes {
  void release(antiphase::cursor<2>) {}
};
template <class C> using over = antiphase::pipeline<C>;
void run(takes_and_gives& channel) {
  over<takes_and_gives>{channel}.run(
      1, [](int, int) {}, [](int, int) {});
}
#ifdef REFUSED
void run(takes& channel) {
  over<takes>{channel}.run(
      1, [](int, int) {}, [](int, int) {});
}
#endif
