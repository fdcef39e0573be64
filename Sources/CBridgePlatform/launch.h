// A new process between its start and its program. It may share its parent's memory, so it changes nothing that the
// parent reads, calls no function that takes a lock or allocates memory, and makes system calls only.

#ifndef CBP_LAUNCH_H
#define CBP_LAUNCH_H

#include "CBridgePlatform.h"

#include <sys/types.h>

struct launch {
    const cbp_spawn_request *request;
    /// The process that starts this one.
    pid_t parent;
    /// The directories of the parent's Swift runtime; the program loads its own from there.
    char **libraries;
    size_t library_count;
};

cbp_spawn_report cbp_succeeded(void);

cbp_spawn_report cbp_failed(int32_t stage, int error, int detail);

/// If the program begins all the same, reports what the system lacks and returns success; else returns the failure.
cbp_spawn_report cbp_lacking(const struct launch *launch, int32_t stage, int error, int detail);

/// Reports to the process that has started this one; may be called several times.
void cbp_report(const struct launch *launch, cbp_spawn_report found);

/// Closes the box around this process, for good. Reports what the system lacks as left out, where the box allows that.
cbp_spawn_report cbp_enter_box(const struct launch *launch);

/// The part of every box that denies the process the rights of set-user-ID programs. Without this part, the kernel
/// takes filters and rules from the superuser alone.
cbp_spawn_report cbp_refuse_new_privileges(const struct launch *launch);

/// The part of a closed box (one with file rules, or without network) that leaves the superuser few capabilities, most
/// of them about files and users.
cbp_spawn_report cbp_give_up_capabilities(void);

/// The part of the box that Landlock enforces: which files the process can touch, and that it looks into no process
/// outside.
cbp_spawn_report cbp_restrict_reach(const struct launch *launch);

/// Opens a path of the box, by its place in the box, as a place in the file system (O_PATH). Follows a link only if no
/// process in this box, or in the other boxes that it knows, could have put the link there.
cbp_spawn_report cbp_open_listed(const struct launch *launch, size_t index, int *opened);

/// The part of the box that a filter of system calls enforces: no changes outside and, if the box says so, no network.
cbp_spawn_report cbp_restrict_calls(const struct launch *launch);

/// Becomes the program. Returns only on failure or without a program, and says how far it came.
cbp_spawn_report cbp_become_program(const struct launch *launch);

#endif
