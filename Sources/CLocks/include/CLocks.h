#ifndef C_LOCKS_H
#define C_LOCKS_H

#include <stdbool.h>
#include <stddef.h>

// Hidden, so that a check costs one comparison, without a load from the global offset table.
__attribute__((visibility("hidden"))) extern int cl_simulations;

/// Whether this process has ever had a simulation: one relaxed load. Once true it stays true.
static inline bool cl_has_simulations(void) { return __atomic_load_n(&cl_simulations, __ATOMIC_RELAXED) != 0; }

/// Makes every thread check from now on whether it belongs to a simulation.
static inline void cl_allow_simulations(void) { __atomic_store_n(&cl_simulations, 1, __ATOMIC_RELAXED); }

/// How many objects a thread may keep.
enum { cl_thread_slots = 16 };

#if defined(__linux__)
// A program reads a variable of this model with one instruction. The model is valid in libraries, too, if they are
// loaded with the program. A library that the program loads later takes room that the C library keeps for such
// libraries.
__attribute__((tls_model("initial-exec"), visibility("hidden")))
extern _Thread_local void *_Nullable cl_own_objects[cl_thread_slots];

/// The calling thread's object in this slot; null if there is none.
static inline void *_Nullable cl_thread_object(int slot) { return cl_own_objects[slot]; }
#else
// Darwin frees a thread's variables before it calls the destructors of later keys. So the variable only points to the
// objects, and the destructor gets the same pointer.
__attribute__((visibility("hidden"))) extern _Thread_local void *_Nullable *_Nullable cl_own_objects;

/// The calling thread's object in this slot; null if there is none.
static inline void *_Nullable cl_thread_object(int slot) { return cl_own_objects ? cl_own_objects[slot] : NULL; }
#endif

/// The calling thread's objects, which stay in place until the thread has ended and `cl_free_thread_objects` is called.
void *_Nullable *_Nonnull cl_thread_objects(void);

/// Called with the objects of a thread that has released them all, at its end.
void cl_free_thread_objects(void *_Nullable *_Nonnull objects);

/// Keeps the compiler from moving reads and writes across this place; the processor may still move them.
static inline void cl_light_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// Whether the process may use `cl_heavy_fence`: false if the system has no such fence, or forbids it.
bool cl_has_heavy_fences(void);

/// Makes every running thread of the process pass a full memory fence before this returns; false if the system refuses.
/// Call this only if `cl_has_heavy_fences()` is true.
bool cl_heavy_fence(void);

#endif
