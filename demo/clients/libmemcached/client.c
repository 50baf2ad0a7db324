// PORT SIZE COUNT [binary]: that many sets of SIZE bytes, one after the other, through libmemcached
// with its defaults (or in the binary protocol), each read back at the end, one by one and all at
// once. Prints one JSON object; exit status 1 on any error.
#include <libmemcached/memcached.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The first sets on a connection never stall: the kernel acknowledges at once.
enum { kWarmUps = 3 };

static void FillValue(char* value, size_t size, long index) {
  char head[32];
  const size_t length = (size_t)snprintf(head, sizeof head, "%ld ", index);
  for (size_t i = 0; i < size; ++i) value[i] = i < length ? head[i] : (char)('a' + i % 26);
}

static double MillisecondsNow(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int CompareDoubles(const void* left, const void* right) {
  const double a = *(const double*)left;
  const double b = *(const double*)right;
  return (a > b) - (a < b);
}

static double Percentile(const double* sorted, long count, double share) {
  return sorted[(long)ceil(share * (double)count) - 1];
}

static size_t KeyOf(char* key, size_t room, size_t size, long index) {
  return (size_t)snprintf(key, room, "c-%zu-%ld", size, index);
}

static long RunSets(memcached_st* client, char* value, size_t size, long count, double* times) {
  long errors = 0;
  for (long index = -kWarmUps; index < count; ++index) {
    char key[64];
    const size_t key_length = KeyOf(key, sizeof key, size, index);
    FillValue(value, size, index);
    const double start = MillisecondsNow();
    if (memcached_set(client, key, key_length, value, size, 0, 0) != MEMCACHED_SUCCESS) ++errors;
    if (index >= 0) times[index] = MillisecondsNow() - start;
  }
  return errors;
}

static long ReadBack(memcached_st* client, char* value, size_t size, long count) {
  long errors = 0;
  for (long index = 0; index < count; ++index) {
    char key[64];
    size_t length = 0;
    uint32_t flags = 0;
    memcached_return_t status = MEMCACHED_FAILURE;
    const size_t key_length = KeyOf(key, sizeof key, size, index);
    FillValue(value, size, index);
    char* reply = memcached_get(client, key, key_length, &length, &flags, &status);
    if (status != MEMCACHED_SUCCESS || length != size || memcmp(reply, value, size) != 0) ++errors;
    free(reply);
  }
  return errors;
}

// One fetch of all keys: in the binary protocol quiet requests, and a NOOP behind them.
static long FetchAll(memcached_st* client, size_t size, long count) {
  char(*keys)[64] = malloc((size_t)count * sizeof *keys);
  const char** pointers = malloc((size_t)count * sizeof *pointers);
  size_t* lengths = malloc((size_t)count * sizeof *lengths);
  if (keys == NULL || pointers == NULL || lengths == NULL) return count;
  for (long index = 0; index < count; ++index) {
    lengths[index] = KeyOf(keys[index], sizeof keys[index], size, index);
    pointers[index] = keys[index];
  }
  long missing = count;
  if (memcached_mget(client, pointers, lengths, (size_t)count) == MEMCACHED_SUCCESS) {
    memcached_return_t status = MEMCACHED_FAILURE;
    memcached_result_st* result = NULL;
    while ((result = memcached_fetch_result(client, NULL, &status)) != NULL) {
      if (memcached_result_length(result) == size) --missing;
      memcached_result_free(result);
    }
  }
  free(lengths);
  free(pointers);
  free(keys);
  return missing;
}

int main(int argc, char** argv) {
  const bool binary = argc == 5 && strcmp(argv[4], "binary") == 0;
  const bool usable = argc == 4 || binary;
  const long port = usable ? atol(argv[1]) : 0;
  const long size = usable ? atol(argv[2]) : 0;
  const long count = usable ? atol(argv[3]) : 0;
  if (port <= 0 || port > 65535 || size <= 0 || count <= 0) {
    fprintf(stderr, "usage: %s PORT SIZE COUNT [binary]\n", argv[0]);
    return 2;
  }
  memcached_st* client = memcached_create(NULL);
  char* value = malloc((size_t)size);
  double* times = calloc((size_t)count, sizeof *times);
  if (client == NULL || value == NULL || times == NULL) return 1;
  if (binary) memcached_behavior_set(client, MEMCACHED_BEHAVIOR_BINARY_PROTOCOL, 1);
  memcached_server_add(client, "127.0.0.1", (in_port_t)port);
  long errors = RunSets(client, value, (size_t)size, count, times);
  errors += ReadBack(client, value, (size_t)size, count);
  errors += FetchAll(client, (size_t)size, count);
  qsort(times, (size_t)count, sizeof *times, CompareDoubles);
  printf(
      "{\"client\": \"libmemcached %s\", \"sets\": %ld, \"p50_ms\": %.4f, \"p99_ms\": %.4f, "
      "\"errors\": %ld}\n",
      memcached_lib_version(), count, Percentile(times, count, 0.5), Percentile(times, count, 0.99),
      errors);
  free(times);
  free(value);
  memcached_free(client);
  return errors > 0;
}
