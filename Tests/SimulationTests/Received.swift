import Locks

/// The events that came, in the order in which they came.
final class Received: @unchecked Sendable {
    private let lock = Lock()
    private var numbers: [Int] = []
    func add(_ number: Int) { lock.withLock { numbers.append(number) } }
    var all: [Int] { lock.withLock { numbers } }
}
