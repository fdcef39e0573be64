// What this process reports to the process that started it: how far it came, and what it does without.

#include "launcher.h"

#include <errno.h>
#include <unistd.h>

void report(const struct plan *plan, struct launch_report found) {
    // The report has fewer bytes than a pipe takes in one piece. If the write fails, the reader has gone.
    while (write(plan->status, &found, sizeof found) < 0 && errno == EINTR) {}
}

struct launch_report succeeded(void) { return (struct launch_report){.stage = 0}; }

struct launch_report failed(int32_t stage, int error, int detail) {
    return (struct launch_report){.stage = stage, .error = error, .detail = detail};
}

struct launch_report lacking(const struct plan *plan, int32_t stage, int error, int detail) {
    struct launch_report found = failed(stage, error, detail);
    if (!plan->box.is_best_effort) return found;
    found.is_left_out = 1;
    report(plan, found);
    return succeeded();
}
