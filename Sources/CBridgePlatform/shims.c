#define _GNU_SOURCE

#include "CBridgePlatform.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <elf.h>
#include <malloc.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#else
#include <libproc.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <malloc/malloc.h>
#include <sys/event.h>
#endif

#if defined(__GLIBC__) || defined(__APPLE__)
#include <execinfo.h>
#endif

// MARK: Errors

const char *cbp_errno_name(int code) {
#ifdef __linux__
    return strerrorname_np(code);
#else
    return NULL;
#endif
}

const char *cbp_errno_text(int code, char *buffer, size_t size) {
#ifdef __linux__
    // Unlike strerror's, this text is never translated, and no other thread can overwrite it.
    (void)buffer, (void)size;
    const char *text = strerrordesc_np(code);
    return text ? text : "Unknown error";
#else
    return strerror_r(code, buffer, size) == 0 ? buffer : "Unknown error";
#endif
}

// MARK: Descriptors

#ifndef __linux__
static int close_on_exec(int descriptor) {
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

static int quiet_socket(int descriptor) {
    int on = 1;
    if (descriptor >= 0) setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return close_on_exec(descriptor);
}
#endif

int cbp_pipe(int descriptors[2]) {
#ifdef __linux__
    return pipe2(descriptors, O_CLOEXEC);
#else
    if (pipe(descriptors) != 0) return -1;
    close_on_exec(descriptors[0]);
    close_on_exec(descriptors[1]);
    return 0;
#endif
}

int cbp_unread_bytes(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : -1;
}

int cbp_unix_socket(void) {
#ifdef __linux__
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
#else
    return quiet_socket(socket(AF_UNIX, SOCK_STREAM, 0));
#endif
}

int cbp_unix_socketpair(int descriptors[2]) {
#ifdef __linux__
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, descriptors);
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, descriptors) != 0) return -1;
    quiet_socket(descriptors[0]);
    quiet_socket(descriptors[1]);
    return 0;
#endif
}

int cbp_accept(int listener) {
#ifdef __linux__
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
#else
    return quiet_socket(accept(listener, NULL, NULL));
#endif
}

size_t cbp_unix_path_limit(void) {
    struct sockaddr_un address;
    return sizeof address.sun_path - 1;
}

static socklen_t fill_address(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    strncpy(address->sun_path, path, sizeof address->sun_path - 1);
    return sizeof *address;
}

int cbp_unix_name(int descriptor, char *path, size_t capacity) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    memset(&address, 0, sizeof address);
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return -1;
    if (address.sun_family != AF_UNIX) return CBP_NOT_UNIX;
    size_t offset = offsetof(struct sockaddr_un, sun_path);
    size_t space = length > offset ? length - offset : 0;
    if (space > sizeof address.sun_path) space = sizeof address.sun_path;
    // A name that begins with a zero lies in no file system.
    size_t count = strnlen(address.sun_path, space);
    if (count >= capacity) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, address.sun_path, count);
    path[count] = 0;
    return (int)count;
}

static int socket_option(int descriptor, int option) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) != 0 ? -1 : value;
}

int cbp_is_stream(int descriptor) {
    int type = socket_option(descriptor, SO_TYPE);
    return type < 0 ? -1 : type == SOCK_STREAM;
}

int cbp_is_listening(int descriptor) {
    int listens = socket_option(descriptor, SO_ACCEPTCONN);
    return listens < 0 ? -1 : listens != 0;
}

int cbp_unix_bind(int descriptor, const char *path) {
    struct sockaddr_un address;
    socklen_t length = fill_address(&address, path);
    return bind(descriptor, (struct sockaddr *)&address, length);
}

int cbp_unix_connect(int descriptor, const char *path) {
    struct sockaddr_un address;
    socklen_t length = fill_address(&address, path);
    return connect(descriptor, (struct sockaddr *)&address, length);
}

