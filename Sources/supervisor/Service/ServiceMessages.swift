/// The messages that a service manager has still to get, in order; the state and the signs of life are not among them.
///
/// To a manager, a bridge reloads only once it is ready, and while it stops it is neither ready nor reloading. So no
/// other message comes after `STOPPING=1`, and no `RELOADING=1` before the first `READY=1`.
struct ServiceMessages {
    private var waiting: [String] = []
    private var isReady = false
    private var isStopping = false

    /// The oldest message; nil if none waits.
    var next: String? { waiting.first }

    mutating func removeNext() { waiting.removeFirst() }

    // MARK: - What the bridge does

    mutating func becameReady() {
        isReady = true
        add("READY=1")
    }

    /// - Parameter time: a moment after the manager's signal, in nanoseconds of the monotonic clock.
    mutating func beganReloading(at time: UInt64) {
        // The time shows the manager that the reload began after the manager's signal: sd_notify(3).
        if isReady { add("RELOADING=1\nMONOTONIC_USEC=\(time / 1_000)") }
    }

    mutating func endedReloading() {
        if isReady { add("READY=1") }
    }

    mutating func beganStopping() {
        add("STOPPING=1")
        isStopping = true
    }

    private mutating func add(_ message: String) {
        if !isStopping { waiting.append(message) }
    }
}
