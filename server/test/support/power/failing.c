/*
 * Loaded into a process with LD_PRELOAD: calls on files fail or wait as the page RELATA_TEST_FAULT demands. failing-disk.ts writes
 * the page while the process runs. Reads of files in memory (the WAL index) are not affected.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...)                                     \
  static type (*real)(__VA_ARGS__);                               \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);

/* The same numbers as in failing-disk.ts. */
enum { WRITES = 1, READS = 2 };
#define STALL UINT32_MAX
struct fault {
  /* 0: no fault. */
  uint32_t error;
  uint32_t calls;
  /* The number of calls that the fault hit. */
  uint32_t met;
  char pattern[PATH_MAX];
};
static volatile struct fault *fault;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("RELATA_TEST_FAULT");
  if (!path) return;
  REAL(int, open, const char *, int, ...)
  int page = real(path, O_RDWR | O_CLOEXEC);
  void *mapped = page < 0 ? MAP_FAILED : mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (mapped == MAP_FAILED) abort();
  fault = mapped;
  close(page);
}

/* Waits as long as the disk stalls. @returns whether the call fails, with errno set */
static int fails_at(const char *path, uint32_t calls) {
  if (fnmatch((const char *)fault->pattern, path, FNM_EXTMATCH)) return 0;
  int is_counted = 0;
  for (;; usleep(2000)) {
    uint32_t error = fault->error;
    if (!error || !(fault->calls & calls)) return 0;
    if (!is_counted++) __sync_fetch_and_add(&fault->met, 1);
    if (error == STALL) continue;
    errno = error;
    return 1;
  }
}
static int fails_on(int descriptor, uint32_t calls) {
  if (!fault || !fault->error) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails_at(path, calls);
}
static int fails_in(int folder, const char *path, uint32_t calls) {
  if (!fault || !fault->error) return 0;
  if (*path == '/' || folder == AT_FDCWD) return fails_at(path, calls);
  return fails_on(folder, calls);
}

#define ON_FILE(type, name, calls, parameters, ...)          \
  type name parameters {                                     \
    static type (*real) parameters;                          \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    return fails_on(descriptor, calls) ? -1 : real(__VA_ARGS__);   \
  }
ON_FILE(ssize_t, write, WRITES, (int descriptor, const void *data, size_t length), descriptor, data, length)
ON_FILE(ssize_t, writev, WRITES, (int descriptor, const struct iovec *parts, int count), descriptor, parts, count)
ON_FILE(ssize_t, pwrite, WRITES, (int descriptor, const void *data, size_t length, off_t at), descriptor, data, length, at)
ON_FILE(ssize_t, pwrite64, WRITES, (int descriptor, const void *data, size_t length, off_t at), descriptor, data, length, at)
ON_FILE(ssize_t, pwritev, WRITES, (int descriptor, const struct iovec *parts, int count, off_t at), descriptor, parts, count, at)
ON_FILE(ssize_t, pwritev64, WRITES, (int descriptor, const struct iovec *parts, int count, off_t at), descriptor, parts, count, at)
ON_FILE(int, ftruncate, WRITES, (int descriptor, off_t size), descriptor, size)
ON_FILE(int, ftruncate64, WRITES, (int descriptor, off_t size), descriptor, size)
ON_FILE(int, fallocate, WRITES, (int descriptor, int mode, off_t at, off_t length), descriptor, mode, at, length)
ON_FILE(int, fallocate64, WRITES, (int descriptor, int mode, off_t at, off_t length), descriptor, mode, at, length)
ON_FILE(int, fsync, WRITES, (int descriptor), descriptor)
ON_FILE(int, fdatasync, WRITES, (int descriptor), descriptor)
ON_FILE(ssize_t, read, READS, (int descriptor, void *data, size_t length), descriptor, data, length)
ON_FILE(ssize_t, readv, READS, (int descriptor, const struct iovec *parts, int count), descriptor, parts, count)
ON_FILE(ssize_t, pread, READS, (int descriptor, void *data, size_t length, off_t at), descriptor, data, length, at)
ON_FILE(ssize_t, pread64, READS, (int descriptor, void *data, size_t length, off_t at), descriptor, data, length, at)
ON_FILE(ssize_t, preadv, READS, (int descriptor, const struct iovec *parts, int count, off_t at), descriptor, parts, count, at)
ON_FILE(ssize_t, preadv64, READS, (int descriptor, const struct iovec *parts, int count, off_t at), descriptor, parts, count, at)

/* A full disk opens existing files. A read-only disk refuses to open them for writing. */
static int fails_to_open(int folder, const char *path, int flags) {
  if (!fault || !fault->error) return 0;
  struct stat found;
  int is_new = (flags & O_CREAT) && fstatat(folder, path, &found, 0);
  int is_refused = fault->error == EROFS && (flags & O_ACCMODE) != O_RDONLY;
  return fails_in(folder, path, is_new || is_refused ? WRITES | READS : READS);
}
#define MODE(flags)                                      \
  mode_t mode = 0;                                       \
  if (flags & (O_CREAT | O_TMPFILE)) {                   \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    mode = va_arg(rest, mode_t);                         \
    va_end(rest);                                        \
  }
#define OPEN(name)                                                        \
  int name(const char *path, int flags, ...) {                            \
    MODE(flags)                                                           \
    REAL(int, name, const char *, int, ...)                               \
    return fails_to_open(AT_FDCWD, path, flags) ? -1 : real(path, flags, mode); \
  }
#define OPEN_AT(name)                                                     \
  int name(int folder, const char *path, int flags, ...) {                \
    MODE(flags)                                                           \
    REAL(int, name, int, const char *, int, ...)                          \
    return fails_to_open(folder, path, flags) ? -1 : real(folder, path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
OPEN_AT(openat)
OPEN_AT(openat64)

int mkdir(const char *path, mode_t mode) {
  REAL(int, mkdir, const char *, mode_t)
  return fails_in(AT_FDCWD, path, WRITES) ? -1 : real(path, mode);
}
int unlink(const char *path) {
  REAL(int, unlink, const char *)
  return fails_in(AT_FDCWD, path, WRITES) ? -1 : real(path);
}
int rename(const char *from, const char *to) {
  REAL(int, rename, const char *, const char *)
  return fails_in(AT_FDCWD, to, WRITES) ? -1 : real(from, to);
}