int cbp_datagram_send(const char *name, const void *bytes, size_t count, int milliseconds) {
    struct sockaddr_un address;
    socklen_t length = fill_address(&address, name);
    int flags = 0;
#ifdef __linux__
    if (name[0] == '@') {
        // Such a name has a length and no terminating zero.
        address.sun_path[0] = '\0';
        length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    }
    flags = MSG_NOSIGNAL;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
#else
    int descriptor = quiet_socket(socket(AF_UNIX, SOCK_DGRAM, 0));
#endif
    if (descriptor < 0) return -1;
    struct timeval timeout = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    ssize_t sent = sendto(descriptor, bytes, count, flags, (struct sockaddr *)&address, length);
    int error = errno;
    close(descriptor);
    errno = error;
    return sent < 0 ? -1 : 0;
}

int cbp_peer_credentials(int descriptor, int32_t *pid, uint32_t *uid, uint32_t *gid) {
#ifdef __linux__
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *pid = credentials.pid;
    *uid = credentials.uid;
    *gid = credentials.gid;
    return 0;
#else
    socklen_t length = sizeof *pid;
    if (getsockopt(descriptor, SOL_LOCAL, LOCAL_PEERPID, pid, &length) != 0) return -1;
    return getpeereid(descriptor, uid, gid);
#endif
}

