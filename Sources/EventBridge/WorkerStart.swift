public import Supervision

/// Whether workers are started through `bridge-launcher`, a small program that comes with this package.
///
/// The launcher ties a worker to the life of this process before the worker's own program begins. It sees to it that
/// what the worker has started ends with this process too, if that has stayed in the worker's process group. Without
/// the launcher, workers tie themselves as soon as their program runs, and what they have started outlives this process
/// if it is killed.
///
/// A program gets the launcher by naming the product `bridge-launcher` of this package among its target's dependencies.
public enum WorkerStart: Sendable, Hashable {
    /// Through the launcher beside the running executable, or without a launcher if there is none.
    case automatic

    /// Through this launcher; without it no worker can be started.
    case through(ExecutableLocation)

    /// Without a launcher.
    case direct
}
