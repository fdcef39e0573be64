import Supervision

/// How the starts, ends and restarts of a bridge's workers depend on each other.
struct WorkerRules: Sendable {
    let strategy: RestartStrategy
    let intensity: RestartIntensity
    let automaticShutdown: AutomaticShutdown
    let startOrder: StartOrder
}
