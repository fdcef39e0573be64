public import Supervision

/// Whether workers are started through `bridge-launcher`, a small program that comes with this package.
///
/// It ties a worker to the life of this process before the worker's own program begins, and sees to it that what the
/// worker has started ends with this process too, as far as it has stayed in the worker's process group. Without it
/// workers tie themselves, as soon as their program runs, and what they have started lives on if this process is
/// killed.
///
/// A program gets it by naming the product `bridge-launcher` of this package among the dependencies of its target.
public enum WorkerStart: Sendable, Hashable {
    /// Through the one beside the running executable, and without one if there is none.
    case automatic

    /// Through this one; without it no worker can be started.
    case through(ExecutableLocation)

    /// Without one.
    case direct
}
