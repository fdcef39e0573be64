#include "CAllocationCounter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)
#define COUNTS 1
#endif

static atomic_bool is_counting;
static atomic_llong total;

int cac_is_counting_possible(void) {
#ifdef COUNTS
    return 1;
#else
    return 0;
#endif
}

void cac_begin(void) {
    atomic_store(&total, 0);
    atomic_store(&is_counting, 1);
}

int64_t cac_end(void) {
    atomic_store(&is_counting, 0);
    return atomic_load(&total);
}

#ifdef COUNTS

// glibc's own functions, under the names that it keeps for programs that replace the public ones. A public function
// that the program defines hides glibc's in all libraries. The memory that is handed out is glibc's own, so that
// glibc's free can take it back.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

// While nothing is counted, this loads from a cache line that no thread writes, which costs next to nothing.
static inline void count_one(void) {
    if (__builtin_expect(atomic_load_explicit(&is_counting, memory_order_relaxed), 0))
        atomic_fetch_add_explicit(&total, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    count_one();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count_one();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    count_one();
    void *found = __libc_memalign(alignment, size);
    if (found == NULL) return ENOMEM;
    *memory = found;
    return 0;
}

#endif
