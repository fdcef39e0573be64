// A worker from its first instruction to its program. It is tied to its parent's life before it can do anything that
// could outlive it.

#define _GNU_SOURCE

#include "CBridgePlatform.h"
#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/// Tells the guard of this process group: this process leads it, and all its children will be in it.
///
/// This is called after the parent-death signal and the check of the parent. So if the parent is gone, and the guard
/// with it, this process does not get here.
static void tell_guard(int guard) {
    struct launch_notice notice = {.process = (int32_t)getpid()};
    struct iovec piece = {.iov_base = &notice, .iov_len = sizeof notice};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    int flags = 0;
#ifdef __linux__
    flags = MSG_NOSIGNAL;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    // The descriptor names this very process, even when its number has long been given to another process.
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
    // The worker begins even if the guard has gone.
    while (sendmsg(guard, &message, flags) < 0 && errno == EINTR) {}
}

/// Sets the limit that the parent had before it raised its own.
static void lower_descriptor_limit(const struct plan *plan) {
    struct rlimit limit;
    if (plan->descriptors < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    // The worker begins even if the limit stays higher than was asked for.
    if ((rlim_t)plan->descriptors < limit.rlim_cur) limit.rlim_cur = (rlim_t)plan->descriptors;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct launch_report launch(const struct plan *plan) {
    // The program gets neither descriptor. The closing of `status` tells the bridge that the program has begun.
    if (fcntl(plan->status, F_SETFD, FD_CLOEXEC) != 0) return failed(stage_usage, errno, 0);
    if (plan->guard >= 0 && fcntl(plan->guard, F_SETFD, FD_CLOEXEC) != 0) {
        return failed(stage_usage, errno, 0);
    }
    // Exec keeps the signal, unless the program changes the user or has capabilities of its own. Where there is no such
    // signal, only the guard is left.
    cbp_arm_parent_death_signal(SIGKILL);
    // After the arming, because a parent that died before it sends no signal.
    if (getppid() != plan->parent) return failed(stage_parent, ESRCH, 0);
    if (plan->guard >= 0) tell_guard(plan->guard);
    lower_descriptor_limit(plan);
    // Last, because the box could refuse what is above.
    struct launch_report found = enter_box(plan);
    if (found.stage != 0) return found;
    execve(plan->program, plan->arguments, environ);
    return failed(stage_program, errno, 0);
}
