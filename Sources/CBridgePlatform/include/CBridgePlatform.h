// What BridgePlatform needs from C: calls that Swift cannot see (GNU extensions, variadic functions, macros), and code
// for a signal handler, or for a child before its program begins. Calls return -1 and set errno, or return an error
// number, as their originals do. The module's only state is the caught signals, a hook, and facts found out once. This
// file includes no system headers: their types would then belong to this module instead of to the C library's.

#ifndef C_BRIDGE_PLATFORM_H
#define C_BRIDGE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Errors

const char *_Nullable cbp_errno_name(int code);
const char *_Nonnull cbp_errno_text(int code, char *_Nonnull buffer, size_t size);

// Descriptors, all close-on-exec

int cbp_pipe(int descriptors[_Nonnull 2]);
/// How many bytes wait in a pipe to be read; -1 with errno where the system does not say.
int cbp_unread_bytes(int descriptor);
int cbp_unix_socket(void);
int cbp_unix_socketpair(int descriptors[_Nonnull 2]);
int cbp_accept(int listener);

/// The longest path, in bytes, that a socket address of this system holds.
size_t cbp_unix_path_limit(void);
// What cbp_unix_name returns for a socket of another family.
#define CBP_NOT_UNIX (-2)
// Writes the path that a Unix socket is bound to, with its NUL. Returns the path's length, 0 if the socket has no name
// in the file system, or -1.
int cbp_unix_name(int descriptor, char *_Nonnull path, size_t capacity);
// The next two return 1 for yes, 0 for no, or -1.
int cbp_is_stream(int descriptor);
int cbp_is_listening(int descriptor);
/// `path` must not be longer than `cbp_unix_path_limit()` bytes.
int cbp_unix_bind(int descriptor, const char *_Nonnull path);
int cbp_unix_connect(int descriptor, const char *_Nonnull path);
/// Sends one datagram to a socket with a name, and waits for room at most `milliseconds`. A name that begins with "@"
/// is an abstract one, in no file system; only Linux has such names. Returns 0, or -1 with errno set.
int cbp_datagram_send(const char *_Nonnull name, const void *_Nonnull bytes, size_t count, int milliseconds);
int cbp_peer_credentials(int descriptor, int32_t *_Nonnull pid, uint32_t *_Nonnull uid, uint32_t *_Nonnull gid);

/// Opens the directory of this name, only to look up names in it; does not follow a symbolic link. Close-on-exec.
int cbp_directory_open(int directory, const char *_Nonnull name);
/// Takes the lock of an open file for as long as the file is open; EWOULDBLOCK if another holder has it.
int cbp_file_try_lock(int descriptor);
/// Ends the lock of an open file, even if another process has a copy of the descriptor.
int cbp_file_unlock(int descriptor);

/// Columns of the terminal; 0 if the descriptor leads to none, or the terminal does not know.
int cbp_terminal_width(int descriptor);
/// Rows of the terminal; 0 as for the columns.
int cbp_terminal_height(int descriptor);

// Memory files

/// A file of `size` bytes, all 0, that has no name and takes memory only where it was written. On Linux no process can
/// change its size. Close-on-exec.
int cbp_memory_file_create(size_t size);
/// Maps the file, shared, for reading and writing; NULL with errno set on failure. A forked child does not have the
/// mapping, nor, on Linux, does a core dump.
void *_Nullable cbp_memory_file_map(int descriptor, size_t size);
/// A file like those of `cbp_memory_file_create`, with a mapping; once the mapping is made, nothing else can write to
/// the file. Returns -1 with errno where the system has no such thing. `cbp_memory_file_give_back` does nothing for
/// such a file.
int cbp_memory_file_create_for_readers(size_t size, void *_Nullable *_Nonnull address);
/// Maps the file, shared, for reading; NULL with errno set on failure. Maps only a file that cannot be made shorter, so
/// that the memory is safe to touch.
void *_Nullable cbp_memory_file_map_for_reading(int descriptor, size_t size);
/// Copies bytes that another process may be changing: what arrives is any mixture of old and new.
void cbp_copy(void *_Nonnull target, const void *_Nonnull source, size_t count);
int cbp_memory_file_unmap(void *_Nonnull address, size_t size);
/// Allocates the pages of a mapping before the first store to them, where the system can do that.
void cbp_memory_file_populate(void *_Nonnull address, size_t size);
/// Gives back the pages of this part of a mapping, which holds 0 afterwards; does nothing where the system has no such
/// thing.
void cbp_memory_file_give_back(void *_Nonnull address, size_t size);

