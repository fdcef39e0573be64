// bridge-guard: each bridge starts one. It waits for the end of the bridge's process, and then kills what is left of
// the workers.

#include "guard.h"

#include <unistd.h>

/// EX_USAGE of sysexits.h.
enum { exit_usage = 64 };

int main(int count, char **words) {
    struct order order = {.parent = -1, .connection = -1};
    if (!parse_command_line(count, words, &order)) return exit_usage;
    return guard(&order);
}
