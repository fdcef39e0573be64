/// The calls that wait until reports have been delivered, and how much of their time is over.
///
/// The time is counted in looks, which come at equal intervals, and not by a clock. While this process or the whole
/// machine stands still, a handler cannot return. So a standstill, however long, costs a handler one look. By a clock,
/// a handler that stood still with the process would be taken for one that never returns.
///
/// Looks are made only while a call waits. The looks that have found the present report also count for each call that
/// begins to wait for it. A call that begins to wait between two looks may wait an interval less than the others.
///
/// This type reads no clock and has no lock: the caller makes the looks, and calls the bodies.
struct ReportWaits {
    typealias Body = @Sendable () -> Void

    /// How many looks a handler may let pass.
    static let looks = 10

    private struct Wait {
        let number: UInt64
        let body: Body
        var looks: Int
    }

    /// In the order in which they began.
    private var waits: [Wait] = []
    private var lastNumber: UInt64 = 0
    /// How many looks have found the present report.
    private var looksAtReport = 0

    var isEmpty: Bool { waits.isEmpty }

    /// Notes a call that waits, and returns its number; nil if the present report has had its time.
    mutating func begin(_ body: @escaping Body) -> UInt64? {
        guard looksAtReport < Self.looks else { return nil }
        lastNumber += 1
        waits.append(Wait(number: lastNumber, body: body, looks: looksAtReport))
        return lastNumber
    }

    /// Notes that the present report's handlers have returned.
    mutating func reportPassed() { looksAtReport = 0 }

    /// Ends a wait whose reports have been delivered, and returns its body; nil if a look has ended it.
    mutating func takeBody(of number: UInt64) -> Body? {
        guard let index = waits.firstIndex(where: { $0.number == number }) else { return nil }
        return waits.remove(at: index).body
    }

    /// Notes a look, ends the waits whose time is over, and returns their bodies, in the order of the waits.
    mutating func looked() -> [Body] {
        looksAtReport += 1
        for index in waits.indices { waits[index].looks += 1 }
        let ended = waits.filter { $0.looks >= Self.looks }
        waits.removeAll { $0.looks >= Self.looks }
        return ended.map(\.body)
    }
}
