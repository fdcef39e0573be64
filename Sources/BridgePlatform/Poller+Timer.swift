extension Poller {
    /// One call at a deadline.
    ///
    /// `@unchecked Sendable` is sound: the mutable properties are touched under the poller's lock only.
    package final class Timer: @unchecked Sendable {
        /// The deadline in nanoseconds of the monotonic clock.
        package let deadline: UInt64
        private let poller: Poller
        var body: Work?
        fileprivate var order: UInt64 = 0
        fileprivate var position: Int?

        init(_ poller: Poller, _ deadline: UInt64, _ body: @escaping Work) {
            self.poller = poller
            self.deadline = deadline
            self.body = body
        }

        /// Makes sure that the body is not running and will not run, under the terms of `Registration.cancel()`.
        package func cancel() {
            poller.cancel(self, waiting: true)
        }

        /// Cancels without waiting: a call that has begun, or is just beginning, may still be running.
        package func cancelWithoutWaiting() {
            poller.cancel(self, waiting: false)
        }
    }

    /// Timers with the earliest deadline on top: a binary heap in which each timer knows its position, so that a
    /// cancelled timer leaves at once instead of lying there until its deadline.
    struct TimerHeap {
        private var timers: [Timer] = []
        private var lastOrder: UInt64 = 0

        var first: Timer? { timers.first }

        mutating func insert(_ timer: Timer) {
            lastOrder += 1
            timer.order = lastOrder
            timer.position = timers.count
            timers.append(timer)
            rise(from: timers.count - 1)
        }

        /// Takes the timer out, if it is in the heap.
        mutating func remove(_ timer: Timer) {
            guard let position = timer.position else { return }
            timer.position = nil
            let last = timers.removeLast()
            if last === timer { return }
            timers[position] = last
            last.position = position
            rise(from: position)
            sink(from: last.position ?? position)
        }

        /// Takes all timers out: a timer that is cancelled later finds that it is in no heap.
        mutating func removeAll() -> [Timer] {
            let all = timers
            for timer in all { timer.position = nil }
            timers = []
            return all
        }

        private mutating func rise(from start: Int) {
            var child = start
            while child > 0 {
                let parent = (child - 1) / 2
                if !precedes(child, parent) { return }
                exchange(child, parent)
                child = parent
            }
        }

        private mutating func sink(from start: Int) {
            var parent = start
            while true {
                var earliest = parent
                for child in [2 * parent + 1, 2 * parent + 2] where child < timers.count && precedes(child, earliest) {
                    earliest = child
                }
                if earliest == parent { return }
                exchange(parent, earliest)
                parent = earliest
            }
        }

        private func precedes(_ left: Int, _ right: Int) -> Bool {
            let (left, right) = (timers[left], timers[right])
            return (left.deadline, left.order) < (right.deadline, right.order)
        }

        private mutating func exchange(_ left: Int, _ right: Int) {
            timers.swapAt(left, right)
            timers[left].position = left
            timers[right].position = right
        }
    }
}
