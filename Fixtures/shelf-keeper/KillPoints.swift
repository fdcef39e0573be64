import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Counts steps, which are points before, in and after changes, and kills this process at one of them.
final class KillPoints: Sendable {
    private let last: Int
    private let passed = Atomic<Int>(0)

    /// - Parameter last: the number of the step at which the process is killed, from 1; 0 for none.
    init(at last: Int) { self.last = last }

    func pass() {
        if passed.add(1, ordering: .sequentiallyConsistent).newValue == last { kill(getpid(), SIGKILL) }
    }

    /// Passes a step before and after `body`.
    func around<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        pass()
        let value = try body()
        pass()
        return value
    }
}
