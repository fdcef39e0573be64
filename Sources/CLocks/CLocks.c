#include "CLocks.h"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cl_begin_heavy_fences(void) {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

bool cl_heavy_fence(void) { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }
#else
bool cl_begin_heavy_fences(void) { return false; }

bool cl_heavy_fence(void) { return false; }
#endif

int cl_simulations = 0;
