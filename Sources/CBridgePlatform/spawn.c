// The start of a process. On Linux, between vfork and exec, the child shares the memory of this process, whose calling
// thread waits; so a start costs the same however large this process is. vfork(2) and the sources of posix_spawn in the
// C libraries say what such a child may do.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <link.h>
#include <sys/syscall.h>
#endif

/// The exit status by which shells say that a program cannot be started.
enum { exit_not_started = 127 };

// MARK: Libraries

static void forget_libraries(struct launch *launch) {
    for (size_t index = 0; index < launch->library_count; index++) free(launch->libraries[index]);
    free(launch->libraries);
}

#ifdef __linux__

static int add_library(struct dl_phdr_info *library, size_t size, void *context) {
    (void)size;
    struct launch *launch = context;
    const char *slash = strrchr(library->dlpi_name, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - library->dlpi_name);
    // A relative path would be another one in the child's working directory.
    if (length == 0 || library->dlpi_name[0] != '/' || strncmp(slash, "/libswift", 9) != 0) return 0;
    for (size_t index = 0; index < launch->library_count; index++) {
        const char *known = launch->libraries[index];
        if (strlen(known) == length && memcmp(known, library->dlpi_name, length) == 0) return 0;
    }
    char **more = realloc(launch->libraries, (launch->library_count + 1) * sizeof *more);
    if (more == NULL) return ENOMEM;
    launch->libraries = more;
    char *directory = strndup(library->dlpi_name, length);
    if (directory == NULL) return ENOMEM;
    launch->libraries[launch->library_count++] = directory;
    return 0;
}

/// Returns 0, or ENOMEM.
static int find_libraries(struct launch *launch) { return dl_iterate_phdr(add_library, launch); }

#else

static int find_libraries(struct launch *launch) {
    (void)launch;
    return 0;
}

#endif

// MARK: Signals

/// Keeps all signals from this thread: in the child a handler would run in this process's memory.
static void block_signals(sigset_t *before) {
#ifdef __linux__
    // This is the bare system call: glibc lets no caller block the two signals that it keeps for itself.
    enum { mask_size = 8 };
    unsigned char all[mask_size];
    memset(all, 0xff, sizeof all);
    sigemptyset(before);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, all, before, mask_size);
#else
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
#endif
}

static void restore_signals(const sigset_t *before) {
#ifdef __linux__
    enum { mask_size = 8 };
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, mask_size);
#else
    pthread_sigmask(SIG_SETMASK, before, NULL);
#endif
}

// MARK: The child

/// This is a function of its own, because a child that shares its parent's stack must not return from the function that
/// made the child.
__attribute__((noinline, noreturn)) static void run_child(const struct launch *launch) {
    cbp_spawn_report found = cbp_become_program(launch);
    if (found.stage != 0) cbp_report(launch, found);
    _exit(found.stage == 0 ? 0 : exit_not_started);
}

__attribute__((noinline)) static pid_t start_child(const struct launch *launch) {
#ifdef __linux__
    pid_t child = vfork();
#else
    pid_t child = fork();
#endif
    if (child == 0) run_child(launch);
    return child;
}

int cbp_spawn(int32_t *pid, const cbp_spawn_request *request) {
    struct launch launch = {.request = request, .parent = getpid()};
    int error = request->box != NULL && request->box->rules_files ? find_libraries(&launch) : 0;
    if (error == 0) {
        sigset_t before;
        block_signals(&before);
        pid_t child = start_child(&launch);
        if (child < 0) error = errno;
        restore_signals(&before);
        *pid = (int32_t)child;
    }
    forget_libraries(&launch);
    return error;
}
