import Synchronization

/// A value that changes, and tests that wait for it.
final class Changing<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock(\.value) }

    func change(_ body: (inout Value) -> Void) {
        let waiting = state.withLock { state in
            body(&state.value)
            return state.waiting
        }
        for continuation in waiting { continuation.yield() }
    }

    /// Returns when the condition holds after a change, or at once; the test's time limit is the deadline.
    func wait(until condition: @Sendable (Value) -> Bool) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { $0.waiting.append(continuation) }
        continuation.yield()
        for await _ in stream where condition(value) { return }
    }
}
