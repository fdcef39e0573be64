import BridgeControl
import BridgePlatform
import DomainEvents
import EventBridge
import Locks

/// A question of the host to all its workers.
struct Posed: DomainEvent {
    let number: Int
    let text: String
}

/// The honest worker's answer.
struct Resolved: DomainEvent {
    let number: Int
}

/// An event that the peer may send.
struct Heard: DomainEvent {
    static let eventName = "a"
    let text: String
}

/// Records the questions, the answers, and the host's last report.
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

    /// Whether the host's last report about itself can be encoded.
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

    /// Returns true when each question was answered, or false if some are not and the patience is at its end.
    func waitForAnswers() -> Bool {
        lock.withLock {
            var patience = Patience()
            while !(1...max(lastAsked, 1)).allSatisfy({ lastAsked == 0 || answered.contains($0) }) {
                if !patience.wait(for: changed) { return false }
            }
            return true
        }
    }
}
