// A filter of system calls for what Landlock has no rule for. It refuses what changes other processes and, for a box
// without network, all sockets but Unix sockets. (A network namespace would need rights that not every user has, and
// Landlock's network rules know TCP alone.)
//
// A filter sees a call's arguments as numbers: it cannot follow pointers, and does not know which processes are in the
// box. So where a call below gets the number of the process that it changes, only 0 is allowed, which is the caller.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>

#if defined(__linux__) && __has_include(<linux/seccomp.h>)

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// The machines that have no `socketcall`, and whose byte order the filter expects.
#if defined(__x86_64__)
#define OWN_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_MACHINE AUDIT_ARCH_RISCV64
#endif
#endif

#ifdef OWN_MACHINE

// These calls are newer than the headers that this may be built with.
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif

/// The bit in the numbers of x32, a second set of system calls of the same machine.
static const unsigned int x32_bit = 0x40000000;

/// IOPRIO_WHO_PROCESS, which no header of libc has.
static const unsigned int one_process = 1;

/// Calls that are refused whatever their arguments are.
static const struct {
    unsigned int number;
    unsigned int error;
} refused[] = {
    // The keys of the user and of the session. The error is that of a kernel without keys.
    {SYS_add_key, ENOSYS},
    {SYS_request_key, ENOSYS},
    {SYS_keyctl, ENOSYS},
    // System V's memory, messages and semaphores, which all processes of the user share by number. The error is that of
    // a kernel without them.
    {SYS_shmget, ENOSYS},
    {SYS_shmat, ENOSYS},
    {SYS_shmctl, ENOSYS},
    {SYS_msgget, ENOSYS},
    {SYS_msgsnd, ENOSYS},
    {SYS_msgrcv, ENOSYS},
    {SYS_msgctl, ENOSYS},
    {SYS_semget, ENOSYS},
    {SYS_semop, ENOSYS},
    {SYS_semtimedop, ENOSYS},
    {SYS_semctl, ENOSYS},
    // POSIX message queues have names, but not in a file system that Landlock has rules for. The calls that take a
    // descriptor are refused too: a process can be handed a queue by another one, or open a queue as a file in
    // /dev/mqueue if its box has no rules of files.
    {SYS_mq_open, ENOSYS},
    {SYS_mq_unlink, ENOSYS},
    {SYS_mq_timedsend, ENOSYS},
    {SYS_mq_timedreceive, ENOSYS},
    {SYS_mq_notify, ENOSYS},
    {SYS_mq_getsetattr, ENOSYS},
    // The flags of this call lie in memory. Libraries fall back to clone.
    {SYS_clone3, ENOSYS},
    {SYS_setns, EPERM},
};

/// Calls that may change the caller and nothing else: their first argument is a process, and 0 is the caller itself.
static const unsigned int of_the_caller[] = {
    SYS_sched_setaffinity,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
};

_Static_assert(sizeof(struct sock_filter) == cbp_filter_step_bytes, "the header says how large a step is");

struct filter {
    struct sock_filter *steps;
    size_t room;
    /// How many steps the filter has. Those for which there is no room are counted, but not written.
    size_t count;
};

static void add(struct filter *filter, struct sock_filter step) {
    if (filter->count < filter->room) filter->steps[filter->count] = step;
    filter->count++;
}

static void answer(struct filter *filter, unsigned int value) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

static void allow(struct filter *filter) { answer(filter, SECCOMP_RET_ALLOW); }

static void refuse(struct filter *filter, unsigned int error) {
    answer(filter, SECCOMP_RET_ERRNO | (error & SECCOMP_RET_DATA));
}

static void load(struct filter *filter, size_t offset) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned int)offset));
}

/// Loads the lower half of an argument: the kernel takes no more where it expects an int. These machines put that half
/// first.
static void load_argument(struct filter *filter, size_t index) {
    load(filter, offsetof(struct seccomp_data, args) + index * sizeof(__u64));
}

static void load_upper_half(struct filter *filter, size_t index) {
    load(filter, offsetof(struct seccomp_data, args) + index * sizeof(__u64) + sizeof(__u32));
}

/// Compares what was loaded with `value`; passes over `skipped` steps if the comparison is false.
static void expect(struct filter *filter, unsigned short how, unsigned int value, unsigned char skipped) {
    add(filter, (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | how | BPF_K), value, 0, skipped));
}

static void expect_equal(struct filter *filter, unsigned int value, unsigned char skipped) {
    expect(filter, BPF_JEQ, value, skipped);
}

/// Refuses a call of this number unless each of these arguments has its value.
static void allow_only(
    struct filter *filter, unsigned int number, unsigned char count, const unsigned int indexes[],
    const unsigned int values[]
) {
    expect_equal(filter, number, (unsigned char)(2 * count + 2));
    for (unsigned char argument = 0; argument < count; argument++) {
        load_argument(filter, indexes[argument]);
        // Skips the steps for the remaining arguments and the step that allows the call.
        expect_equal(filter, values[argument], (unsigned char)(2 * (count - argument - 1) + 1));
    }
    allow(filter);
    refuse(filter, EPERM);
}

