// A disk as it may be after a power cut, for a program that it is preloaded into: of the files in $DISK_STATE, only what
// was synced is in $DISK_KEPT, and a name comes or goes there only when the directory was synced.
//
// While the file $DISK_BROKEN exists, syncing fails as it does on a disk that dies.
//
// $DISK_KEPT/synced holds the contents of each name when it was last synced, $DISK_KEPT/disk what a power cut leaves.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 2 * PATH_MAX };

// The copy has its final name only when it is whole: the program may be killed in the middle.
static void copy(const char *from, const char *to) {
    char temporary[PATH_SIZE + 8], block[65536];
    snprintf(temporary, sizeof temporary, "%s.new", to);
    int target = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int source = open(from, O_RDONLY | O_CLOEXEC);
    ssize_t count;
    while (source >= 0 && (count = read(source, block, sizeof block)) > 0)
        if (write(target, block, count) != count) abort();
    if (source >= 0) close(source);
    close(target);
    if (rename(temporary, to)) abort();
}

static const char *kept(char *path, const char *part, const char *name) {
    snprintf(path, PATH_SIZE, "%s/%s/%s", getenv("DISK_KEPT"), part, name);
    return path;
}

static void keep_file(const char *path, const char *name) {
    char synced[PATH_SIZE], disk[PATH_SIZE];
    copy(path, kept(synced, "synced", name));
    if (access(kept(disk, "disk", name), F_OK) == 0) copy(synced, disk);
}

static void keep_names(const char *state) {
    char path[PATH_SIZE], other[PATH_SIZE];
    struct dirent *entry;
    DIR *folder = opendir(state);
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.' || access(kept(path, "disk", entry->d_name), F_OK) == 0) continue;
        copy(kept(other, "synced", entry->d_name), path);
    }
    if (folder) closedir(folder);
    folder = opendir(kept(path, "disk", ""));
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%s", state, entry->d_name);
        if (entry->d_name[0] == '.' || access(path, F_OK) == 0) continue;
        unlink(kept(other, "disk", entry->d_name));
        unlink(kept(other, "synced", entry->d_name));
    }
    if (folder) closedir(folder);
}

static int synced(int file) {
    char link[64], path[PATH_MAX + 1];
    const char *state = getenv("DISK_STATE"), *broken = getenv("DISK_BROKEN");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX);
    if (!state || length < 0) return 0;
    path[length] = 0;
    size_t prefix = strlen(state);
    if (strncmp(path, state, prefix) || (path[prefix] && path[prefix] != '/')) return 0;
    if (broken && access(broken, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    if (!getenv("DISK_KEPT")) return 0;
    if (path[prefix]) keep_file(path, path + prefix + 1);
    else keep_names(state);
    return 0;
}

// What is kept is what counts here; the real disk may take its time.
int fsync(int file) { return synced(file); }
int fdatasync(int file) { return synced(file); }
