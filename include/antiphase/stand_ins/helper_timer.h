// SPDX-License-Identifier: Apache-2.0
// Stands in for the header of CUDA's samples of this name, for plain CUDA under the checker.
#pragma once
// Nothing is measured: 1 ms each.
class StopWatchInterface {
 public:
  void start() {}
  void stop() { ++runs; }
  void reset() { runs = 0; }
  float getTime() const { return static_cast<float>(runs); }
  float getAverageTime() const { return runs > 0 ? 1.0f : 0.0f; }
  int runs = 0;
};
inline bool sdkCreateTimer(StopWatchInterface** t) { return *t = new StopWatchInterface, true; }
inline bool sdkDeleteTimer(StopWatchInterface** t) { return delete *t, *t = nullptr, true; }
inline bool sdkStartTimer(StopWatchInterface** t) { return (*t)->start(), true; }
inline bool sdkStopTimer(StopWatchInterface** t) { return (*t)->stop(), true; }
inline bool sdkResetTimer(StopWatchInterface** t) { return (*t)->reset(), true; }
inline float sdkGetTimerValue(StopWatchInterface** t) { return (*t)->getTime(); }
inline float sdkGetAverageTimerValue(StopWatchInterface** t) { return (*t)->getAverageTime(); }
