// The guard: one process for all workers of a bridge. When the bridge has ended, Linux kills the workers, but not the
// processes that they have started. The guard lives a moment longer and kills those: it knows them by their mark, and
// by their process group, whose number each worker's process sends to the guard before the worker's program begins.

#define _GNU_SOURCE

#include "CBridgePlatform.h"
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct group {
    pid_t leader;
    /// The leader's pidfd; -1 where there is none.
    int handle;
};

static struct group *groups;
static size_t group_count;
static size_t group_room;

/// Signals a group; signal 0 only looks for it. Returns false if it is empty, or if another group may have its number.
static bool signal_group(struct group group, int signal) {
    if (group.handle >= 0) {
        if (cbp_process_signal_group(group.handle, signal) == 0) return true;
        if (errno != EINVAL) return errno != ESRCH;
        // An older kernel needs the group's number. No other group gets it before the parent has waited for the leader.
        if (cbp_process_signal(group.handle, group.leader, 0) != 0) return false;
    }
    return kill(-group.leader, signal) == 0 || errno != ESRCH;
}

static void forget_empty_groups(void) {
    size_t kept = 0;
    for (size_t index = 0; index < group_count; index++) {
        if (signal_group(groups[index], 0)) {
            groups[kept++] = groups[index];
        } else if (groups[index].handle >= 0) {
            close(groups[index].handle);
        }
    }
    group_count = kept;
}

static void remember(struct group group) {
    if (group_count == group_room) {
        forget_empty_groups();
        // The table grows if it is still at least half full, so that checks of all groups are rare.
        if (group_count * 2 >= group_room) {
            size_t room = group_room == 0 ? 32 : group_room * 2;
            struct group *larger = realloc(groups, room * sizeof *groups);
            if (larger != NULL) {
                groups = larger;
                group_room = room;
            }
        }
        if (group_count == group_room) return;
    }
    groups[group_count++] = group;
}

static int received_descriptor(struct msghdr *message) {
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

/// Takes the message of one worker; returns false if none is there now, or if none will come any more.
static bool take_notice(int socket) {
    cbp_guard_notice notice = {0};
    struct iovec piece = {.iov_base = &notice, .iov_len = sizeof notice};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t count;
    do count = recvmsg(socket, &message, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count != (ssize_t)sizeof notice) return false;
    struct group group = {.leader = notice.process, .handle = received_descriptor(&message)};
    if (group.leader > 1) remember(group);
    return true;
}

static void take_notices(int socket) {
    while (take_notice(socket)) {}
}

/// Ignores the signals that ask a process to end or stop: the guard ends with its bridge, and not a moment earlier.
static void ignore_requests(void) {
    static const int requests[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE};
    for (size_t index = 0; index < sizeof requests / sizeof requests[0]; index++) signal(requests[index], SIG_IGN);
}

/// A descriptor that is readable once the parent has ended; -1 where only the end of the connection shows that.
static int open_parent(pid_t parent) {
#ifdef __linux__
    return cbp_process_open(parent);
#else
    (void)parent;
    return -1;
#endif
}

/// How many milliseconds pass between two checks of groups that are known by their number alone; -1 if there are none.
/// An empty group has to be forgotten before the system gives its number to another group.
static int pause_between_looks(void) {
    for (size_t index = 0; index < group_count; index++) {
        if (groups[index].handle < 0) return 1000;
    }
    return -1;
}

static void wait_for_end(pid_t parent, int socket) {
    struct pollfd watched[2] = {
        {.fd = socket, .events = POLLIN},
        {.fd = open_parent(parent), .events = POLLIN},
    };
    // Checked after the descriptor was opened: if the parent lives now, the number was the parent's at the opening.
    if (getppid() != parent) return;
    while (true) {
        int ready = poll(watched, 2, pause_between_looks());
        if (ready == 0) forget_empty_groups();
        if (ready <= 0) continue;
        take_notices(socket);
        // The connection or the bridge's process has ended: the bridge starts no worker any more.
        if ((watched[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0 || watched[1].revents != 0) return;
    }
}

int guard(const struct order *order) {
    ignore_requests();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        // The guard needs one descriptor for each worker.
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    // The guard must not keep its working directory busy.
    if (chdir("/") != 0) return 1;
    wait_for_end(order->parent, order->connection);
    take_notices(order->connection);
    for (size_t index = 0; index < group_count; index++) signal_group(groups[index], SIGKILL);
    // A bridge that ended in good order has killed the marked processes itself; to look again does no harm.
    if (order->mark != NULL) kill_marked(order->mark);
    return 0;
}
