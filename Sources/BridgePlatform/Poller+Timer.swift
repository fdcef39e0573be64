extension Poller {
    /// One call at a deadline.
    ///
    /// `@unchecked Sendable` is sound: the mutable properties are touched under the poller's lock only.
    package final class Timer: @unchecked Sendable {
        /// The deadline in nanoseconds of the monotonic clock.
        package let deadline: UInt64
        private let poller: Poller
        var body: Work?
        @exclusivity(unchecked) fileprivate var position: Int?

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
        /// A timer with what its place depends on, so that no comparison reads the timer itself.
        private struct Entry {
            let deadline: UInt64
            /// The number of the insertion, from 1.
            let order: UInt64
            let timer: Timer
        }

        private var entries: [Entry] = []
        private var lastOrder: UInt64 = 0

        var first: Timer? { entries.first?.timer }

        mutating func insert(_ timer: Timer) {
            lastOrder += 1
            timer.position = entries.count
            entries.append(Entry(deadline: timer.deadline, order: lastOrder, timer: timer))
            rise(from: entries.count - 1)
        }

        /// Takes the timer out, if it is in the heap.
        mutating func remove(_ timer: Timer) {
            guard let position = timer.position else { return }
            timer.position = nil
            let last = entries.removeLast()
            if last.timer === timer { return }
            entries[position] = last
            last.timer.position = position
            rise(from: position)
            sink(from: last.timer.position ?? position)
        }

        /// Takes all timers out: a timer that is cancelled later finds that it is in no heap.
        mutating func removeAll() -> [Timer] {
            let all = entries.map(\.timer)
            for timer in all { timer.position = nil }
            entries = []
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
                let (left, right) = (2 * parent + 1, 2 * parent + 2)
                if left >= entries.count { return }
                let earliest = right < entries.count && precedes(right, left) ? right : left
                if !precedes(earliest, parent) { return }
                exchange(parent, earliest)
                parent = earliest
            }
        }

        private func precedes(_ left: Int, _ right: Int) -> Bool {
            let (deadline, other) = (entries[left].deadline, entries[right].deadline)
            return deadline == other ? entries[left].order < entries[right].order : deadline < other
        }

        private mutating func exchange(_ left: Int, _ right: Int) {
            entries.swapAt(left, right)
            entries[left].timer.position = left
            entries[right].timer.position = right
        }
    }
}
