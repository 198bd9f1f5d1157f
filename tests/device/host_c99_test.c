/* The host device from a C99 program: the header compiles, the library links, a stream works. */
#include <stdio.h>
#include <string.h>

#include "accl/device.h"

static void add_one(void* argument) { *(int*)argument += 1; }

static acclPoll_t count_down(void* argument) {
  int* const left = (int*)argument;
  *left -= 1;
  return *left == 0 ? acclPollDone : acclPollPending;
}

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s (%s)\n", what, acclGetLastErrorText());
  failures += 1;
}

int main(void) {
  acclStream_t stream = NULL;
  acclEvent_t event = NULL;
  void* memory = NULL;
  char copy[6] = "";
  int number = 41;
  int left = 3;
  expect(acclStreamCreate(&stream) == acclSuccess, "stream create");
  expect(acclEventCreate(&event) == acclSuccess, "event create");
  expect(acclMalloc(&memory, 6) == acclSuccess, "malloc");
  expect(acclMemcpyAsync(memory, "hello", 6, stream) == acclSuccess, "copy");
  expect(acclMemcpyAsync(copy, memory, 6, stream) == acclSuccess, "copy back");
  expect(acclLaunchHostFunc(stream, add_one, &number) == acclSuccess, "host function");
  expect(acclStreamPoll(stream, count_down, &left) == acclSuccess, "poll");
  expect(acclEventRecord(event, stream) == acclSuccess, "record");
  expect(acclEventSynchronize(event) == acclSuccess, "event synchronize");
  expect(acclStreamSynchronize(stream) == acclSuccess, "synchronize");
  expect(strcmp(copy, "hello") == 0, "contents");
  expect(number == 42, "host function ran once");
  expect(left == 0, "poll ran to its end");
  expect(acclStreamIsIdle(stream) == 1, "idle");
  expect(acclFree(memory) == acclSuccess, "free");
  expect(acclEventDestroy(event) == acclSuccess, "event destroy");
  expect(acclStreamDestroy(stream) == acclSuccess, "stream destroy");
  expect(acclStreamSynchronize(stream) == acclErrorInvalidHandle, "use after destroy");
  expect(strcmp(acclGetErrorName(acclErrorNotReady), "acclErrorNotReady") == 0, "error name");
  return failures == 0 ? 0 : 1;
}
