/*
 * Loaded into a process with LD_PRELOAD: records the calls of the process on files below RELATA_TEST_POWER_ROOT, in order, in the
 * journal RELATA_TEST_POWER_JOURNAL. simulated-disk.ts computes from it the states that a power cut can leave. Calls are passed on
 * to the C library, except fsync, because only the simulated disk decides what is durable. An unsupported call ends the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...)                                     \
  static type (*real)(__VA_ARGS__);                               \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name);

/* The same numbers as in simulated-disk.ts. */
enum { OPEN = 1, CREATE, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR };

struct record {
  uint32_t kind, from_length, to_length, data_length;
  uint64_t inode, at;
};

#define DESCRIPTORS 65536
/* The inode of each descriptor below the root. 0: not recorded. */
static uint64_t inodes[DESCRIPTORS];
static char root[PATH_MAX];
static size_t root_length;
static int journal = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *what) {
  dprintf(2, "power layer: cannot follow %s\n", what);
  abort();
}

__attribute__((constructor)) static void begin(void) {
  const char *folder = getenv("RELATA_TEST_POWER_ROOT");
  const char *path = getenv("RELATA_TEST_POWER_JOURNAL");
  if (!folder || !path) return;
  root_length = strlen(strncpy(root, folder, sizeof root - 1));
  REAL(int, open, const char *, int, ...)
  journal = real(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (journal < 0) give_up("a journal that does not open");
}

/* One call, so that records of several processes do not mix. */
static void note(int kind, uint64_t inode, uint64_t at, const char *from, const char *to, const void *data,
                 size_t length) {
  struct record record = {kind, from ? strlen(from) : 0, to ? strlen(to) : 0, length, inode, at};
  struct iovec parts[] = {{&record, sizeof record},
                          {(void *)from, record.from_length},
                          {(void *)to, record.to_length},
                          {(void *)data, length}};
  ssize_t whole = sizeof record + record.from_length + record.to_length + length;
  REAL(ssize_t, writev, int, const struct iovec *, int)
  if (real(journal, parts, 4) != whole) give_up("a journal that is full");
}

/* Whether a path is below the root, and its form without ".", ".." and repeated slashes. The WAL index is made again after a crash. */
static int is_ours(int folder, const char *path, char *whole) {
  if (journal < 0 || !path || !*path) return 0;
  char joined[2 * PATH_MAX], link[64];
  size_t length = 0;
  if (*path != '/') {
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t read = readlink(link, joined, PATH_MAX);
    if (read < 0) return 0;
    length = read;
  }
  snprintf(joined + length, sizeof joined - length, "/%s", path);
  length = 0;
  for (char *rest, *part = strtok_r(joined, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
    if (!strcmp(part, ".")) continue;
    if (!strcmp(part, "..")) {
      while (length && whole[--length] != '/');
      continue;
    }
    size_t more = strlen(part);
    if (length + more + 2 > PATH_MAX) return 0;
    whole[length++] = '/';
    memcpy(whole + length, part, more);
    length += more;
  }
  whole[length] = 0;
  if (strncmp(whole, root, root_length) || (whole[root_length] && whole[root_length] != '/')) return 0;
  return length < 4 || strcmp(whole + length - 4, "-shm");
}

/* 0: not recorded, or closed by an unrecorded call and its number is in use again. */
static uint64_t inode_of(int descriptor) {
  if (descriptor < 0 || descriptor >= DESCRIPTORS || !inodes[descriptor]) return 0;
  struct stat found;
  int error = errno;
  if (fstat(descriptor, &found) || found.st_ino != inodes[descriptor]) inodes[descriptor] = 0;
  errno = error;
  return inodes[descriptor];
}

static int open_one(int folder, const char *path, int flags, mode_t mode) {
  REAL(int, openat, int, const char *, int, ...)
  char whole[PATH_MAX];
  if ((flags & O_TMPFILE) == O_TMPFILE || !is_ours(folder, path, whole)) return real(folder, path, flags, mode);
  pthread_mutex_lock(&turn);
  struct stat found;
  int was_there = stat(whole, &found) == 0;
  int descriptor = real(folder, path, flags, mode);
  int error = errno;
  if (descriptor >= DESCRIPTORS) give_up("so many open files");
  if (descriptor >= 0) {
    if (fstat(descriptor, &found)) give_up("a file without an inode");
    inodes[descriptor] = found.st_ino;
    note(was_there ? OPEN : CREATE, found.st_ino, 0, whole, NULL, NULL, 0);
    if (was_there && (flags & O_TRUNC)) note(TRUNCATE, found.st_ino, 0, NULL, NULL, NULL, 0);
  }
  pthread_mutex_unlock(&turn);
  errno = error;
  return descriptor;
}

#define MODE(flags)                                      \
  mode_t mode = 0;                                       \
  if (flags & (O_CREAT | O_TMPFILE)) {                   \
    va_list rest;                                        \
    va_start(rest, flags);                               \
    mode = va_arg(rest, mode_t);                         \
    va_end(rest);                                        \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_one(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_one(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
int openat(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_one(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, ...) {
  MODE(flags)
  return open_one(folder, path, flags | O_LARGEFILE, mode);
}
int __open_2(const char *path, int flags) { return open_one(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return open_one(AT_FDCWD, path, flags | O_LARGEFILE, 0); }
int creat(const char *path, mode_t mode) { return open_one(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

static FILE *open_stream(FILE *(*real)(const char *, const char *), const char *path, const char *mode) {
  char whole[PATH_MAX];
  if (strpbrk(mode, "wa+") && is_ours(AT_FDCWD, path, whole)) give_up("a stream of the C library");
  return real(path, mode);
}
FILE *fopen(const char *path, const char *mode) {
  REAL(FILE *, fopen, const char *, const char *)
  return open_stream(real, path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  REAL(FILE *, fopen64, const char *, const char *)
  return open_stream(real, path, mode);
}

int close(int descriptor) {
  REAL(int, close, int)
  if (descriptor >= 0 && descriptor < DESCRIPTORS) inodes[descriptor] = 0;
  return real(descriptor);
}

/* The offset where a write without a position begins. */
static uint64_t position_of(int descriptor) {
  if (fcntl(descriptor, F_GETFL) & O_APPEND) {
    struct stat found;
    return fstat(descriptor, &found) ? 0 : found.st_size;
  }
  return lseek(descriptor, 0, SEEK_CUR);
}

static ssize_t note_parts(ssize_t written, int descriptor, const struct iovec *parts, int count, uint64_t at) {
  int error = errno;
  size_t left = written > 0 ? written : 0;
  for (int i = 0; i < count && left; i++) {
    size_t length = parts[i].iov_len < left ? parts[i].iov_len : left;
    note(WRITE, inodes[descriptor], at, NULL, NULL, parts[i].iov_base, length);
    at += length;
    left -= length;
  }
  pthread_mutex_unlock(&turn);
  errno = error;
  return written;
}

ssize_t write(int descriptor, const void *data, size_t length) {
  REAL(ssize_t, write, int, const void *, size_t)
  if (!inode_of(descriptor)) return real(descriptor, data, length);
  pthread_mutex_lock(&turn);
  uint64_t at = position_of(descriptor);
  struct iovec part = {(void *)data, length};
  return note_parts(real(descriptor, data, length), descriptor, &part, 1, at);
}
ssize_t writev(int descriptor, const struct iovec *parts, int count) {
  REAL(ssize_t, writev, int, const struct iovec *, int)
  if (!inode_of(descriptor)) return real(descriptor, parts, count);
  pthread_mutex_lock(&turn);
  uint64_t at = position_of(descriptor);
  return note_parts(real(descriptor, parts, count), descriptor, parts, count, at);
}

#define WRITE_AT(name)                                                                    \
  ssize_t name(int descriptor, const void *data, size_t length, off_t at) {               \
    REAL(ssize_t, name, int, const void *, size_t, off_t)                                 \
    if (!inode_of(descriptor)) return real(descriptor, data, length, at);                 \
    pthread_mutex_lock(&turn);                                                            \
    struct iovec part = {(void *)data, length};                                           \
    return note_parts(real(descriptor, data, length, at), descriptor, &part, 1, at);      \
  }
WRITE_AT(pwrite)
WRITE_AT(pwrite64)

#define WRITE_PARTS_AT(name)                                                              \
  ssize_t name(int descriptor, const struct iovec *parts, int count, off_t at) {          \
    REAL(ssize_t, name, int, const struct iovec *, int, off_t)                            \
    if (!inode_of(descriptor)) return real(descriptor, parts, count, at);                 \
    pthread_mutex_lock(&turn);                                                            \
    return note_parts(real(descriptor, parts, count, at), descriptor, parts, count, at);  \
  }
WRITE_PARTS_AT(pwritev)
WRITE_PARTS_AT(pwritev64)

/* Records a successful call. Its position in the journal is that of its effect. */
#define FOLLOW(call, is_followed, ...)          \
  if (!(is_followed)) return call;              \
  pthread_mutex_lock(&turn);                    \
  int failed = call, error = errno;             \
  if (!failed) note(__VA_ARGS__, NULL, 0);      \
  pthread_mutex_unlock(&turn);                  \
  errno = error;                                \
  return failed;

int ftruncate(int descriptor, off_t size) {
  REAL(int, ftruncate, int, off_t)
  FOLLOW(real(descriptor, size), inode_of(descriptor), TRUNCATE, inode_of(descriptor), size, NULL, NULL)
}
int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }
int truncate(const char *path, off_t size) {
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  int failed = ftruncate(descriptor, size);
  close(descriptor);
  return failed;
}
int truncate64(const char *path, off_t size) { return truncate(path, size); }

int fsync(int descriptor) {
  REAL(int, fsync, int)
  FOLLOW(inode_of(descriptor) ? 0 : real(descriptor), inode_of(descriptor), SYNC, inode_of(descriptor), 0, NULL, NULL)
}
int fdatasync(int descriptor) { return fsync(descriptor); }
/* It does not promise that data is durable (sync_file_range(2)). */
int sync_file_range(int descriptor, off_t at, off_t length, unsigned int flags) { return 0; }

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags) {
  REAL(int, renameat, int, const char *, int, const char *)
  char source[PATH_MAX], target[PATH_MAX];
  int leaves = is_ours(from_folder, from, source), comes = is_ours(to_folder, to, target);
  if (leaves != comes || (comes && flags)) give_up("a rename over the border");
  FOLLOW(real(from_folder, from, to_folder, to), comes, RENAME, 0, 0, source, target)
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  return renameat2(from_folder, from, to_folder, to, 0);
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int)
  char whole[PATH_MAX];
  FOLLOW(real(folder, path, flags), is_ours(folder, path, whole), UNLINK, 0, 0, whole, NULL)
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
  int failed = unlink(path);
  return failed && (errno == EISDIR || errno == EPERM) ? rmdir(path) : failed;
}

int mkdirat(int folder, const char *path, mode_t mode) {
  REAL(int, mkdirat, int, const char *, mode_t)
  char whole[PATH_MAX];
  FOLLOW(real(folder, path, mode), is_ours(folder, path, whole), MKDIR, 0, 0, whole, NULL)
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
char *mkdtemp(char *pattern) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  char *end = pattern + strlen(pattern) - 6;
  for (int attempt = 0; attempt < 1000; attempt++) {
    for (int i = 0; i < 6; i++) end[i] = letters[random() % (sizeof letters - 1)];
    if (!mkdir(pattern, 0700)) return pattern;
    if (errno != EEXIST) return NULL;
  }
  return NULL;
}

/* Calls that are not recorded: libuv then uses other calls, or the program ends. */
int link(const char *from, const char *to) {
  REAL(int, link, const char *, const char *)
  char whole[PATH_MAX];
  if (is_ours(AT_FDCWD, to, whole)) give_up("a hard link");
  return real(from, to);
}
int symlink(const char *from, const char *to) {
  REAL(int, symlink, const char *, const char *)
  char whole[PATH_MAX];
  if (is_ours(AT_FDCWD, to, whole)) give_up("a symbolic link");
  return real(from, to);
}
int fallocate(int descriptor, int mode, off_t at, off_t length) {
  REAL(int, fallocate, int, int, off_t, off_t)
  if (!inode_of(descriptor)) return real(descriptor, mode, at, length);
  errno = EOPNOTSUPP;
  return -1;
}
int fallocate64(int descriptor, int mode, off_t at, off_t length) { return fallocate(descriptor, mode, at, length); }
int posix_fallocate(int descriptor, off_t at, off_t length) {
  REAL(int, posix_fallocate, int, off_t, off_t)
  if (inode_of(descriptor)) give_up("posix_fallocate");
  return real(descriptor, at, length);
}
int posix_fallocate64(int descriptor, off_t at, off_t length) { return posix_fallocate(descriptor, at, length); }
#define COPY(name)                                                           \
  ssize_t name(int to, int from, off_t *at, size_t length) {                 \
    REAL(ssize_t, name, int, int, off_t *, size_t)                           \
    if (!inode_of(to)) return real(to, from, at, length);                    \
    errno = EINVAL;                                                          \
    return -1;                                                               \
  }
COPY(sendfile)
COPY(sendfile64)
ssize_t copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t length, unsigned int flags) {
  errno = ENOSYS;
  return -1;
}
static void check_map(int protection, int flags, int descriptor) {
  if (inode_of(descriptor) && (flags & MAP_SHARED) && (protection & PROT_WRITE)) give_up("a file in memory");
}
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t at) {
  REAL(void *, mmap, void *, size_t, int, int, int, off_t)
  check_map(protection, flags, descriptor);
  return real(address, length, protection, flags, descriptor, at);
}
void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off_t at) {
  REAL(void *, mmap64, void *, size_t, int, int, int, off_t)
  check_map(protection, flags, descriptor);
  return real(address, length, protection, flags, descriptor, at);
}
long syscall(long number, ...) {
  REAL(long, syscall, long, ...)
  if (number == SYS_io_uring_setup || number == SYS_copy_file_range) {
    errno = ENOSYS;
    return -1;
  }
  va_list rest;
  va_start(rest, number);
  long part[6];
  for (int i = 0; i < 6; i++) part[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_close) return close(part[0]);
  return real(number, part[0], part[1], part[2], part[3], part[4], part[5]);
}
