#ifndef C_LOCKS_H
#define C_LOCKS_H

#include <stdbool.h>

// Hidden, so that a look costs one comparison and no detour through a table of addresses.
__attribute__((visibility("hidden"))) extern int cl_simulations;

/// Whether this process has ever had a simulation: one relaxed load. Once true it stays true.
static inline bool cl_has_simulations(void) { return __atomic_load_n(&cl_simulations, __ATOMIC_RELAXED) != 0; }

/// From now on every thread looks whether it belongs to a simulation.
static inline void cl_allow_simulations(void) { __atomic_store_n(&cl_simulations, 1, __ATOMIC_RELAXED); }

#endif
