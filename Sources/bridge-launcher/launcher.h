// The two things that bridge-launcher can be: the beginning of a worker, and the guard of all workers of a bridge.

#ifndef BRIDGE_LAUNCHER_H
#define BRIDGE_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/// What the command line says; numbers are -1 where nothing was said.
struct plan {
    /// The process that has started this one.
    pid_t parent;
    /// Where a failure is reported; closed by the kernel when the program begins.
    int status;
    /// The connection to the guard, from either side.
    int guard;
    bool is_guard;
    /// How the variable begins that all workers of the bridge have in their environment, and what they start.
    const char *mark;
    const char *program;
    /// The program's arguments, its name first.
    char **arguments;
};

/// How far it came, for whoever has started it. The numbers are known to BridgePlatform.
enum launch_stage {
    stage_usage = 1,
    stage_parent = 2,
    stage_program = 3,
};

struct launch_report {
    int32_t stage;
    int32_t error;
};

/// What a beginning worker sends to the guard, on Linux together with a pidfd of its own.
struct launch_notice {
    int32_t process;
};

/// Fills in the plan; false, and a sentence on standard error, if the command line is wrong.
bool parse_command_line(int count, char **words, struct plan *plan);

/// Becomes the worker. Returns only if that was not possible, and says how far it came.
struct launch_report launch(const struct plan *plan);

/// Waits for the end of the parent, then kills what the workers have left.
int guard(const struct plan *plan);

/// Kills all processes of this user in whose environment a variable begins like this.
void kill_marked(const char *mark);

#endif
