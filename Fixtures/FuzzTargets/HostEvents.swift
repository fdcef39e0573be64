import BridgeControl
import BridgePlatform
import DomainEvents
import EventBridge
import Locks

/// What the host asks of all its workers.
struct Posed: DomainEvent {
    let number: Int
    let text: String
}

/// The honest worker's answer.
struct Resolved: DomainEvent {
    let number: Int
}

/// What the peer may bring.
struct Heard: DomainEvent {
    static let eventName = "a"
    let text: String
}

/// What was asked, and what was answered.
final class HostBooks: @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`.
    private let lock: Lock
    private let changed: Condition
    private var lastAsked = 0
    private var answered: Set<Int> = []
    private var lastReport: BridgeReport?

    init() {
        lock = Lock()
        changed = Condition(lock: lock)
    }

    func wasReported(_ report: BridgeReport) { lock.withLock { lastReport = report } }

    /// Whether what the host has said of itself last can be sent.
    var isReportEncodable: Bool { lock.withLock { lastReport }.map { $0.encoded(within: 1 << 20) != nil } ?? true }

    /// The number of the next question.
    func ask() -> Int {
        lock.withLock {
            lastAsked += 1
            return lastAsked
        }
    }

    func wasAnswered(_ number: Int) {
        lock.withLock {
            answered.insert(number)
            changed.broadcast()
        }
    }

    /// Returns when each question was answered, or with false after so many nanoseconds.
    func waitForAnswers(within patience: UInt64) -> Bool {
        let deadline = MonotonicClock.now() + patience
        return lock.withLock {
            while !(1...max(lastAsked, 1)).allSatisfy({ lastAsked == 0 || answered.contains($0) }) {
                if !changed.wait(untilNanoseconds: deadline) { return false }
            }
            return true
        }
    }
}
