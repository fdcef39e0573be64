import BridgePlatform
import Locks
import Synchronization

/// The arrival of a flood: checks that each lane's events come in order and completely, and notes when the first and
/// the last event came.
///
/// A lane is the events that one thread of one process sends. Event n of a lane has the number n × lanes + lane.
final class Flood: @unchecked Sendable {
    // Sendable: only the thread that reads a lane's link touches the lane. Other threads read it once `remaining` says
    // that the lane has ended.

    private struct Lane {
        var next: Int64 = 0
        var sum: Int64 = 0
        var first: UInt64 = 0
        var last: UInt64 = 0
    }

    /// The lanes, each on cache lines of its own.
    private let lanes: [UnsafeMutablePointer<Lane>]
    /// How far to shift right to divide by the number of lanes, which is a power of two.
    private let shift: Int64
    private let countInLane: Int64
    private let remaining: Atomic<Int>

    /// - Parameter lanes: a power of two; the count is rounded down to a multiple of it, but not to 0.
    init(count: Int64, lanes: Int = 1) {
        precondition(lanes > 0 && lanes & (lanes - 1) == 0, "there are \(lanes) lanes, which is no power of two")
        shift = Int64(lanes.trailingZeroBitCount)
        countInLane = max(1, count >> shift)
        self.lanes = (0..<lanes).map { _ in
            let lane = allocateAlone(Lane.self)
            lane.initialize(to: Lane())
            return lane
        }
        remaining = Atomic(lanes)
    }

    deinit {
        for lane in lanes { UnsafeMutableRawPointer(lane).deallocate() }
    }

    var count: Int64 { countInLane << shift }

    /// The times at which the first and the last event of all lanes came.
    var interval: ClosedRange<UInt64> {
        let first = lanes.map(\.pointee.first).min() ?? 0
        return first...max(first, lanes.map(\.pointee.last).max() ?? 0)
    }

    var nanoseconds: UInt64 { interval.upperBound - interval.lowerBound }

    /// - Returns: Whether this was the last event of all lanes.
    @inline(__always)
    func arrived(_ id: Int64) -> Bool {
        let number = Int(id & (1 << shift - 1))
        let lane = lanes[number]
        if lane.pointee.next == 0 { lane.pointee.first = MonotonicClock.now() }
        guard id >> shift == lane.pointee.next else {
            Report.fail("event \(id) came where \(lane.pointee.next << shift + Int64(number)) was expected")
        }
        lane.pointee.next += 1
        lane.pointee.sum += id
        return lane.pointee.next == countInLane && ended(lane, number)
    }

    private func ended(_ lane: UnsafeMutablePointer<Lane>, _ number: Int) -> Bool {
        lane.pointee.last = MonotonicClock.now()
        let sum = (countInLane * (countInLane - 1) / 2) << shift + Int64(number) * countInLane
        guard lane.pointee.sum == sum else {
            Report.fail("the sum of the numbers is \(lane.pointee.sum) where \(sum) was expected")
        }
        return remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
}
