// A worker's privileges in a box: none beyond those of its user. In a closed box (one with file rules, or without
// network) the superuser keeps only the capabilities in `kept`: those about files and users, and four that a server may
// need.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>

#ifdef __linux__

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Capabilities that a worker in a closed box keeps if it has them.
static const unsigned char kept[] = {
    CAP_CHOWN,
    CAP_DAC_OVERRIDE,
    CAP_DAC_READ_SEARCH,
    CAP_FOWNER,
    CAP_FSETID,
    CAP_KILL,
    CAP_SETGID,
    CAP_SETUID,
    CAP_NET_BIND_SERVICE,
    CAP_IPC_LOCK,
    CAP_SYS_CHROOT,
};

/// The kernel has two words of capabilities.
enum { words = 2, greatest = 32 * words };

cbp_spawn_report cbp_refuse_new_privileges(const struct launch *launch) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0) return cbp_succeeded();
    return cbp_lacking(launch, cbp_stage_privileges, errno, 0);
}

cbp_spawn_report cbp_give_up_capabilities(void) {
    unsigned int left[words] = {0};
    for (size_t index = 0; index < sizeof kept; index++) left[kept[index] / 32] |= 1U << kept[index] % 32;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[words];
    if (syscall(SYS_capget, &header, now) != 0) return cbp_failed(cbp_stage_privileges, errno, 0);
    for (unsigned long capability = 0; capability < greatest; capability++) {
        // A drop may fail without harm: a process that may not drop capabilities has none that its program could get
        // back, and a number beyond the kernel's last capability names none.
        if ((left[capability / 32] >> capability % 32 & 1) == 0) prctl(PR_CAPBSET_DROP, capability, 0UL, 0UL, 0UL);
    }
    for (int word = 0; word < words; word++) {
        now[word].effective &= left[word];
        now[word].permitted &= left[word];
        now[word].inheritable &= left[word];
    }
    if (syscall(SYS_capset, &header, now) == 0) return cbp_succeeded();
    return cbp_failed(cbp_stage_privileges, errno, 0);
}

#else

cbp_spawn_report cbp_refuse_new_privileges(const struct launch *launch) {
    return cbp_lacking(launch, cbp_stage_privileges, ENOTSUP, 0);
}

cbp_spawn_report cbp_give_up_capabilities(void) { return cbp_succeeded(); }

#endif
