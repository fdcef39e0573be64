// Processes by a mark in the environment that they were started with: what has left the process group of its worker, as daemons
// do, still bears it.

#define _GNU_SOURCE

#include "launcher.h"

#ifdef __linux__

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/// More than the kernel takes for an environment by default.
enum { largest_environment = 8 << 20, most_rounds = 10 };

/// Whether a variable of the process's environment begins with these bytes. Only the user's own can be read.
static bool is_marked(pid_t process, const char *mark) {
    static char *text;
    static size_t room;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    size_t length = 0;
    while (true) {
        if (length == room) {
            if (room >= largest_environment) break;
            size_t larger = room == 0 ? 64 << 10 : room * 2;
            char *space = realloc(text, larger);
            if (space == NULL) break;
            text = space;
            room = larger;
        }
        ssize_t count = read(file, text + length, room - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        length += (size_t)count;
    }
    close(file);
    size_t wanted = strlen(mark);
    for (size_t start = 0; start + wanted <= length;) {
        if (memcmp(text + start, mark, wanted) == 0) return true;
        const char *end = memchr(text + start, '\0', length - start);
        if (end == NULL) break;
        start = (size_t)(end - text) + 1;
    }
    return false;
}

static int kill_once(const char *mark) {
    int killed = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL) return 0;
    struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process <= 1 || process == getpid() || !is_marked(process, mark)) continue;
        int handle = (int)syscall(SYS_pidfd_open, process, 0);
        if (handle < 0) continue;
        // Once more: the number may have been given to another process before the handle was opened.
        if (is_marked(process, mark) && syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0) == 0) killed++;
        close(handle);
    }
    closedir(processes);
    return killed;
}

void kill_marked(const char *mark) {
    // Whom one round has killed the next one may still see; whom it has missed, because he was just being born, it finds.
    for (int round = 0; round < most_rounds && kill_once(mark) > 0; round++) usleep(2000);
}

#else

void kill_marked(const char *mark) { (void)mark; }

#endif
