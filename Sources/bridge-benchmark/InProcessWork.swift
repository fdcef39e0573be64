import BridgePlatform
import DomainEvents

/// W5: in one process, without a bridge.
enum InProcessWork {
    private final class Sum: @unchecked Sendable {
        // Sendable: only the publishing thread is here.
        var value: Int64 = 0
    }

    static func run() {
        for observers in [1, 10, 100] { measure(observers) }
    }

    private static func measure(_ observers: Int) {
        let publisher = EventPublisher()
        let sum = Sum()
        let subscriptions = (0..<observers).map { _ in
            publisher.subscribe(to: BenchmarkEvent.self) { event in sum.value &+= event.id }
        }
        let posts: Int64 = Int64(4_000_000 / observers)
        for id in 0..<posts / 10 { publisher.publish(BenchmarkEvent(id: id, title: Title.of(id))) }
        sum.value = 0
        let begin = MonotonicClock.now()
        for id in 0..<posts { publisher.publish(BenchmarkEvent(id: id, title: Title.of(id))) }
        let time = MonotonicClock.now() - begin
        guard sum.value == posts * (posts - 1) / 2 * Int64(observers) else { Report.fail("the sum is \(sum.value)") }
        withExtendedLifetime(subscriptions) {}
        Report.deliveries(observers, count: posts * Int64(observers), nanoseconds: time)
    }
}
