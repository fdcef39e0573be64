// No network, by a filter of system calls: a socket can be of the kind that connects processes of this machine, and of no other.
// Landlock has rules for TCP alone, and a network namespace needs rights that not every user has.

#define _GNU_SOURCE

#include "launcher.h"

#include <errno.h>

#if defined(__linux__) && __has_include(<linux/seccomp.h>)

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// The machines whose sockets come from system calls of their own alone, and whose numbers lie as the filter reads them.
#if defined(__x86_64__)
#define OWN_MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_MACHINE AUDIT_ARCH_RISCV64
#endif
#endif

#ifdef OWN_MACHINE

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

/// The bit in the numbers of x32, a second set of system calls of the same machine.
static const unsigned int x32_bit = 0x40000000;

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | ((error) & SECCOMP_RET_DATA))
/// Skips the next instruction unless they are equal.
#define IF_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
/// Skips the next instruction unless it is as great.
#define IF_NOT_BELOW(value) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), 0, 1)

struct launch_report refuse_network(const struct plan *plan) {
    struct sock_filter steps[] = {
        LOAD(arch),
        // A 32-bit program would have other numbers, and socketcall, whose arguments no filter sees.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_MACHINE, 1, 0),
        REFUSE(ENOSYS),
        LOAD(nr),
        IF_NOT_BELOW(x32_bit),
        REFUSE(ENOSYS),
        // Its rings make sockets without a system call of that name.
        IF_EQUAL(SYS_io_uring_setup),
        REFUSE(ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        // The lower half of the first argument: the kernel takes it for an int. These machines put the lower half first.
        LOAD(args[0]),
        IF_EQUAL(AF_UNIX),
        RETURN(SECCOMP_RET_ALLOW),
        // As on a machine that has no such network.
        REFUSE(EAFNOSUPPORT),
    };
    struct sock_fprog filter = {.len = sizeof steps / sizeof *steps, .filter = steps};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) return (struct launch_report){.stage = 0};
    return lacking(plan, stage_network, errno, 0);
}

#else

struct launch_report refuse_network(const struct plan *plan) { return lacking(plan, stage_network, ENOTSUP, 0); }

#endif
