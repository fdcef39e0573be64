"""Tries, from inside a box, what one process can do to another: `probe.py victim DIRECTORY` and `probe.py try VICTIM`.

The victim makes objects that processes of one user share, prints as JSON where they are, and waits for the end of its input. The other
process gets this JSON as VICTIM, tries one act after the other, and prints a line for each: its name, and `done` or the error's name.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import resource
import socket
import sys
import termios

CALLS = {
    # The first of each pair is x86-64's number, the second that of ARM64 and RISC-V, which share theirs.
    "ptrace": (101, 117),
    "ioprio_set": (251, 30),
    "sched_setattr": (314, 274),
    "kcmp": (312, 272),
    "process_vm_readv": (310, 270),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "request_key": (249, 218),
    "shmctl": (31, 195),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183),
    "mq_notify": (244, 184),
    "mq_getsetattr": (245, 185),
    "unshare": (272, 97),
    "setns": (308, 268),
    "clone3": (435, 435),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "io_uring_setup": (425, 425),
}

# The calls that the filter refuses whatever their arguments are, each with arguments that do nothing without a box: no
# process has the key or the descriptor -1, and no pointer leads anywhere.
REFUSED = {
    "add_key": (None, None, None, 0, -1),
    "request_key": (None, None, None, -1),
    "keyctl": (-1,),
    "shmget": (-1, 0, 0),
    "shmat": (-1, None, 0),
    "shmctl": (-1, -1, None),
    "msgget": (-1, 0),
    "msgsnd": (-1, None, 0, 0),
    "msgrcv": (-1, None, 0, 0, 0),
    "msgctl": (-1, -1, None),
    "semget": (-1, 0, 0),
    "semop": (-1, None, 0),
    "semtimedop": (-1, None, 0, None),
    "semctl": (-1, 0, -1),
    "mq_open": (None, 0, 0, None),
    "mq_unlink": (None,),
    "mq_timedsend": (-1, None, 0, 0, None),
    "mq_timedreceive": (-1, None, 0, None, None),
    "mq_notify": (-1, None),
    "mq_getsetattr": (-1, None, None),
    "clone3": (None, 0),
    "setns": (-1, 0),
}

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(name, *arguments):
    """Makes a system call; raises OSError if it fails."""
    number = CALLS[name][0 if platform.machine() == "x86_64" else 1]
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def listen(kind, name):
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.bind(name)
    if kind == socket.SOCK_STREAM:
        listener.listen()
    return listener


def victim(directory):
    ipc_creat = 0o1000
    found = {"process": os.getpid(), "directory": directory, "key": os.getpid() | 1 << 24}
    held = []
    for name, arguments in {"shmget": (4096,), "msgget": (), "semget": (1,)}.items():
        try:
            found[name] = call(name, found["key"], *arguments, ipc_creat | 0o600)
        except OSError:
            found[name] = None
    found["queue"] = f"box-probe-{os.getpid()}"
    found["abstract"] = f"box-probe-{os.getpid()}"
    held.append(listen(socket.SOCK_STREAM, "\0" + found["abstract"]))
    held.append(listen(socket.SOCK_STREAM, directory + "/stream"))
    held.append(listen(socket.SOCK_DGRAM, directory + "/datagram"))
    secret = ctypes.create_string_buffer(b"secret")
    found["address"] = ctypes.addressof(secret)
    found["shared"] = f"/dev/shm/box-probe-{os.getpid()}"
    with open(found["shared"], "wb") as file:
        file.write(b"shared")
    with open(directory + "/file", "wb") as file:
        file.write(b"secret")
    print(json.dumps(found), flush=True)
    sys.stdin.read()
    os.unlink(found["shared"])
    ipc_rmid = 0
    if found["shmget"] is not None:
        libc.shmctl(found["shmget"], ipc_rmid, None)
    if found["msgget"] is not None:
        libc.msgctl(found["msgget"], ipc_rmid, None)
    if found["semget"] is not None:
        libc.semctl(found["semget"], 0, ipc_rmid)


def connect(name, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as client:
        client.connect(name)


def send(name):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"word", name)


def trace(process):
    attach, detach = 16, 17
    call("ptrace", attach, process, 0, 0)
    os.waitpid(process, 0x40000000)
    call("ptrace", detach, process, 0, 0)


def look_into(process, address):
    vector = ctypes.c_size_t * 2
    here = ctypes.create_string_buffer(6)
    local = vector(ctypes.addressof(here), 6)
    remote = vector(address, 6)
    call("process_vm_readv", process, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)


def take_descriptor(process):
    pidfd = call("pidfd_open", process, 0)
    os.close(call("pidfd_getfd", pidfd, 0, 0))


def signal_by_descriptor(process):
    pidfd = call("pidfd_open", process, 0)
    call("pidfd_send_signal", pidfd, 0, None, 0)


def read(path):
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError(errno.ENODATA, path)


def write(path, content):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def unshare_user():
    child = os.fork()
    if child == 0:
        try:
            call("unshare", 0x10000000)
            os._exit(0)
        except OSError as error:
            os._exit(error.errno)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise OSError(status, "unshare")


def make_queue(name):
    path = ctypes.create_string_buffer(name.encode())
    os.close(call("mq_open", path, os.O_RDWR | os.O_CREAT, 0o600, None))
    call("mq_unlink", path)


def watch(directory):
    descriptor = call("inotify_init1", 0)
    call("inotify_add_watch", descriptor, ctypes.create_string_buffer(directory.encode()), 0x100)
    os.close(descriptor)


def ask_as_terminal(request):
    # A pipe is no terminal: if no filter refuses the call, its error is ENOTTY.
    ends = os.pipe()
    try:
        fcntl.ioctl(ends[0], request, b"\x03")
    finally:
        for end in ends:
            os.close(end)


def set_attributes(process):
    # struct sched_attr of version 0: SCHED_OTHER, nice 0.
    attributes = (ctypes.c_uint32 * 12)(48, 0)
    call("sched_setattr", process, ctypes.byref(attributes), 0)


def tries(found):
    process, directory = found["process"], found["directory"]
    all_processors = range(os.cpu_count() or 1)
    mask = ctypes.c_ulong(1)
    limits = resource.prlimit(process, resource.RLIMIT_CORE)
    memory = ctypes.create_string_buffer(4096)
    message = ctypes.create_string_buffer(b"\x01" + b"\0" * 15)
    operation = ctypes.create_string_buffer(b"\0\0\0\0\0\0")
    return {
        # Acts against a process outside the box.
        "signal": lambda: os.kill(process, 0),
        "signal by descriptor": lambda: signal_by_descriptor(process),
        "trace": lambda: trace(process),
        "read memory": lambda: look_into(process, found["address"]),
        "take a descriptor": lambda: take_descriptor(process),
        "compare": lambda: call("kcmp", process, process, 0, 0, 0),
        "move pages": lambda: call("move_pages", process, 0, None, None, None, 0),
        "migrate pages": lambda: call("migrate_pages", process, 64, ctypes.byref(mask), ctypes.byref(mask)),
        "read a limit": lambda: resource.prlimit(process, resource.RLIMIT_CORE),
        "set a limit": lambda: resource.prlimit(process, resource.RLIMIT_CORE, limits),
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process)),
        # The user 65,533 has no processes; for this user, the call would change all its processes on this machine.
        "nice of a user": lambda: os.setpriority(os.PRIO_USER, 65_533, 0),
        "nice of a group": lambda: os.setpriority(os.PRIO_PGRP, 0, os.getpriority(os.PRIO_PROCESS, 0)),
        "scheduler": lambda: os.sched_setscheduler(process, os.SCHED_OTHER, os.sched_param(0)),
        "scheduling parameter": lambda: os.sched_setparam(process, os.sched_param(0)),
        "scheduling attributes": lambda: set_attributes(process),
        "affinity": lambda: os.sched_setaffinity(process, all_processors),
        "priority of input and output": lambda: call("ioprio_set", 1, process, 4 | 2 << 13),
        "environment": lambda: read(f"/proc/{process}/environ"),
        "memory by file": lambda: os.close(os.open(f"/proc/{process}/mem", os.O_RDWR)),
        "status": lambda: read(f"/proc/{process}/status"),
        "likelihood to be killed": lambda: write(f"/proc/{process}/oom_score_adj", b"0"),
        # The same acts on the process itself.
        "own limit": lambda: resource.prlimit(0, resource.RLIMIT_CORE, resource.prlimit(0, resource.RLIMIT_CORE)),
        "own nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
        "own scheduler": lambda: os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0)),
        "own affinity": lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),
        "own input and output": lambda: call("ioprio_set", 1, 0, 4 | 2 << 13),
        "own memory": lambda: look_into(os.getpid(), ctypes.addressof(memory)),
        "own child": lambda: os.waitpid(os.spawnv(os.P_NOWAIT, "/bin/true", ["true"]), 0),
        # Objects that all processes of a user share.
        "add a key": lambda: call("add_key", b"user", b"box-probe", b"x", 1, -3),
        "read the user's keys": lambda: call("keyctl", 6, -4, 0, 0, 0),
        "shared memory of System V": lambda: libc_shmdt(call("shmat", found["shmget"], None, 0o10000)),
        "message of System V": lambda: call("msgsnd", found["msgget"], message, 1, 0o4000),
        "semaphore of System V": lambda: call("semop", found["semget"], operation, 1),
        "queue of POSIX": lambda: make_queue(found["queue"]),
        "shared memory of POSIX": lambda: write(found["shared"], b"x"),
        "user namespace": unshare_user,
        "type into a terminal": lambda: ask_as_terminal(termios.TIOCSTI),
        "paste into a terminal": lambda: ask_as_terminal(termios.TIOCLINUX),
        "read a file": lambda: read(directory + "/file"),
        "watch a directory": lambda: watch(directory),
        "abstract socket": lambda: connect("\0" + found["abstract"]),
        "socket in the file system": lambda: connect(directory + "/stream"),
        "datagram to a socket in the file system": lambda: send(directory + "/datagram"),
        "another machine": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close(),
        "rings": lambda: os.close(call("io_uring_setup", 1, ctypes.create_string_buffer(120))),
    }


def call_with_nothing(name):
    return lambda: call(name, *(ctypes.c_void_p() if word is None else word for word in REFUSED[name]))


def libc_shmdt(address):
    libc.shmdt(ctypes.c_void_p(address))


def main():
    if sys.argv[1] == "victim":
        return victim(sys.argv[2])
    attempts = tries(json.loads(sys.argv[2])) | {f"the call {name}": call_with_nothing(name) for name in REFUSED}
    for name, attempt in attempts.items():
        try:
            attempt()
            print(f"{name}: done")
        except OSError as error:
            print(f"{name}: {errno.errorcode.get(error.errno, error.errno)}")


main()