int cbp_directory_open(int directory, const char *name) {
    // Not O_RDONLY: a user may be allowed to pass through a directory, but not to list it.
#if defined(O_PATH)
    int access = O_PATH;
#elif defined(O_SEARCH)
    int access = O_SEARCH;
#else
    int access = O_RDONLY;
#endif
    return openat(directory, name, access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int cbp_file_try_lock(int descriptor) {
    return flock(descriptor, LOCK_EX | LOCK_NB);
}

int cbp_file_unlock(int descriptor) {
    return flock(descriptor, LOCK_UN);
}

int cbp_terminal_width(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int cbp_terminal_height(int descriptor) {
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

// MARK: Memory files

// Whether a file of this size exceeds the limit of file sizes; ftruncate would then raise SIGXFSZ instead of failing.
static bool passes_file_limit(size_t size) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size) return false;
    errno = EFBIG;
    return true;
}

int cbp_memory_file_create(size_t size) {
    if (passes_file_limit(size)) return -1;
#ifdef __linux__
    int descriptor = memfd_create("event-bridge", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    bool done = ftruncate(descriptor, (off_t)size) == 0
        && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
#else
    // Not shm_open: its objects can be read only through a mapping.
    char path[PATH_MAX];
    const char *directory = getenv("TMPDIR");
    int length = snprintf(path, sizeof path, "%s/event-bridge.XXXXXX", directory ? directory : "/tmp");
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int descriptor = close_on_exec(mkstemp(path));
    if (descriptor < 0) return -1;
    bool done = unlink(path) == 0 && ftruncate(descriptor, (off_t)size) == 0;
#endif
    if (done) return descriptor;
    int code = errno;
    close(descriptor);
    errno = code;
    return -1;
}

void *cbp_memory_file_map(int descriptor, size_t size) {
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) return NULL;
#ifdef __linux__
    // A core dump would allocate untouched pages, and a forked child could write into its parent's file.
    madvise(address, size, MADV_DONTDUMP);
    madvise(address, size, MADV_DONTFORK);
#else
    minherit(address, size, VM_INHERIT_NONE);
#endif
    return address;
}

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int cbp_memory_file_create_for_readers(size_t size, void **address) {
#ifdef __linux__
    if (passes_file_limit(size)) return -1;
    int descriptor = memfd_create("event-bridge-shelf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    *address = NULL;
    bool done = ftruncate(descriptor, (off_t)size) == 0
        && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0
        && (*address = cbp_memory_file_map(descriptor, size)) != NULL
        // Kernels before 5.1 do not know this seal and refuse.
        && fcntl(descriptor, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0;
    if (done) return descriptor;
    int code = errno;
    if (*address != NULL) munmap(*address, size);
    close(descriptor);
    errno = code;
    return -1;
#else
    (void)size, (void)address;
    errno = ENOTSUP;
    return -1;
#endif
}

void *cbp_memory_file_map_for_reading(int descriptor, size_t size) {
#ifdef __linux__
    int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0) return NULL;
    if ((seals & F_SEAL_SHRINK) == 0) {
        errno = ENOTSUP;
        return NULL;
    }
    void *address = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) return NULL;
    madvise(address, size, MADV_DONTDUMP);
    madvise(address, size, MADV_DONTFORK);
    return address;
#else
    (void)descriptor, (void)size;
    errno = ENOTSUP;
    return NULL;
#endif
}

void cbp_copy(void *target, const void *source, size_t count) {
    memcpy(target, source, count);
}

int cbp_memory_file_unmap(void *address, size_t size) {
    return munmap(address, size);
}

void cbp_memory_file_give_back(void *address, size_t size) {
#ifdef __linux__
    madvise(address, size, MADV_REMOVE);
#else
    (void)address, (void)size;
#endif
}

void cbp_memory_file_populate(void *address, size_t size) {
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
    // Kernels before 5.14 do not know this advice and refuse; nothing depends on it.
    madvise(address, size, MADV_POPULATE_WRITE);
#else
    (void)address, (void)size;
#endif
}

int cbp_file_reserve(int descriptor, size_t size) {
    if (passes_file_limit(size)) return -1;
#ifdef __linux__
    struct statfs status;
    if (fstatfs(descriptor, &status) != 0) return -1;
    // On tmpfs the room would be memory, taken at once.
    if ((uint64_t)status.f_type == 0x01021994) {
        errno = ENOTSUP;
        return -1;
    }
    // A call that finds too little room takes all of it for a moment, and writes of others fail meanwhile. So it is not
    // made if less than 256 MiB would be left for them. The sum counts blocks, so it cannot overflow.
    uint64_t block = status.f_bsize > 0 ? (uint64_t)status.f_bsize : 512;
    uint64_t wanted = (uint64_t)size / block + ((uint64_t)256 << 20) / block + 2;
    if ((uint64_t)status.f_bavail < wanted) {
        errno = ENOSPC;
        return -1;
    }
    return fallocate(descriptor, 0, 0, (off_t)size);
#else
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
#endif
}

int64_t cbp_raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return -1;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? (int64_t)before : -1;
}

void cbp_heap_limit(int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
#else
    (void)bytes;
#endif
}

int64_t cbp_heap_bytes_in_use(void) {
#if defined(__APPLE__)
    return (int64_t)mstats().bytes_used;
#elif defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return (int64_t)(info.uordblks + info.hblkhd);
#else
    return -1;
#endif
}

int64_t cbp_resident_bytes(int32_t pid) {
#if defined(__APPLE__)
    struct rusage_info_v2 usage;
    return proc_pid_rusage(pid, RUSAGE_INFO_V2, (rusage_info_t *)&usage) == 0 ? (int64_t)usage.ri_resident_size : -1;
#else
    // proc(5): the second number of statm, in pages.
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return -1;
    long long pages = -1;
    int found = fscanf(file, "%*s %lld", &pages);
    fclose(file);
    return found == 1 ? pages * (int64_t)sysconf(_SC_PAGESIZE) : -1;
#endif
}

// MARK: Standard output

void cbp_output_by_line(void) { setvbuf(stdout, NULL, _IOLBF, BUFSIZ); }

// MARK: Threads

typedef struct {
    void (*body)(void *);
    void *context;
} thread_start;

static void *run_thread(void *argument) {
    thread_start start = *(thread_start *)argument;
    free(argument);
    start.body(start.context);
    return NULL;
}

// Signals of a thread's own faults stay unblocked: if blocked, they would kill the process past every crash reporter.
static void fill_with_foreign_signals(sigset_t *set) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGXFSZ};
    sigfillset(set);
    for (size_t index = 0; index < sizeof own / sizeof own[0]; index++) sigdelset(set, own[index]);
}

