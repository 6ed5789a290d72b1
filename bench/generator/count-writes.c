// Counts a process's writes to sockets, as a preloaded library: unlike a tracer it does not slow down what it counts.
// The counts (calls, bytes) stand in the file that COUNT_WRITES names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile uint64_t *counts;

__attribute__((constructor)) static void begin(void) {
  const char *name = getenv("COUNT_WRITES");
  int file = name ? open(name, O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, 16) < 0) return;
  void *room = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (room != MAP_FAILED) counts = room;
}

static ssize_t counted(ssize_t bytes) {
  if (counts) {
    counts[0]++;
    if (bytes > 0) counts[1] += bytes;
  }
  return bytes;
}

#define NEXT(name) static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
  NEXT(send);
  return counted(next(fd, bytes, length, flags));
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  NEXT(sendmsg);
  return counted(next(fd, message, flags));
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  NEXT(writev);
  return counted(next(fd, parts, count));
}
