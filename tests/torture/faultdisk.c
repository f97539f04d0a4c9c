/* A disk that fails: preloaded below SQLite, it kills, tears, fills up or loses power.
 *
 * Armed from Python through ctypes (`faultdisk_arm`). Counts the writes, truncations and
 * syncs that reach files whose path begins with a prefix; when the count runs out, it
 * strikes. A power cut first undoes a random half of the 512-byte sectors written since
 * each file's last sync, which is what a volatile write cache is allowed to do. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OFF, KILL_BEFORE, KILL_AFTER, TORN, FULL, SYNC_FAILS, POWER };
enum { SECTOR = 512, UNDO_MAX = 65536 };

struct undo {
    char path[256];
    off_t offset, size_before;
    size_t length, kept;
    char *old;
};

static int mode_;
static long countdown_;
static unsigned long long seed_;
static char prefix_[PATH_MAX];
static struct undo undo_[UNDO_MAX];
static int undos_;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);

__attribute__((constructor)) static void find_real(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
}

void faultdisk_arm(int mode, long countdown, unsigned long long seed, const char *prefix) {
    mode_ = mode;
    countdown_ = countdown;
    seed_ = seed * 2862933555777941757ULL + 3037000493ULL;
    snprintf(prefix_, sizeof prefix_, "%s", prefix);
    undos_ = 0;
}

static unsigned long long mix(unsigned long long x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

static int watched(int fd, char *path) {
    if (mode_ == OFF) return 0;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, 255);
    if (n <= 0) return 0;
    path[n] = 0;
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
    return strncmp(path, prefix_, strlen(prefix_)) == 0;
}

__attribute__((noreturn)) static void die(void) {
    raise(SIGKILL);
    for (;;) pause();
}

static int strikes(void) { return --countdown_ <= 0; }

static void remember(const char *path, int fd, off_t offset, size_t length) {
    if (mode_ != POWER || undos_ == UNDO_MAX) return;
    struct stat st;
    if (fstat(fd, &st) != 0) return;
    struct undo *u = &undo_[undos_++];
    snprintf(u->path, sizeof u->path, "%s", path);
    u->offset = offset;
    u->length = length;
    u->size_before = st.st_size;
    u->old = calloc(1, length);
    ssize_t got = real_pread(fd, u->old, length, offset);
    u->kept = got > 0 ? (size_t)got : 0;
}

static void forget(const char *path) {
    int kept = 0;
    for (int i = 0; i < undos_; i++) {
        if (strcmp(undo_[i].path, path) == 0)
            free(undo_[i].old);
        else
            undo_[kept++] = undo_[i];
    }
    undos_ = kept;
}

__attribute__((noreturn)) static void cut_power(void) {
    mode_ = OFF;
    for (int i = undos_ - 1; i >= 0; i--) {
        struct undo *u = &undo_[i];
        FILE *file = fopen(u->path, "r+b");
        if (!file) continue;
        int fd = fileno(file);
        for (size_t at = 0; at < u->length;) {
            off_t sector = (u->offset + (off_t)at) / SECTOR;
            size_t span = (size_t)((sector + 1) * SECTOR - (u->offset + (off_t)at));
            if (span > u->length - at) span = u->length - at;
            /* One decision a sector of a file, so that overlapping writes agree. */
            unsigned long long h = mix(seed_ ^ mix((unsigned long long)sector + strlen(u->path)));
            if (h & 1) real_pwrite(fd, u->old + at, span, u->offset + (off_t)at);
            at += span;
        }
        if (mix(seed_ + 7) & 1 && u->size_before < u->offset + (off_t)u->length)
            if (real_ftruncate(fd, u->size_before) != 0) { /* the disk is gone anyway */ }
        fclose(file);
    }
    die();
}

static ssize_t struck_write(int fd, const void *data, size_t length, off_t offset) {
    switch (mode_) {
        case KILL_BEFORE: die();
        case KILL_AFTER:
            if (real_pwrite(fd, data, length, offset) >= 0) die();
            die();
        case TORN: {
            size_t part = length ? mix(seed_ + 1) % length : 0;
            if (real_pwrite(fd, data, part, offset) >= 0) die();
            die();
        }
        case FULL: {
            /* A short write first, then no space at all: both happen on a real disk. */
            size_t part = countdown_ == 0 && length ? mix(seed_ + 2) % length : 0;
            if (part) return real_pwrite(fd, data, part, offset);
            errno = ENOSPC;
            return -1;
        }
        case POWER: cut_power();
    }
    return real_pwrite(fd, data, length, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
    char path[256];
    if (!watched(fd, path)) return real_pwrite(fd, data, length, offset);
    remember(path, fd, offset, length);
    if (strikes()) return struck_write(fd, data, length, offset);
    return real_pwrite(fd, data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length) {
    char path[256];
    if (!watched(fd, path)) return real_write(fd, data, length);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = pwrite64(fd, data, length, offset);
    if (done > 0) lseek(fd, offset + done, SEEK_SET);
    return done;
}

static int synced(int fd, int (*real)(int)) {
    char path[256];
    if (!watched(fd, path)) return real(fd);
    if (strikes()) {
        if (mode_ == SYNC_FAILS) {
            errno = EIO;
            return -1;
        }
        if (mode_ == POWER) cut_power();
        if (mode_ == KILL_AFTER) {
            if (real(fd) == 0) die();
            die();
        }
        if (mode_ == KILL_BEFORE || mode_ == TORN) die();
    }
    int result = real(fd);
    if (result == 0) forget(path);
    return result;
}

int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int ftruncate64(int fd, off_t length) {
    char path[256];
    if (watched(fd, path)) {
        struct stat st;
        if (fstat(fd, &st) == 0 && st.st_size > length)
            remember(path, fd, length, (size_t)(st.st_size - length));
        if (strikes()) {
            if (mode_ == POWER) cut_power();
            if (mode_ == KILL_BEFORE || mode_ == TORN) die();
            if (mode_ == KILL_AFTER && real_ftruncate(fd, length) == 0) die();
        }
    }
    return real_ftruncate(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }
