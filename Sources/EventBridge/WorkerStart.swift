public import Supervision

/// Whether workers are started through `bridge-launcher`, a small program that comes with this package.
///
/// The launcher ties a worker to the life of this process before the worker's own program begins. Processes that the
/// worker has started end with this process too, if they have stayed in the worker's process group. Without the
/// launcher, workers tie themselves as soon as their program runs, and processes that they have started outlive this
/// process if it is killed.
///
/// To get the launcher, name this package's product `bridge-launcher` among the dependencies of the program's target.
public enum WorkerStart: Sendable, Hashable {
    /// Through the launcher beside the running executable, or without a launcher if there is none.
    case automatic

    /// Through this launcher; if it is missing, no worker can be started.
    case through(ExecutableLocation)

    /// Without a launcher.
    case direct
}
