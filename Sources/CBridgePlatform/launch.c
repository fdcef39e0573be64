// A new process from its first instruction to its program. If it is to die with its parent, it is tied to the parent's
// life before it does anything that could outlive the parent.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif
#endif

/// Gives every signal its default action; exec alone would leave ignored signals ignored.
///
/// A signal that waits already, such as that of Ctrl-C, was meant for the parent's group. Ignoring it for a moment
/// discards it.
static void reset_signals(void) {
#ifdef __linux__
    // Bare system calls: glibc keeps two signals for itself and lets no caller change their action. The kernel's
    // `struct sigaction` begins with the handler and has at most 32 bytes; zeros are the default action without flags.
    static const uintptr_t ignored[8] = {(uintptr_t)SIG_IGN}, standard[8];
    enum { kernel_signals = 64, mask_size = 8 };
    for (int number = 1; number <= kernel_signals; number++) {
        syscall(SYS_rt_sigaction, number, ignored, NULL, mask_size);
        syscall(SYS_rt_sigaction, number, standard, NULL, mask_size);
    }
#else
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_IGN);
        signal(number, SIG_DFL);
    }
#endif
}

static void unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// MARK: Descriptors

/// Opens the null device as `target`.
static bool open_null(int target, int flags) {
    int opened = open("/dev/null", flags | O_CLOEXEC);
    if (opened < 0) return false;
    if (opened == target) return fcntl(target, F_SETFD, 0) == 0;
    bool is_done = dup2(opened, target) >= 0;
    close(opened);
    return is_done;
}

static bool take(const cbp_spawn_step *step) {
    switch (step->kind) {
    case cbp_spawn_duplicate: return dup2(step->source, step->target) >= 0;
    case cbp_spawn_null_for_reading: return open_null(step->target, O_RDONLY);
    case cbp_spawn_null_for_writing: return open_null(step->target, O_WRONLY);
    case cbp_spawn_close:
        close(step->target);
        return true;
    }
    errno = EINVAL;
    return false;
}

#ifdef __linux__

/// What getdents64 writes for each entry of a directory.
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char kind;
    char name[];
};

/// The number that a name in /proc/self/fd spells; -1 for another name.
static int number(const char *name) {
    int value = 0;
    if (*name == '\0') return -1;
    for (; *name != '\0'; name++) {
        if (*name < '0' || *name > '9' || value > 100000000) return -1;
        value = value * 10 + (*name - '0');
    }
    return value;
}

/// Marks as close-on-exec what /proc/self/fd lists from `first` on; returns false if there is no such list.
static bool mark_listed(int first) {
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return false;
    _Alignas(struct entry) char buffer[1024];
    long size;
    // Marking, unlike closing, removes nothing from the list, so the loop skips no entry.
    while ((size = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long offset = 0; offset < size;) {
            const struct entry *found = (const struct entry *)(buffer + offset);
            int descriptor = number(found->name);
            if (descriptor >= first) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
            offset += found->length;
        }
    }
    close(directory);
    return size == 0;
}

static bool mark_range(int first) {
    return syscall(SYS_close_range, (unsigned int)first, ~0U, CLOSE_RANGE_CLOEXEC) == 0 || mark_listed(first);
}

#else

static bool mark_range(int first) {
    (void)first;
    return false;
}

#endif

/// Makes exec close all descriptors from `first` on.
static void close_on_exec_from(int first) {
    // Linux closes ranges of descriptors since 5.9, and marks them since 5.11.
    if (mark_range(first)) return;
    struct rlimit limit;
    rlim_t end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1 << 20 ? limit.rlim_cur : 1 << 20;
    for (int descriptor = first; descriptor < (int)end; descriptor++) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

// MARK: The parent

static bool send_notice(int guard, const struct msghdr *message, int flags) {
    ssize_t count;
    do count = sendmsg(guard, message, flags);
    while (count < 0 && errno == EINTR);
    return count >= 0;
}

/// Reports this process's group, in which all of its children begin, to the guard.
///
/// Before this, a process that is to die with its parent has asked for the signal that kills it, and then checked that
/// the parent lives. If the parent had gone, and the guard with it, the process does not get here.
static void tell_guard(int guard) {
    cbp_guard_notice notice = {.process = (int32_t)getpid()};
    struct iovec piece = {.iov_base = &notice, .iov_len = sizeof notice};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    // A guard that is stopped (by SIGSTOP) takes no message; it must not block the thread that starts all processes.
    int flags = MSG_DONTWAIT;
#ifdef __linux__
    flags |= MSG_NOSIGNAL;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    // The descriptor names this very process, even after another process has got this process's number.
    int own = cbp_process_open(getpid());
    if (own >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &own, sizeof own);
    }
#endif
    // The program begins even if the guard has gone.
    if (send_notice(guard, &message, flags) || message.msg_control == NULL) return;
    // Perhaps only the descriptor cannot be sent. The number alone is enough for the guard.
    message.msg_control = NULL;
    message.msg_controllen = 0;
    send_notice(guard, &message, flags);
}

/// Sets the soft limit of open descriptors that the parent had before it raised its own.
static void lower_descriptor_limit(int64_t descriptors) {
    struct rlimit limit;
    if (descriptors < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    // The program begins even if the limit stays higher than was asked for.
    if ((rlim_t)descriptors < limit.rlim_cur) limit.rlim_cur = (rlim_t)descriptors;
    setrlimit(RLIMIT_NOFILE, &limit);
}

cbp_spawn_report cbp_become_program(const struct launch *launch) {
    const cbp_spawn_request *request = launch->request;
    if (request->dies_with_parent) {
        // Exec keeps the signal, unless the program changes the user or has capabilities of its own. Where the system
        // has no such signal, only the guard kills this process.
        cbp_arm_parent_death_signal(SIGKILL);
        // This check follows the request, because a parent that died before the request causes no signal.
        if (getppid() != launch->parent) return cbp_failed(cbp_stage_parent, ESRCH, 0);
    }
    // The terminal's signals reach this process only until it has left its parent's group.
    if (setpgid(0, 0) != 0) return cbp_failed(cbp_stage_descriptor, errno, -1);
    reset_signals();
    if (request->guard >= 0) tell_guard(request->guard);
    for (size_t index = 0; index < request->step_count; index++) {
        const cbp_spawn_step *step = &request->steps[index];
        if (!take(step)) return cbp_failed(cbp_stage_descriptor, errno, step->target);
    }
    close_on_exec_from(request->close_from);
    if (request->directory != NULL && chdir(request->directory) != 0) {
        return cbp_failed(cbp_stage_directory, errno, 0);
    }
    // The box comes late, because it could refuse the steps above.
    cbp_spawn_report found = cbp_enter_box(launch);
    if (found.stage != 0) return found;
    // The limit comes late: the box's rules need descriptors, and until exec this process holds its parent's, too.
    lower_descriptor_limit(request->descriptors);
    if (request->path == NULL) return cbp_succeeded();
    unblock_signals();
    execve(request->path, request->arguments, request->environment);
    return cbp_failed(cbp_stage_program, errno, 0);
}