/// Gives an open file `size` bytes, all 0, for which the file system keeps room from now on. Returns -1 with errno set
/// where less than 256 MiB would be left, or the file system cannot keep room, or it holds its files in memory only.
int cbp_file_reserve(int descriptor, size_t size);

/// Makes malloc give back to the system what is freed beyond `bytes` at the end of an arena, and take larger blocks
/// straight from the system; does nothing where malloc has no such limits.
void cbp_heap_limit(int bytes);
/// Raises the soft limit of open descriptors to the hard one. Returns the old soft limit, -1 where it was not raised.
int64_t cbp_raise_descriptor_limit(void);
/// How many bytes malloc has handed out and not got back; -1 where they are not counted.
int64_t cbp_heap_bytes_in_use(void);
/// How many bytes of a process lie in RAM, shared memory included; -1 where the system does not say.
int64_t cbp_resident_bytes(int32_t pid);

// Files that outlive the process

enum cbp_file_system {
    /// The blocks of its files stay where they are: a mapped page that was written once can be written again, however
    /// full the file system is.
    cbp_file_system_in_place,
    /// A file system of this machine that may need room to write what is there already.
    cbp_file_system_local,
    /// A file system of another machine, or of a program that may ask another machine.
    cbp_file_system_remote,
};
enum cbp_file_system cbp_file_system_of(int descriptor);
/// The kind of the file systems whose type has this number on Linux (statfs(2)).
enum cbp_file_system cbp_file_system_of_type(uint64_t type);
/// Returns when what was written to the file lies on the medium.
int cbp_file_synchronize(int descriptor);
/// Returns when the names in the directory lie on the medium.
int cbp_directory_synchronize(int descriptor);

/// How many of the bytes are zero before the first that is not.
size_t cbp_leading_zeros(const void *_Nonnull bytes, size_t count);

/// The CRC-32C of earlier bytes (`before`, 0 if there are none), continued over `bytes`.
uint32_t cbp_crc32c(uint32_t before, const void *_Nullable bytes, size_t count);
/// The same without the processor's instruction.
uint32_t cbp_crc32c_by_table(uint32_t before, const void *_Nullable bytes, size_t count);
/// CRC-32C of two numbers, lowest byte first, and of `bytes` after them; `before` as in `cbp_crc32c`.
uint32_t cbp_crc32c_numbered(uint32_t before, uint64_t first, uint64_t second, const void *_Nullable bytes,
                             size_t count);
/// The same without the processor's instruction.
uint32_t cbp_crc32c_numbered_by_table(uint32_t before, uint64_t first, uint64_t second, const void *_Nullable bytes,
                                      size_t count);

// Standard output

/// From now on each printed line leaves the process at once, even where standard output is a pipe.
void cbp_output_by_line(void);

// Threads

/// Starts a thread that blocks every signal but those of its own faults. `stack_size` is in bytes: 0 is the default,
/// and less than 128 KiB is taken for 128 KiB.
int cbp_thread_start(
    size_t stack_size,
    int detached,
    void (*_Nonnull body)(void *_Nonnull context),
    void *_Nonnull context,
    uintptr_t *_Nonnull thread
);
int cbp_thread_join(uintptr_t thread);
int cbp_thread_detach(uintptr_t thread);
void cbp_thread_set_name(const char *_Nonnull name);
/// Binds the calling thread, and those that it starts from now on, to one of the processors that they may use; `turn`
/// says which. Does nothing where threads cannot be bound.
void cbp_thread_stay_on_one_processor(uint64_t turn);
/// The kernel's number for the calling thread.
uint64_t cbp_thread_identifier(void);

/// Whether the calling thread is the one with which the process began: 1 or 0.
int cbp_is_main_thread(void);
/// Writes the calling thread's name, with its NUL. Returns 0, or an error's number.
int cbp_thread_name(char *_Nonnull buffer, size_t size);

// Signals

/// From now on each `signal` writes one byte, its number, to `writer`, which must stay open for ever.
int cbp_signal_catch(int signal, int writer);
/// Puts back the disposition from before cbp_signal_catch.
int cbp_signal_restore(int signal);
/// 1 if the signal is ignored, 0 if not.
int cbp_signal_is_ignored(int signal);

// Processes

