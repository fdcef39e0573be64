/// Limits the number of connections that have not said hello yet, and the time that each of them may wait.
///
/// Each connection has a deadline. If a new connection is one too many, an earlier one goes: the oldest that has sent
/// nothing, or else the oldest of all. So a peer that says hello at once gets through, however many silent peers hold
/// connections. Pure: inputs with their times come in, and the connections to cut off come out.
package struct ArrivalStateMachine: Sendable {
    package enum Input: Sendable {
        case connected(UInt64)
        /// The connection's first bytes are there.
        case spoke(UInt64)
        /// The peer has said hello, and was accepted.
        case introduced(UInt64)
        /// The peer has gone, or was sent away without a ``Cut``.
        case ended(UInt64)
        case timePassed
    }

    package enum Reason: Sendable, Hashable {
        /// The connection has not said hello in time.
        case silent
        /// The connection has to make room for another.
        case crowded
    }

    package struct Cut: Sendable, Hashable {
        package let connection: UInt64
        package let reason: Reason

        package init(connection: UInt64, reason: Reason) {
            self.connection = connection
            self.reason = reason
        }
    }

    package let maximum: Int
    package let timeout: UInt64
    /// The waiting connections in the order of their arrival, which is also the order of their deadlines.
    private var waiting: [(connection: UInt64, deadline: UInt64, hasSpoken: Bool)] = []
    private var failures: UInt64 = 0

    /// - Parameters:
    ///   - maximum: how many connections may wait at once, at least 1.
    ///   - timeout: how long each connection may wait, in nanoseconds.
    package init(maximum: Int, timeout: UInt64) {
        self.maximum = max(1, maximum)
        self.timeout = timeout
    }

    /// The deadline of the first waiting connection; nil if none waits.
    package var nextDeadline: UInt64? { waiting.first?.deadline }

    package var count: Int { waiting.count }

    /// - Parameter now: never before the time of an earlier input.
    /// - Returns: The connections to cut off.
    package mutating func handle(_ input: Input, at now: UInt64) -> [Cut] {
        switch input {
        case .connected(let connection):
            failures = 0
            let (deadline, isBeyondTime) = now.addingReportingOverflow(timeout)
            // The new connection cannot be the one to go: it has had no time to speak yet.
            let longest = waiting.firstIndex { !$0.hasSpoken } ?? waiting.startIndex
            waiting.append((connection, isBeyondTime ? .max : deadline, false))
            guard waiting.count > maximum else { return [] }
            return [Cut(connection: waiting.remove(at: longest).connection, reason: .crowded)]
        case .spoke(let connection):
            let index = waiting.firstIndex { $0.connection == connection }
            if let index { waiting[index].hasSpoken = true }
            return []
        case .introduced(let connection), .ended(let connection):
            waiting.removeAll { $0.connection == connection }
            return []
        case .timePassed:
            let overdue = waiting.prefix { $0.deadline <= now }
            waiting.removeFirst(overdue.count)
            return overdue.map { Cut(connection: $0.connection, reason: .silent) }
        }
    }

    /// Notes that accepting has failed, and returns for how many nanoseconds to accept nothing.
    ///
    /// The pause doubles with each failure, up to one second. After the next admitted connection it is short again.
    package mutating func acceptingFailed() -> UInt64 {
        defer { failures += 1 }
        return min(50_000_000 << min(failures, 5), 1_000_000_000)
    }
}
