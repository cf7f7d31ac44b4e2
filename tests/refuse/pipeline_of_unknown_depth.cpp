// SPDX-License-Identifier: Apache-2.0
// A pipeline over a type without its number of slots.
// error: template constraint failure for ... pipelined
#include <antiphase/core/pipeline.hpp>

struct verbs {
  void acquire(antiphase::cursor<2>) {}
  void commit(antiphase::cursor<2>) {}
  void wait(antiphase::cursor<2>) {}
  void release(antiphase::cursor<2>) {}
};
struct counted_verbs : verbs {
  static constexpr int stages = 2;
};
void run(counted_verbs& channel) {
  antiphase::pipeline<counted_verbs>{channel}.run(
      1, [](int, int) {}, [](int, int) {});
}
#ifdef REFUSED
void run(verbs& channel) {
  antiphase::pipeline<verbs>{channel}.run(
      1, [](int, int) {}, [](int, int) {});
}
#endif
