public import Supervision

/// Whether `bridge-guard`, a small program that comes with this package, watches over the workers.
///
/// Each worker is tied to the life of this process before the worker's own program begins: the kernel kills the worker
/// when this process dies. The kernel does not kill what the worker has started. If this process is killed, the guard
/// kills the processes that are still in a worker's process group, or that have the host's mark in their environment. A
/// host that ends in good order kills them itself.
///
/// The bridge says on standard error, once, that workers run without their guard: if a guard ends early by anything but
/// SIGKILL, or if ``automatic`` finds a guard that cannot be started. Each later start of a worker tries again.
///
/// To get the guard, name this package's product `bridge-guard` among the dependencies of the program's target.
public enum WorkerGuard: Sendable, Hashable {
    /// The guard beside the running executable, or no guard if there is none.
    case automatic

    /// This guard; if there is no executable file of that path, or its program cannot be started, no worker can be
    /// started.
    case program(ExecutableLocation)

    /// No guard.
    case none
}
