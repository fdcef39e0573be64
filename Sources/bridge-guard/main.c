// bridge-guard: a bridge starts one with its first worker, unless it runs without a guard. The guard waits for the end
// of the bridge, and then kills what is left of the workers.

#include "guard.h"

#include <unistd.h>

/// EX_USAGE of sysexits.h.
enum { exit_usage = 64 };

int main(int count, char **words) {
    struct order order = {.parent = -1, .connection = -1};
    if (!parse_command_line(count, words, &order)) return exit_usage;
    return guard(&order);
}
