// Counts how often a program asks for memory. Only measuring programs link this library: on Linux with glibc it stands
// between such a program and malloc.

#ifndef C_ALLOCATION_COUNTER_H
#define C_ALLOCATION_COUNTER_H

#include <stdint.h>

/// 1 if allocations can be counted in this program; 0 without glibc, and under a sanitizer, which has a malloc of its
/// own.
int cac_is_counting_possible(void);

/// Sets the count to 0; from now on every allocation of every thread counts.
void cac_begin(void);

/// Ends the counting. Returns how many allocations there were; a reallocation counts as one.
int64_t cac_end(void);

#endif