enum cbp_spawn_step_kind {
    cbp_spawn_duplicate,
    cbp_spawn_null_for_reading,
    cbp_spawn_null_for_writing,
    cbp_spawn_close,
};

typedef struct {
    enum cbp_spawn_step_kind kind;
    int source;
    int target;
} cbp_spawn_step;

/// The limits of a box, in the order in which they are set.
enum cbp_box_limit {
    cbp_limit_memory,
    cbp_limit_processor_seconds,
    cbp_limit_open_files,
    cbp_limit_processes,
    cbp_limit_core,
    cbp_limit_file_size,
    cbp_limit_count,
};

/// What a box says of a path.
enum cbp_box_path_kind {
    cbp_path_read_only,
    cbp_path_writable,
    /// Another box makes the path writable. This box gives no right to it.
    cbp_path_writable_elsewhere,
};

typedef struct {
    const char *_Nonnull path;
    enum cbp_box_path_kind kind;
} cbp_box_path;

/// What the process may use up and touch; see docs/decisions/0022 and 0023.
typedef struct {
    /// Whether the program begins even where the system lacks what the box needs.
    bool is_best_effort;
    /// A number for each `cbp_box_limit`; -1 for no limit.
    const int64_t *_Nonnull limits;
    /// The umask: the mode bits that new files do not get; -1 for the parent's umask.
    int mask;
    /// Whether the process can touch only files below the first two kinds of `paths`, and the files that every program
    /// needs.
    bool rules_files;
    const cbp_box_path *_Nullable paths;
    size_t path_count;
    bool refuses_network;
    /// Whether the process cannot connect to sockets of this machine either; only without network.
    bool refuses_connections;
} cbp_box;

enum {
    /// How many steps the filter of system calls of a box may have.
    cbp_filter_room = 192,
    /// How many bytes a step has.
    cbp_filter_step_bytes = 8,
};

/// Writes the steps of a box's filter of system calls, but no more than `room`. Returns how many steps the filter has;
/// 0 if there is no filter for this machine.
size_t cbp_write_filter(bool refuses_network, bool refuses_connections, void *_Nonnull steps, size_t room);

/// A new process. A descriptor that is not -1 must be close-on-exec, and must not be a step's `target`.
typedef struct {
    /// The program; null for a process that ends as soon as its box is closed.
    const char *_Nullable path;
    char *_Nullable const *_Nonnull arguments;
    char *_Nullable const *_Nonnull environment;
    const char *_Nullable directory;
    /// No `source` of a step may be the `target` of another.
    const cbp_spawn_step *_Nullable steps;
    size_t step_count;
    /// The program gets no descriptor from this number on.
    int close_from;
    /// The pipe for a `cbp_spawn_report` of each failure and of each part left out; the pipe's end shows that the
    /// program has begun.
    int status;
    /// The connection on which the process reports itself to the guard before the program begins; -1 for none.
    int guard;
    /// Whether the process is killed when the thread that starts it ends.
    bool dies_with_parent;
    /// The program's soft limit of open descriptors, where the parent has raised its own; -1 for the limit of the box,
    /// or, without one, the parent's.
    int64_t descriptors;
    const cbp_box *_Nullable box;
} cbp_spawn_request;

/// How far a new process came.
enum cbp_spawn_stage {
    /// The detail is the number that a descriptor was to get; -1 for the process group.
    cbp_stage_descriptor = 1,
    cbp_stage_parent = 2,
    cbp_stage_program = 3,
    /// The detail is a `cbp_box_limit`.
    cbp_stage_limit = 4,
    cbp_stage_privileges = 5,
    /// The detail is what Landlock calls its version; 0 if there is no Landlock, or if memory or descriptors were short
    /// for a rule.
    cbp_stage_files = 6,
    /// The detail is the path's place in the box, from 0.
    cbp_stage_path = 7,
    cbp_stage_network = 8,
    /// Other processes are not safe from the process, because the filter of system calls is missing.
    cbp_stage_calls = 9,
    /// Other processes are not safe from the process, because Landlock is missing.
    cbp_stage_processes = 10,
    /// Signals reach processes outside the box. This is reported, and the program begins all the same. The detail is
    /// what Landlock calls its version.
    cbp_stage_signals = 11,
    cbp_stage_directory = 12,
    /// A path of the box leads over a link that a process in a box could have put there. The detail is the path's place
    /// in the box, from 0.
    cbp_stage_link = 13,
};

