// What a new process reports to the process that started it: what failed, and which parts of the box it lacks.

#include "launch.h"

#include <errno.h>
#include <unistd.h>

void cbp_report(const struct launch *launch, cbp_spawn_report found) {
    // The report has fewer bytes than a pipe takes in one piece. If the write fails, the reader has gone.
    while (write(launch->request->status, &found, sizeof found) < 0 && errno == EINTR) {}
}

cbp_spawn_report cbp_succeeded(void) { return (cbp_spawn_report){.stage = 0}; }

cbp_spawn_report cbp_failed(int32_t stage, int error, int detail) {
    return (cbp_spawn_report){.stage = stage, .error = error, .detail = detail};
}

cbp_spawn_report cbp_lacking(const struct launch *launch, int32_t stage, int error, int detail) {
    cbp_spawn_report found = cbp_failed(stage, error, detail);
    if (!launch->request->box->is_best_effort) return found;
    found.is_left_out = 1;
    cbp_report(launch, found);
    return cbp_succeeded();
}
