// The box around a worker: what the worker may use up and touch. The launcher closes the box before the worker's
// program begins. Everything that the program starts inherits the box, which is never opened again.

#define _GNU_SOURCE

#include "launcher.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int resource_of(enum box_limit limit) {
    switch (limit) {
    // Not RLIMIT_AS: reserved addresses cost nothing, and a Swift program, like any with threads, reserves gigabytes of
    // them. RLIMIT_DATA counts what can be written and is shared with no other process (since Linux 4.7): heap and
    // thread stacks alike.
    case limit_memory: return RLIMIT_DATA;
    // Each process has its own limit. At the limit the kernel sends SIGXCPU, which a program may handle, then SIGKILL.
    case limit_processor_seconds: return RLIMIT_CPU;
    // The limit is one more than the highest descriptor.
    case limit_open_files: return RLIMIT_NOFILE;
    // Counts all of the user's processes and threads, wherever they come from; does not hold for the superuser.
    case limit_processes: return RLIMIT_NPROC;
    // A system that pipes cores to a program ignores this limit.
    case limit_core: return RLIMIT_CORE;
    // A process that writes beyond this limit gets SIGXFSZ.
    case limit_file_size: return RLIMIT_FSIZE;
    case limit_count: break;
    }
    return -1;
}

/// How many seconds a process has after SIGXCPU.
enum { seconds_after_warning = 2 };

static struct launch_report set_limit(const struct box *box, enum box_limit limit) {
    struct rlimit value;
    int resource = resource_of(limit);
    if (getrlimit(resource, &value) != 0) return failed(stage_limit, errno, (int)limit);
    rlim_t soft = (rlim_t)box->limits[limit];
    rlim_t hard = limit == limit_processor_seconds ? soft + seconds_after_warning : soft;
    // A limit that is already lower stays lower: only the superuser may raise it, and more was not asked for.
    if (value.rlim_max == RLIM_INFINITY || hard < value.rlim_max) value.rlim_max = hard;
    value.rlim_cur = soft < value.rlim_max ? soft : value.rlim_max;
    if (setrlimit(resource, &value) != 0) return failed(stage_limit, errno, (int)limit);
    return succeeded();
}

struct launch_report enter_box(const struct plan *plan) {
    const struct box *box = &plan->box;
    if (!box->is_set) return succeeded();
    if (box->mask >= 0) umask((mode_t)box->mask);
    struct launch_report found = refuse_new_privileges(plan);
    // Before the limits, because the rules need descriptors.
    bool is_closed = box->rules_files || box->refuses_network;
    if (found.stage == 0 && is_closed) found = restrict_reach(plan);
    for (int limit = 0; found.stage == 0 && limit < limit_count; limit++) {
        if (box->limits[limit] >= 0) found = set_limit(box, (enum box_limit)limit);
    }
    // After the limits, because only the superuser can raise them.
    if (found.stage == 0 && is_closed) found = give_up_capabilities();
    if (found.stage == 0 && is_closed) found = restrict_calls(plan);
    return found;
}
