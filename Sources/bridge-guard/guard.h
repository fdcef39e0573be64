// What the files of bridge-guard share.

#ifndef BRIDGE_GUARD_H
#define BRIDGE_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/// What the command line says; numbers are -1 where nothing was said.
struct order {
    /// The process that has started this one, and whose children are guarded.
    pid_t parent;
    /// The connection on which children send their process numbers.
    int connection;
    /// The beginning of the variable that marks all workers of the bridge and all that they start; null for no mark.
    const char *mark;
};

/// Fills in the order; returns false, with a sentence on standard error, if the command line is wrong.
bool parse_command_line(int count, char **words, struct order *order);

/// Waits for the end of the parent or of the connection, then kills what the parent's children have left.
int guard(const struct order *order);

/// Kills all processes that have a variable beginning with `mark` in an environment that this user may read.
void kill_marked(const char *mark);

#endif
