#ifndef C_LOCKS_H
#define C_LOCKS_H

#include <stdbool.h>

// Hidden, so that a check costs one comparison, without a load from the global offset table.
__attribute__((visibility("hidden"))) extern int cl_simulations;

/// Whether this process has ever had a simulation: one relaxed load. Once true it stays true.
static inline bool cl_has_simulations(void) { return __atomic_load_n(&cl_simulations, __ATOMIC_RELAXED) != 0; }

/// Makes every thread check from now on whether it belongs to a simulation.
static inline void cl_allow_simulations(void) { __atomic_store_n(&cl_simulations, 1, __ATOMIC_RELAXED); }

/// Keeps the compiler from moving reads and writes across this place; the processor may still move them.
static inline void cl_light_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// Whether the process may use `cl_heavy_fence`: false if the system has no such fence, or forbids it.
bool cl_has_heavy_fences(void);

/// Makes every running thread of the process pass a full memory fence before this returns; false if the system refuses.
/// Call this only if `cl_has_heavy_fences()` is true.
bool cl_heavy_fence(void);

#endif
