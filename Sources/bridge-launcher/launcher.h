// The two things that bridge-launcher can be: the beginning of a worker, and the guard of all workers of a bridge.

#ifndef BRIDGE_LAUNCHER_H
#define BRIDGE_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The limits of a box, in the order in which they are set; BridgePlatform has the same numbers.
enum box_limit {
    limit_memory,
    limit_processor_seconds,
    limit_open_files,
    limit_processes,
    limit_core,
    limit_file_size,
    limit_count,
};

struct box_path {
    const char *path;
    bool is_writable;
};

/// What the worker may use up and touch; see docs/decisions/0022 and 0023.
struct box {
    /// Whether there is a box at all.
    bool is_set;
    /// Whether the worker begins even where the system lacks what the box needs.
    bool is_best_effort;
    /// -1 where nothing was said.
    int64_t limits[limit_count];
    int mask;
    /// Whether the worker can touch only files below `paths`, and the files that every program needs.
    bool rules_files;
    struct box_path *paths;
    size_t path_count;
    bool refuses_network;
    /// Whether the worker cannot connect to sockets of this machine either; possible only without network.
    bool refuses_connections;
};

/// What the command line says; numbers are -1 where nothing was said.
struct plan {
    /// The process that has started this one.
    pid_t parent;
    /// Where a failure is reported; the kernel closes it when the program begins.
    int status;
    /// The connection to the guard, from either side.
    int guard;
    bool is_guard;
    /// The beginning of the variable that marks all workers of the bridge and all that they start.
    const char *mark;
    const char *program;
    /// The worker's soft limit of open descriptors, from a parent that has raised its own.
    int64_t descriptors;
    struct box box;
    /// The program's arguments, its name first.
    char **arguments;
};

/// How far the launch came, for the process that has started it. BridgePlatform knows the numbers.
enum launch_stage {
    stage_usage = 1,
    stage_parent = 2,
    stage_program = 3,
    /// The detail is a `box_limit`.
    stage_limit = 4,
    stage_privileges = 5,
    /// The detail is what Landlock calls its version; 0 if there is no Landlock.
    stage_files = 6,
    /// The detail is the path's place among those of the command line, from 0.
    stage_path = 7,
    stage_network = 8,
    /// Other processes are not safe from the worker, because the filter of system calls is missing.
    stage_calls = 9,
    /// Other processes are not safe from the worker, because Landlock is missing.
    stage_processes = 10,
    /// Signals reach processes outside. This is reported, and the worker begins all the same. The detail is what
    /// Landlock calls its version.
    stage_signals = 11,
};

struct launch_report {
    /// 0 says that all is well.
    int32_t stage;
    int32_t error;
    int32_t detail;
    /// Whether the worker begins all the same, without the part that failed.
    int32_t is_left_out;
};

struct launch_report succeeded(void);

struct launch_report failed(int32_t stage, int error, int detail);

/// Says that the system lacks something, and whether the worker begins all the same.
struct launch_report lacking(const struct plan *plan, int32_t stage, int error, int detail);

/// Reports to the process that has started this one; may be called several times.
void report(const struct plan *plan, struct launch_report found);

/// What a beginning worker sends to the guard; on Linux together with a pidfd of its own.
struct launch_notice {
    int32_t process;
};

/// Fills in the plan; returns false, with a sentence on standard error, if the command line is wrong.
bool parse_command_line(int count, char **words, struct plan *plan);

/// Becomes the worker. Returns only if that was not possible, and says how far it came.
struct launch_report launch(const struct plan *plan);

/// Closes the box around this process, for good. Reports what the system lacks as left out, where the box allows that.
struct launch_report enter_box(const struct plan *plan);

/// The part of every box that keeps a set-user-ID program's rights from the worker. The kernel takes filters and rules
/// only after this part.
struct launch_report refuse_new_privileges(const struct plan *plan);

/// The part of a closed box that leaves the superuser only the rights about files and users.
struct launch_report give_up_capabilities(void);

/// The part of the box that Landlock enforces: which files the worker can touch, and that it looks into no
/// process outside.
struct launch_report restrict_reach(const struct plan *plan);

/// The part of the box that a filter of system calls enforces: nothing outside is changed, and no network.
struct launch_report restrict_calls(const struct plan *plan);

/// Waits for the end of the parent, then kills what the workers have left.
int guard(const struct plan *plan);

/// Kills all processes of this user whose environment has a variable that begins with `mark`.
void kill_marked(const char *mark);

#endif