int cbp_thread_start(size_t stack_size, int detached, void (*body)(void *), void *context, uintptr_t *thread) {
    thread_start *start = malloc(sizeof *start);
    if (!start) return ENOMEM;
    start->body = body;
    start->context = context;

    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) {
        free(start);
        return result;
    }
    if (detached) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_size > 0) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        // The least that the system allows (16 KiB) is too little for the runtime of Swift.
        size_t least = 128 * 1024;
        if (stack_size < least) stack_size = least;
        result = pthread_attr_setstacksize(&attributes, (stack_size + page - 1) / page * page);
    }
    if (result == 0) {
        // A thread inherits its creator's mask, so the mask is set before the start: no signal can arrive in between.
        // It is replaced, not extended, because a creator in a pool of threads blocks the fault signals, too.
        sigset_t blocked, previous;
        fill_with_foreign_signals(&blocked);
        pthread_sigmask(SIG_SETMASK, &blocked, &previous);
        pthread_t handle;
        result = pthread_create(&handle, &attributes, run_thread, start);
        if (result == 0) *thread = (uintptr_t)handle;
        pthread_sigmask(SIG_SETMASK, &previous, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (result != 0) free(start);
    return result;
}

int cbp_thread_join(uintptr_t thread) { return pthread_join((pthread_t)thread, NULL); }

int cbp_thread_detach(uintptr_t thread) { return pthread_detach((pthread_t)thread); }

void cbp_thread_set_name(const char *name) {
#ifdef __linux__
    pthread_setname_np(pthread_self(), name);
#else
    pthread_setname_np(name);
#endif
}

void cbp_thread_stay_on_one_processor(uint64_t turn) {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) return;
    uint64_t place = turn % (uint64_t)CPU_COUNT(&allowed);
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &allowed) || place-- > 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
#else
    (void)turn;
#endif
}

uint64_t cbp_thread_identifier(void) {
#ifdef __linux__
    return (uint64_t)syscall(SYS_gettid);
#else
    uint64_t number = 0;
    pthread_threadid_np(NULL, &number);
    return number;
#endif
}

int cbp_is_main_thread(void) {
#ifdef __linux__
    return syscall(SYS_gettid) == getpid();
#else
    return pthread_main_np();
#endif
}

int cbp_thread_name(char *buffer, size_t size) { return pthread_getname_np(pthread_self(), buffer, size); }

// MARK: Signals

// For each caught signal, the descriptor to write to plus one, so that 0 means none.
static _Atomic int signal_writers[NSIG];
static struct sigaction previous_actions[NSIG];

static void write_signal(int signal) {
    int saved = errno;
    int writer = atomic_load(&signal_writers[signal]);
    if (writer > 0) {
        unsigned char byte = (unsigned char)signal;
        // A full pipe holds thousands of arrivals of the same signal already: one less changes nothing for the reader.
        ssize_t written = write(writer - 1, &byte, 1);
        (void)written;
    }
    errno = saved;
}

