// Finds processes by a mark in the environment that they were started with. A process that has left the process group
// of its worker, as daemons do, still bears the mark.

#define _DEFAULT_SOURCE

#include "CBridgePlatform.h"
#include "guard.h"

#ifdef __linux__

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { most_rounds = 10 };

static bool is_marked(pid_t process, const char *mark) {
    char value;
    return cbp_process_variable(process, mark, &value, sizeof value) >= 0;
}

static int kill_once(const char *mark) {
    int killed = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL) return 0;
    struct dirent *entry;
    while ((entry = readdir(processes)) != NULL) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process <= 1 || process == getpid() || !is_marked(process, mark)) continue;
        int handle = cbp_process_open(process);
        if (handle < 0) continue;
        // Check once more: the number may have been given to another process before the handle was opened.
        if (is_marked(process, mark) && cbp_process_signal(handle, process, SIGKILL) == 0) killed++;
        close(handle);
    }
    closedir(processes);
    return killed;
}

void kill_marked(const char *mark) {
    // A round may still see processes that the previous round has killed. It also finds processes that began during
    // the previous round.
    for (int round = 0; round < most_rounds && kill_once(mark) > 0; round++) usleep(2000);
}

#else

void kill_marked(const char *mark) { (void)mark; }

#endif
