// bridge-launcher: a bridge starts it in the place of a worker. It ties itself to the life of the bridge and then
// becomes the worker. Started with --as guard, it waits for the end of the bridge and kills what is left of its
// workers.

#include "launcher.h"

#include <errno.h>
#include <unistd.h>

/// EX_USAGE of sysexits.h, and what shells say of a program that cannot be started.
enum { exit_usage = 64, exit_not_started = 127 };

int main(int count, char **words) {
    struct plan plan = {.parent = -1, .status = -1, .guard = -1, .descriptors = -1, .box = {.mask = -1}};
    for (int limit = 0; limit < limit_count; limit++) plan.box.limits[limit] = -1;
    if (!parse_command_line(count, words, &plan)) {
        if (plan.status >= 0) report(&plan, failed(stage_usage, EINVAL, 0));
        // Without a leak check, which would find memory that the end of the process takes back.
        _exit(exit_usage);
    }
    if (plan.is_guard) return guard(&plan);
    report(&plan, launch(&plan));
    _exit(exit_not_started);
}