/// Refuses a call of this number if the argument is this value (`how` is BPF_JEQ), or has one of the value's bits
/// (`how` is BPF_JSET).
static void refuse_argument(
    struct filter *filter, unsigned int number, size_t index, unsigned short how, unsigned int value
) {
    expect_equal(filter, number, 4);
    load_argument(filter, index);
    expect(filter, how, value, 1);
    refuse(filter, EPERM);
    allow(filter);
}

/// A process can read the limits of others, but not set them: prlimit(process, resource, new, old).
static void refuse_limits_of_others(struct filter *filter) {
    expect_equal(filter, SYS_prlimit64, 9);
    load_argument(filter, 0);
    expect_equal(filter, 0, 1);
    allow(filter);
    load_argument(filter, 2);
    expect_equal(filter, 0, 3);
    load_upper_half(filter, 2);
    expect_equal(filter, 0, 1);
    allow(filter);
    refuse(filter, EPERM);
}

/// Refuses what puts text into a terminal's input, where a shell outside the box would execute the text: TIOCSTI in any
/// terminal, and TIOCLINUX, which selects and pastes text, in a console of Linux. Before Linux 6.7 the latter needs no
/// rights.
static void refuse_input_for_terminals(struct filter *filter) {
    expect_equal(filter, SYS_ioctl, 6);
    load_argument(filter, 1);
    expect_equal(filter, TIOCSTI, 1);
    refuse(filter, EPERM);
    expect_equal(filter, TIOCLINUX, 1);
    refuse(filter, EPERM);
    allow(filter);
}

static void refuse_foreign_calls(struct filter *filter) {
    load(filter, offsetof(struct seccomp_data, arch));
    // A 32-bit program would have other numbers, and socketcall, whose arguments no filter sees.
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 1, 0));
    refuse(filter, ENOSYS);
    load(filter, offsetof(struct seccomp_data, nr));
    expect(filter, BPF_JGE, x32_bit, 1);
    refuse(filter, ENOSYS);
}

static void refuse_changes_outside(struct filter *filter) {
    for (size_t index = 0; index < sizeof refused / sizeof *refused; index++) {
        expect_equal(filter, refused[index].number, 1);
        refuse(filter, refused[index].error);
    }
    for (size_t index = 0; index < sizeof of_the_caller / sizeof *of_the_caller; index++) {
        allow_only(filter, of_the_caller[index], 1, (const unsigned int[]){0}, (const unsigned int[]){0});
    }
    // The priority of a group cannot be set either, because a process can join a group outside the box.
    allow_only(filter, SYS_setpriority, 2, (const unsigned int[]){0, 1}, (const unsigned int[]){PRIO_PROCESS, 0});
    allow_only(filter, SYS_ioprio_set, 2, (const unsigned int[]){0, 1}, (const unsigned int[]){one_process, 0});
    refuse_limits_of_others(filter);
    refuse_argument(filter, SYS_unshare, 0, BPF_JSET, CLONE_NEWUSER);
    refuse_argument(filter, SYS_clone, 0, BPF_JSET, CLONE_NEWUSER);
    refuse_input_for_terminals(filter);
}

static void refuse_network(struct filter *filter, bool refuses_connections) {
    // The rings of io_uring make sockets without the system call `socket`.
    expect_equal(filter, SYS_io_uring_setup, 1);
    refuse(filter, ENOSYS);
    if (refuses_connections) {
        expect_equal(filter, SYS_connect, 1);
        refuse(filter, EACCES);
    }
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0));
    allow(filter);
    load_argument(filter, 0);
    expect_equal(filter, AF_UNIX, 1);
    allow(filter);
    // The error of a machine that lacks the network of this family.
    refuse(filter, EAFNOSUPPORT);
}

size_t cbp_write_filter(bool refuses_network, bool refuses_connections, void *steps, size_t room) {
    struct filter filter = {.steps = steps, .room = room, .count = 0};
    refuse_foreign_calls(&filter);
    refuse_changes_outside(&filter);
    if (refuses_network) {
        refuse_network(&filter, refuses_connections);
    } else {
        allow(&filter);
    }
    return filter.count;
}

cbp_spawn_report cbp_restrict_calls(const struct launch *launch) {
    const cbp_box *box = launch->request->box;
    int32_t stage = box->refuses_network ? cbp_stage_network : cbp_stage_calls;
    struct sock_filter steps[cbp_filter_room];
    size_t count = cbp_write_filter(box->refuses_network, box->refuses_connections, steps, cbp_filter_room);
    // A filter that is too long is no lack of the system, so no program begins without the filter.
    if (count > cbp_filter_room) return cbp_failed(stage, E2BIG, 0);
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) return cbp_succeeded();
    return cbp_lacking(launch, stage, errno, 0);
}

#else

size_t cbp_write_filter(bool refuses_network, bool refuses_connections, void *steps, size_t room) {
    (void)refuses_network, (void)refuses_connections, (void)steps, (void)room;
    return 0;
}

cbp_spawn_report cbp_restrict_calls(const struct launch *launch) {
    return cbp_lacking(launch, launch->request->box->refuses_network ? cbp_stage_network : cbp_stage_calls, ENOTSUP, 0);
}

#endif
