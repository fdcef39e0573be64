#include <nats/nats.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/// Makes malloc return free memory to the system: all threads share one arena, and large blocks are mapped separately.
static inline void natsgateway_return_memory(void) {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
#endif
}