int cbp_signal_catch(int signal, int writer) {
    if (signal <= 0 || signal >= NSIG) {
        errno = EINVAL;
        return -1;
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = write_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    atomic_store(&signal_writers[signal], writer + 1);
    return sigaction(signal, &action, &previous_actions[signal]);
}

int cbp_signal_restore(int signal) {
    if (signal <= 0 || signal >= NSIG) {
        errno = EINVAL;
        return -1;
    }
    int result = sigaction(signal, &previous_actions[signal], NULL);
    atomic_store(&signal_writers[signal], 0);
    return result;
}

int cbp_signal_is_ignored(int signal) {
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

// MARK: Processes

int cbp_process_open(int32_t pid) {
#ifdef __linux__
    // This is the bare system call: glibc has the function only since 2.36. A pidfd is always close-on-exec.
    return (int)syscall(SYS_pidfd_open, pid, 0);
#else
    int queue = close_on_exec(kqueue());
    if (queue < 0) return -1;
    struct kevent change;
    EV_SET(&change, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
    if (kevent(queue, &change, 1, NULL, 0, NULL) == 0) return queue;
    if (errno == ESRCH) {
        // The child is dead already, and the kernel will not report it: make the queue readable by hand.
        struct kevent triggers[2];
        EV_SET(&triggers[0], 1, EVFILT_USER, EV_ADD, 0, 0, NULL);
        EV_SET(&triggers[1], 1, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
        if (kevent(queue, triggers, 2, NULL, 0, NULL) == 0) return queue;
    }
    int saved = errno;
    close(queue);
    errno = saved;
    return -1;
#endif
}

int cbp_process_signal(int descriptor, int32_t pid, int signal) {
#ifdef __linux__
    (void)pid;
    return (int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0);
#else
    (void)descriptor;
    return kill(pid, signal);
#endif
}

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

int cbp_process_signal_group(int descriptor, int signal) {
#ifdef __linux__
    // Kernels before 6.9 do not know the flag and refuse.
    return (int)syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, PIDFD_SIGNAL_PROCESS_GROUP);
#else
    (void)descriptor, (void)signal;
    errno = EINVAL;
    return -1;
#endif
}

static void note_usage(const struct rusage *usage, cbp_exit *exit) {
    exit->user_microseconds = (uint64_t)usage->ru_utime.tv_sec * 1000000 + (uint64_t)usage->ru_utime.tv_usec;
    exit->system_microseconds = (uint64_t)usage->ru_stime.tv_sec * 1000000 + (uint64_t)usage->ru_stime.tv_usec;
#ifdef __linux__
    exit->peak_resident_bytes = (uint64_t)usage->ru_maxrss * 1024;
#else
    exit->peak_resident_bytes = (uint64_t)usage->ru_maxrss;
#endif
}

int cbp_process_wait(int descriptor, int32_t pid, int reap, cbp_exit *exit) {
    memset(exit, 0, sizeof *exit);
    siginfo_t information;
    memset(&information, 0, sizeof information);
    int options = WEXITED | WNOHANG | (reap ? 0 : WNOWAIT);
    int result;
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
#ifdef __linux__
    (void)pid;
    // The bare system call has a fifth parameter, the usage, which the function of the C library hides.
    do result = (int)syscall(SYS_waitid, P_PIDFD, descriptor, &information, options, &usage);
    while (result != 0 && errno == EINTR);
#else
    (void)descriptor;
    do result = waitid(P_PID, (id_t)pid, &information, options | WNOWAIT);
    while (result != 0 && errno == EINTR);
    int status;
    if (result == 0 && reap && information.si_pid != 0) wait4(pid, &status, 0, &usage);
#endif
    if (result != 0) return -1;
    if (information.si_pid == 0) return 0;
    note_usage(&usage, exit);
    exit->value = information.si_status;
    switch (information.si_code) {
    case CLD_EXITED: exit->state = cbp_exit_with_code; break;
    case CLD_DUMPED: exit->state = cbp_exit_by_signal_with_core; break;
    default: exit->state = cbp_exit_by_signal; break;
    }
    return 0;
}

#ifdef __linux__
static char *read_environment(int32_t pid, size_t *length) {
    // More than the kernel allows for an environment by default.
    static const size_t largest = 8 << 20;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    size_t room = 32 << 10;
    char *text = malloc(room);
    *length = 0;
    while (text != NULL) {
        ssize_t count = read(file, text + *length, room - *length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        *length += (size_t)count;
        if (*length < room) continue;
        if (room >= largest) break;
        char *larger = realloc(text, room * 2);
        if (larger == NULL) break;
        text = larger;
        room *= 2;
    }
    close(file);
    return text;
}

/// The state of a process whose environment was read as empty.
enum bareness {
    /// The process has no environment, and gets none: it has ended, or is a thread of the kernel.
    bare_for_good,
    /// The old environment is gone, and the new one is not there yet: the process is becoming another program.
    bare_for_now,
    /// The process has an environment after all, even if an empty one.
    bare_no_more,
};

/// Reads what the system says of a process.
///
/// Returns the text after the process's name, or NULL if there is no such process. The name stands in parentheses, and
/// may itself contain parentheses and spaces.
static const char *read_status(int32_t pid, char *text, size_t size) {
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    ssize_t length;
    do length = read(file, text, size - 1);
    while (length < 0 && errno == EINTR);
    close(file);
    if (length <= 0) return NULL;
    text[length] = '\0';
    return strrchr(text, ')');
}

static enum bareness bareness_of(int32_t pid) {
    enum { state_field = 3, flags_field = 9, environment_end_field = 51 };
    const unsigned long kernel_thread = 0x00200000;
    char text[1024];
    const char *field = read_status(pid, text, sizeof text);
    for (int number = state_field; field != NULL; number++) {
        field = strchr(field, ' ');
        if (field == NULL) break;
        field++;
        if (number == state_field && (*field == 'Z' || *field == 'X')) break;
        if (number == flags_field && (strtoul(field, NULL, 10) & kernel_thread) != 0) break;
        if (number == environment_end_field) return strtoul(field, NULL, 10) == 0 ? bare_for_now : bare_no_more;
    }
    return bare_for_good;
}

/// Reads a process's environment, and reads it again while the process lacks one only for a moment.
static char *read_whole_environment(int32_t pid, size_t *length) {
    static const useconds_t pause = 500;
    // A fifth of a second: with more, the caller would wait too long for a process that is stuck.
    static const int most_pauses = 400;
    // Between two checks the process may lack an environment for another moment. A process that lacks one at each check
    // has none.
    static const int most_looks = 8;
    char *text = read_environment(pid, length);
    int pauses = 0, looks = 0;
    while (text != NULL && *length == 0 && pauses < most_pauses && looks < most_looks) {
        enum bareness bareness = bareness_of(pid);
        if (bareness == bare_for_good) break;
        if (bareness == bare_for_now) {
            usleep(pause);
            pauses++;
        } else {
            looks++;
        }
        free(text);
        text = read_environment(pid, length);
    }
    return text;
}
#endif

ptrdiff_t cbp_process_variable(int32_t pid, const char *name, char *value, size_t size) {
    ptrdiff_t found = -1;
#ifdef __linux__
    size_t length, wanted = strlen(name);
    char *text = read_whole_environment(pid, &length);
    if (text == NULL) return -1;
    for (size_t start = 0; start + wanted <= length;) {
        const char *end = memchr(text + start, '\0', length - start);
        size_t next = end ? (size_t)(end - text) : length;
        if (memcmp(text + start, name, wanted) == 0) {
            size_t count = next - start - wanted;
            if (count > size) count = size;
            memcpy(value, text + start + wanted, count);
            found = (ptrdiff_t)count;
            break;
        }
        start = next + 1;
    }
    free(text);
#else
    (void)pid, (void)name, (void)value, (void)size;
#endif
    return found;
}

int32_t cbp_process_parent(int32_t pid) {
#ifdef __linux__
    char text[1024];
    const char *field = read_status(pid, text, sizeof text);
    long parent = 0;
    // After the name come a letter, which is the process's state, and the number of its parent.
    if (field == NULL || sscanf(field, ") %*c %ld", &parent) != 1) return 0;
    return (int32_t)parent;
#else
    struct proc_bsdinfo process;
    if (proc_pidinfo((int)pid, PROC_PIDTBSDINFO, 0, &process, sizeof process) != (int)sizeof process) return 0;
    return (int32_t)process.pbi_ppid;
#endif
}

int cbp_arm_parent_death_signal(int signal) {
#ifdef __linux__
    return prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0UL, 0UL, 0UL);
#else
    (void)signal;
    errno = ENOTSUP;
    return -1;
#endif
}

ptrdiff_t cbp_executable_path(char *buffer, size_t size) {
#ifdef __linux__
    return readlink("/proc/self/exe", buffer, size);
#else
    char unresolved[PATH_MAX], resolved[PATH_MAX];
    uint32_t room = sizeof unresolved;
    if (_NSGetExecutablePath(unresolved, &room) != 0 || !realpath(unresolved, resolved)) return -1;
    size_t length = strlen(resolved);
    if (length > size) length = size;
    memcpy(buffer, resolved, length);
    return (ptrdiff_t)length;
#endif
}

// MARK: Poller

#ifdef __linux__
int cbp_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int cbp_event_open(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int cbp_timer_open(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

int cbp_timer_set(int timer, uint64_t deadline) {
    struct itimerspec time = {
        .it_value = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)},
    };
    return timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}

static int control(int queue, int operation, int descriptor, uint32_t flags, uint64_t token) {
    struct epoll_event event = {.events = 0, .data.u64 = token};
    if (flags & cbp_ready_readable) event.events |= EPOLLIN;
    if (flags & cbp_ready_writable) event.events |= EPOLLOUT;
    if (flags & cbp_ready_peer_hang_up) event.events |= EPOLLRDHUP;
    if (flags & cbp_ready_edge_triggered) event.events |= EPOLLET;
    return epoll_ctl(queue, operation, descriptor, &event);
}

int cbp_epoll_add(int queue, int descriptor, uint32_t flags, uint64_t token) {
    return control(queue, EPOLL_CTL_ADD, descriptor, flags, token);
}

int cbp_epoll_change(int queue, int descriptor, uint32_t flags, uint64_t token) {
    return control(queue, EPOLL_CTL_MOD, descriptor, flags, token);
}

int cbp_epoll_remove(int queue, int descriptor) { return control(queue, EPOLL_CTL_DEL, descriptor, 0, 0); }

static int wait_precisely(int queue, struct epoll_event *events, int64_t nanoseconds) {
    // Kernels before 5.11 lack the call with a nanosecond timeout, and a sandbox that does not know the call may refuse
    // it with any error. If the error is about the wait itself, the older call below says so again.
    static atomic_bool lacks_nanoseconds = false;
    if (!atomic_load_explicit(&lacks_nanoseconds, memory_order_relaxed)) {
        struct timespec timeout = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
        int count = epoll_pwait2(queue, events, cbp_epoll_batch, nanoseconds < 0 ? NULL : &timeout, NULL);
        if (count >= 0 || errno == EINTR) return count;
        atomic_store_explicit(&lacks_nanoseconds, true, memory_order_relaxed);
    }
    // The time is rounded up: the caller may wake a moment late, but must not spin until the moment comes.
    int64_t milliseconds = nanoseconds < 0 ? -1 : nanoseconds / 1000000 + (nanoseconds % 1000000 != 0);
    return epoll_wait(queue, events, cbp_epoll_batch, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

int cbp_epoll_wait(int queue, cbp_ready *ready, int64_t nanoseconds) {
    struct epoll_event events[cbp_epoll_batch];
    int count = wait_precisely(queue, events, nanoseconds);
    for (int index = 0; index < count; index++) {
        uint32_t found = events[index].events;
        ready[index].token = events[index].data.u64;
        ready[index].flags = (found & EPOLLIN ? cbp_ready_readable : 0) | (found & EPOLLOUT ? cbp_ready_writable : 0)
            | (found & EPOLLRDHUP ? cbp_ready_peer_hang_up : 0) | (found & EPOLLHUP ? cbp_ready_hang_up : 0)
            | (found & EPOLLERR ? cbp_ready_error : 0);
    }
    return count;
}
#endif

// MARK: Call stacks

int cbp_callers(void **addresses, int capacity) {
#if defined(__GLIBC__) || defined(__APPLE__)
    return backtrace(addresses, capacity);
#else
    (void)addresses;
    (void)capacity;
    return 0;
#endif
}

#ifdef __linux__
typedef struct {
    const unsigned char *bytes;
    size_t size;
} mapped_file;

static mapped_file own_program;

static void map_own_program(void) {
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0) return;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) own_program = (mapped_file){bytes, (size_t)status.st_size};
    }
    close(file);
}

/// The function of the running program at `offset` from where it was loaded, read from the file's own table: `dladdr`
/// knows only what the program exports. NULL if the file was stripped, or if this code cannot read it.
static const char *own_function(uintptr_t offset) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, map_own_program);
    const unsigned char *bytes = own_program.bytes;
    if (bytes == NULL || own_program.size < sizeof(Elf64_Ehdr) || memcmp(bytes, ELFMAG, SELFMAG) != 0) return NULL;
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)bytes;
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr)) return NULL;
    if (head->e_shoff > own_program.size || head->e_shnum > (own_program.size - head->e_shoff) / sizeof(Elf64_Shdr)) return NULL;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + head->e_shoff);
    for (int index = 0; index < head->e_shnum; index++) {
        const Elf64_Shdr *table = &sections[index];
        if (table->sh_type != SHT_SYMTAB || table->sh_link >= head->e_shnum) continue;
        const Elf64_Shdr *names = &sections[table->sh_link];
        if (table->sh_offset > own_program.size || table->sh_size > own_program.size - table->sh_offset) return NULL;
        if (names->sh_offset > own_program.size || names->sh_size > own_program.size - names->sh_offset) return NULL;
        const Elf64_Sym *symbols = (const Elf64_Sym *)(bytes + table->sh_offset);
        for (size_t number = 0; number < table->sh_size / sizeof(Elf64_Sym); number++) {
            const Elf64_Sym *symbol = &symbols[number];
            if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= names->sh_size) continue;
            if (offset - symbol->st_value < symbol->st_size) return (const char *)bytes + names->sh_offset + symbol->st_name;
        }
    }
    return NULL;
}