typedef struct {
    int32_t stage;
    int32_t error;
    int32_t detail;
    /// Whether the program begins all the same, without the part that failed.
    int32_t is_left_out;
} cbp_spawn_report;

/// Starts a process with an empty signal mask, default actions for all signals and a process group of its own. On
/// Linux, unless built with the thread sanitizer, this returns when the program has begun or the process has failed.
/// Returns 0 or an error number; where the process failed, the number is 0 and the report says so.
int cbp_spawn(int32_t *_Nonnull pid, const cbp_spawn_request *_Nonnull request);

/// What a new process sends to the guard; on Linux, a pidfd of the process goes with it.
typedef struct {
    int32_t process;
} cbp_guard_notice;

/// A descriptor that becomes readable when the process has exited: a pidfd, or a kqueue on Darwin.
int cbp_process_open(int32_t pid);
int cbp_process_signal(int descriptor, int32_t pid, int signal);
/// Signals the process group that the descriptor's process leads, or has led before it was removed from the process
/// table. EINVAL where the system cannot do so without the group's number.
int cbp_process_signal_group(int descriptor, int signal);

enum cbp_exit_state { cbp_exit_still_running, cbp_exit_with_code, cbp_exit_by_signal, cbp_exit_by_signal_with_core };

typedef struct {
    enum cbp_exit_state state;
    int32_t value;
    uint64_t user_microseconds;
    uint64_t system_microseconds;
    uint64_t peak_resident_bytes;
} cbp_exit;

/// Checks whether the child has exited, and removes it from the process table if `reap` says so. ECHILD when the child
/// is no longer there.
int cbp_process_wait(int descriptor, int32_t pid, int reap, cbp_exit *_Nonnull exit);

/// Writes the value of a variable in the environment that a process was started with, cut off where `value` has no more
/// room. Returns the length written, or -1 if there is no such variable. `name` is the beginning of the variable's
/// text. Waits a little for a process that is in the middle of becoming another program.
ptrdiff_t cbp_process_variable(int32_t pid, const char *_Nonnull name, char *_Nonnull value, size_t size);

/// The parent of a process; 0 if it has none, or there is no such process.
int32_t cbp_process_parent(int32_t pid);

/// Asks the system for `signal` when the parent dies; ENOTSUP where the system has no such thing.
int cbp_arm_parent_death_signal(int signal);

/// Writes the path of the running program, without a NUL. Returns the length, or -1.
ptrdiff_t cbp_executable_path(char *_Nonnull buffer, size_t size);

// Call stacks

/// Writes the return addresses of the calling thread's callers, innermost first. Returns how many; 0 where they are not
/// known.
int cbp_callers(void *_Nullable *_Nonnull addresses, int capacity);
/// Writes the name of the function that an address lies in, demangled, with its NUL. Returns 0 if that name is known.
int cbp_function_name(void *_Nonnull address, char *_Nonnull buffer, size_t size);
/// From now on calls `seen` on each thread that hands a task to Swift's global executor, before the executor gets it.
/// May be called only once. Returns 0, or ENOTSUP if the run-time library has no hook for that.
int cbp_watch_global_tasks(void (*_Nonnull seen)(void));

#ifdef __linux__
// Poller

enum {
    cbp_ready_readable = 1,
    cbp_ready_writable = 2,
    cbp_ready_peer_hang_up = 4,
    cbp_ready_hang_up = 8,
    cbp_ready_error = 16,
    cbp_ready_edge_triggered = 32,
};

typedef struct {
    uint64_t token;
    uint32_t flags;
} cbp_ready;

enum { cbp_epoll_batch = 128 };

int cbp_epoll_create(void);
int cbp_epoll_add(int queue, int descriptor, uint32_t flags, uint64_t token);
int cbp_epoll_change(int queue, int descriptor, uint32_t flags, uint64_t token);
int cbp_epoll_remove(int queue, int descriptor);
/// Waits at most `nanoseconds`, for ever if they are negative. `ready` has room for cbp_epoll_batch. Returns how many
/// events came, or -1 with errno: EINTR, or an error that later waits repeat.
int cbp_epoll_wait(int queue, cbp_ready *_Nonnull ready, int64_t nanoseconds);
int cbp_event_open(void);
int cbp_timer_open(void);
/// The timer becomes readable once CLOCK_MONOTONIC has reached `deadline`, in nanoseconds; 0 stops it.
int cbp_timer_set(int timer, uint64_t deadline);
#endif

#endif
