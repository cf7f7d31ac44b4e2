// SPDX-License-Identifier: Apache-2.0
// The CUDA driver functions that profiles call, with the driver's soname and no device. Two events are 2.5
// milliseconds apart, from the second query on. At exit, reports events that were not destroyed, and events
// recorded during a stream capture.
#include <stdio.h>
#include <stdlib.h>

static _Atomic int events, capturing, mode_of_thread, calls;

int cuCtxGetDevice(int* number) {
  *number = 1;
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  (void)stream;
  *status = capturing = ++calls % 3 == 0;
  return 0;
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = mode_of_thread;
  mode_of_thread = *mode;
  *mode = before;
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  *event = calloc(1, sizeof(int));
  ++events;
  return flags != 0;
}
int cuEventDestroy_v2(void* event) {
  free(event);
  --events;
  return 0;
}
int cuEventRecord(void* event, void* stream) {
  (void)event, (void)stream;
  if (capturing) puts("an event is recorded while the stream is captured");
  return 0;
}
int cuEventQuery(void* event) {
  if (mode_of_thread != 2) puts("a query disturbs another thread's capture");
  return ++*(int*)event >= 2 ? 0 : 600;
}
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  (void)from, (void)to;
  *milliseconds = 2.5f;
  return 0;
}
// Out of memory.
int cuMemAlloc_v2(void) { return 2; }
int cuMemFree_v2(void) { return 1; }
int cuMemcpyDtoDAsync_v2(void) { return 1; }
int cuMemcpyDtoHAsync_v2(void) { return 1; }
int cuStreamSynchronize(void) { return 1; }

__attribute__((destructor)) static void at_end(void) {
  // one may remain: the last product's, which was not queried twice
  if (events > 1) printf("%d events are left\n", events);
}
