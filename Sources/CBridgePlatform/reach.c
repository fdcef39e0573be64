// What a worker can reach, by Landlock. Files: a box gives rights to single files and to everything below directories;
// the worker can read, list, execute, write, make, move or remove nothing else. Landlock has no rule for a file's mode,
// owner and times. What is open already, such as the link and the pipes, stays open. Processes: those of the box can
// look into, debug and signal each other, and no others. Before Linux 6.12 signals reach all.

#define _GNU_SOURCE

#include "launch.h"

#include <errno.h>

#if defined(__linux__) && __has_include(<linux/landlock.h>)

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// These constants are newer than the headers that this may be built with.
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

/// `struct landlock_ruleset_attr` as of ABI 6; earlier kernels take its beginning.
struct ruleset {
    __u64 handled_access_fs;
    __u64 handled_access_net;
    __u64 scoped;
};

enum {
    /// Landlock's versions in Linux 5.19, 6.2 and 6.12, with rules for moving files between directories, for truncating
    /// files, and for signals.
    abi_with_moves = 2,
    abi_with_truncation = 3,
    abi_with_scopes = 6,
};

static const __u64 reading = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

/// A writable place gives no right to execute, and none to make devices, not even to the superuser.
static const __u64 writing = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO
    | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE;

/// The rights that Landlock handles for a box without file rules. The kernel refuses a ruleset that handles no right,
/// and no worker makes devices.
static const __u64 making_devices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;

/// Rights that a single file can have.
static const __u64 of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE
    | LANDLOCK_ACCESS_FS_TRUNCATE;

/// What every program needs: the system's programs and libraries, time zones, and lists of processes and processors.
/// Landlock by itself keeps another process's memory and environment in /proc secret, but not its name, arguments,
/// state, limits and mounts.
static const char *const always_readable[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime",
    "/proc", "/sys/devices/system/cpu", "/dev/zero", "/dev/random", "/dev/urandom",
};

static const char *const always_writable[] = {"/dev/null", "/dev/full"};

struct rules {
    int descriptor;
    /// The rights that the ruleset handles; this kernel knows all of them.
    __u64 handled;
};

/// Gives rights to what is open as `file`, and closes it; returns 0, or the error.
static int add(const struct rules *rules, int file, __u64 rights) {
    struct stat status;
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= of_files;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & rules->handled, .parent_fd = file};
    int error = 0;
    if (syscall(SYS_landlock_add_rule, rules->descriptor, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) error = errno;
    close(file);
    return error;
}

static int landlock_abi(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

/// Gives rights to a path that may be missing or closed to this user; returns 0, or the error of a shortage, which may
/// be over at a later start.
static int add_if_there(const struct rules *rules, const char *path, __u64 rights) {
    int file = open(path, O_PATH | O_CLOEXEC);
    int error = file < 0 ? errno : add(rules, file, rights);
    return error == EMFILE || error == ENFILE || error == ENOMEM ? error : 0;
}

/// Gives the rights that every program needs.
static int add_always(const struct launch *launch, const struct rules *rules) {
    int error = 0;
    for (size_t index = 0; error == 0 && index < sizeof always_readable / sizeof *always_readable; index++) {
        // Not every system has all of these paths.
        error = add_if_there(rules, always_readable[index], reading);
    }
    for (size_t index = 0; error == 0 && index < sizeof always_writable / sizeof *always_writable; index++) {
        error = add_if_there(rules, always_writable[index], writing);
    }
    for (size_t index = 0; error == 0 && index < launch->library_count; index++) {
        error = add_if_there(rules, launch->libraries[index], reading);
    }
    // If the program is missing, the kernel says so when it is to be executed.
    if (error == 0 && launch->request->path != NULL) error = add_if_there(rules, launch->request->path, reading);
    return error;
}

static cbp_spawn_report add_all(const struct launch *launch, const struct rules *rules) {
    int shortage = add_always(launch, rules);
    if (shortage != 0) return cbp_failed(cbp_stage_files, shortage, 0);
    for (size_t index = 0; index < launch->request->box->path_count; index++) {
        enum cbp_box_path_kind kind = launch->request->box->paths[index].kind;
        if (kind == cbp_path_writable_elsewhere) continue;
        int file = -1;
        cbp_spawn_report found = cbp_open_listed(launch, index, &file);
        if (found.stage != 0) return found;
        int error = add(rules, file, kind == cbp_path_writable ? writing : reading);
        if (error != 0) return cbp_failed(cbp_stage_path, error, (int)index);
    }
    return cbp_succeeded();
}

/// The rights on files that the ruleset handles, as far as this kernel knows them.
static __u64 handled(const struct launch *launch, int abi) {
    if (!launch->request->box->rules_files) return making_devices;
    __u64 rights = reading | writing | making_devices;
    if (abi < abi_with_truncation) rights &= ~(__u64)LANDLOCK_ACCESS_FS_TRUNCATE;
    if (abi < abi_with_moves) rights &= ~(__u64)LANDLOCK_ACCESS_FS_REFER;
    return rights;
}

/// Whether the kernel knows enough for this box; what the kernel lacks is reported if the worker begins all the same.
static cbp_spawn_report check(const struct launch *launch, int abi) {
    // A worker that can truncate any file can destroy it without the right to write.
    if (launch->request->box->rules_files && abi < abi_with_truncation) {
        return cbp_lacking(launch, cbp_stage_files, abi == 0 ? errno : EOPNOTSUPP, abi);
    }
    return abi == 0 ? cbp_lacking(launch, cbp_stage_processes, errno, abi) : cbp_succeeded();
}

cbp_spawn_report cbp_restrict_reach(const struct launch *launch) {
    int abi = landlock_abi();
    cbp_spawn_report found = check(launch, abi);
    if (found.stage != 0 || abi == 0) return found;
    struct ruleset attributes = {.handled_access_fs = handled(launch, abi)};
    size_t size = sizeof attributes.handled_access_fs;
    if (abi >= abi_with_scopes) {
        attributes.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
        size = sizeof attributes;
    } else {
        cbp_report(launch, (cbp_spawn_report){.stage = cbp_stage_signals, .detail = abi, .is_left_out = 1});
    }
    struct rules rules = {.handled = attributes.handled_access_fs};
    rules.descriptor = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    int32_t stage = launch->request->box->rules_files ? cbp_stage_files : cbp_stage_processes;
    if (rules.descriptor < 0) return cbp_failed(stage, errno, abi);
    if (launch->request->box->rules_files) found = add_all(launch, &rules);
    if (found.stage == 0 && syscall(SYS_landlock_restrict_self, rules.descriptor, 0) != 0) {
        found = cbp_failed(stage, errno, abi);
    }
    close(rules.descriptor);
    return found;
}

#else

cbp_spawn_report cbp_restrict_reach(const struct launch *launch) {
    return cbp_lacking(launch, launch->request->box->rules_files ? cbp_stage_files : cbp_stage_processes, ENOTSUP, 0);
}

#endif
