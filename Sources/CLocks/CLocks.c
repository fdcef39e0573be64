#include "CLocks.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_heavy_fences = false;

// Registers the process while it loads and has one thread: with a second thread the call would take milliseconds.
__attribute__((constructor)) static void register_heavy_fences(void) {
    has_heavy_fences = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool cl_has_heavy_fences(void) { return has_heavy_fences; }

bool cl_heavy_fence(void) {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) { return true; }
    // The call fails if memory was short. It also fails after the process was saved and restored, which ends the
    // registration.
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0
        && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}
#else
bool cl_has_heavy_fences(void) { return false; }

bool cl_heavy_fence(void) { return false; }
#endif

int cl_simulations = 0;

#if defined(__linux__)
_Thread_local void *cl_own_objects[cl_thread_slots];

void **cl_thread_objects(void) { return cl_own_objects; }

void cl_free_thread_objects(void **objects) { (void)objects; }
#else
#include <stdlib.h>

_Thread_local void **cl_own_objects;

void **cl_thread_objects(void) {
    if (!cl_own_objects) { cl_own_objects = calloc(cl_thread_slots, sizeof(void *)); }
    if (!cl_own_objects) { abort(); }
    return cl_own_objects;
}

void cl_free_thread_objects(void **objects) {
    // While the thread's objects were released, it may have begun to keep others, in another place.
    if (cl_own_objects == objects) { cl_own_objects = NULL; }
    free(objects);
}
#endif