/// Whether what `dladdr` has found lies in the running program, and not in a library, which has a table of its own.
static int is_in_own_program(const Dl_info *found) {
    Dl_info own;
    return dladdr((void *)getauxval(AT_PHDR), &own) != 0 && own.dli_fbase == found->dli_fbase;
}
#endif

int cbp_function_name(void *address, char *buffer, size_t size) {
    // A function of Swift's run-time library, which installs no header for it.
    typedef char *(*demangler)(const char *, size_t, char *, size_t *, uint32_t);
    Dl_info info;
    if (size == 0 || dladdr(address, &info) == 0) return 1;
    const char *name = info.dli_sname;
#ifdef __linux__
    if (name == NULL && is_in_own_program(&info)) name = own_function((uintptr_t)address - (uintptr_t)info.dli_fbase);
#endif
    if (name == NULL) return 1;
    demangler demangle = (demangler)dlsym(RTLD_DEFAULT, "swift_demangle");
    char *plain = demangle == NULL ? NULL : demangle(name, strlen(name), NULL, NULL, 0);
    snprintf(buffer, size, "%s", plain == NULL ? name : plain);
    free(plain);
    return 0;
}

typedef __attribute__((swiftcall)) void (*enqueue_function)(void *);
typedef __attribute__((swiftcall)) void (*enqueue_hook)(void *, enqueue_function);

static void (*global_task_seen)(void);
static enqueue_hook hook_before;

static __attribute__((swiftcall)) void watch_global_task(void *task, enqueue_function original) {
    global_task_seen();
    if (hook_before != NULL) {
        hook_before(task, original);
    } else {
        original(task);
    }
}

int cbp_watch_global_tasks(void (*seen)(void)) {
    enqueue_hook *hook = (enqueue_hook *)dlsym(RTLD_DEFAULT, "swift_task_enqueueGlobal_hook");
    if (hook == NULL) return ENOTSUP;
    global_task_seen = seen;
    hook_before = *hook;
    *hook = watch_global_task;
    return 0;
}
