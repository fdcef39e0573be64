// The box around a process: what the process may use up and touch. The process closes the box before its program
// begins. Everything that the program starts inherits the box, which is never opened again.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int resource_of(enum cbp_box_limit limit) {
    switch (limit) {
    // Not RLIMIT_AS: reserved addresses cost nothing, and a Swift program, like any with threads, reserves gigabytes of
    // them. Since Linux 4.7 RLIMIT_DATA counts private writable memory: heap and thread stacks alike.
    case cbp_limit_memory: return RLIMIT_DATA;
    // Each process has its own limit. At the limit the kernel sends SIGXCPU, which a program may handle, then SIGKILL.
    case cbp_limit_processor_seconds: return RLIMIT_CPU;
    // The limit is one more than the highest descriptor.
    case cbp_limit_open_files: return RLIMIT_NOFILE;
    // This limit counts all processes and threads of the user, not only the box's; it does not hold for the superuser.
    case cbp_limit_processes: return RLIMIT_NPROC;
    // A system that pipes cores to a program ignores this limit.
    case cbp_limit_core: return RLIMIT_CORE;
    // A process that writes beyond this limit gets SIGXFSZ.
    case cbp_limit_file_size: return RLIMIT_FSIZE;
    case cbp_limit_count: break;
    }
    return -1;
}

/// How many seconds a process has after SIGXCPU.
enum { seconds_after_warning = 2 };

static cbp_spawn_report set_limit(const cbp_box *box, enum cbp_box_limit limit) {
    struct rlimit value;
    int resource = resource_of(limit);
    if (getrlimit(resource, &value) != 0) return cbp_failed(cbp_stage_limit, errno, (int)limit);
    rlim_t soft = (rlim_t)box->limits[limit];
    rlim_t hard = limit == cbp_limit_processor_seconds ? soft + seconds_after_warning : soft;
    // A hard limit that is already lower stays: only the superuser may raise it, and a box never does.
    if (value.rlim_max == RLIM_INFINITY || hard < value.rlim_max) value.rlim_max = hard;
    value.rlim_cur = soft < value.rlim_max ? soft : value.rlim_max;
    if (setrlimit(resource, &value) != 0) return cbp_failed(cbp_stage_limit, errno, (int)limit);
    return cbp_succeeded();
}

cbp_spawn_report cbp_enter_box(const struct launch *launch) {
    const cbp_box *box = launch->request->box;
    if (box == NULL) return cbp_succeeded();
    if (box->mask >= 0) umask((mode_t)box->mask);
    cbp_spawn_report found = cbp_refuse_new_privileges(launch);
    // The rules come before the limits, because the rules need descriptors.
    bool is_closed = box->rules_files || box->refuses_network;
    if (found.stage == 0 && is_closed) found = cbp_restrict_reach(launch);
    for (int limit = 0; found.stage == 0 && limit < cbp_limit_count; limit++) {
        if (box->limits[limit] >= 0) found = set_limit(box, (enum cbp_box_limit)limit);
    }
    // With CAP_SYS_RESOURCE the superuser could raise the limits again.
    if (found.stage == 0 && is_closed) found = cbp_give_up_capabilities();
    if (found.stage == 0 && is_closed) found = cbp_restrict_calls(launch);
    return found;
}
