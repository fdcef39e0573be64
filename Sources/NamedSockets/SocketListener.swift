package import BridgePlatform
import BridgeTransport
import Locks

/// Lets processes of this user connect to a socket with a name, and limits what each of them can cost the others.
///
/// A process of another user is sent away before a byte is read. A silent connection takes a descriptor but no thread.
/// The time that it may stay is limited, and so is the number of such connections. When descriptors run out, accepting
/// pauses. If the socket's file is gone, the listener makes it anew.
///
/// It calls `report` and `arrived` on the poller's thread, without a lock held.
package final class SocketListener: Entrance, @unchecked Sendable {
    // Sendable: everything mutable is guarded by `lock`; only the poller's thread looks at the socket's file and makes
    // it anew.

    package struct Limits: Sendable {
        /// How many connections that have not said hello yet may be there at once.
        package var unintroduced = 32
        /// For how many nanoseconds a connection may stay without saying hello.
        package var timeout: UInt64 = 5_000_000_000
        /// How many nanoseconds lie between two checks of the socket's file.
        package var lookInterval: UInt64 = 5_000_000_000
        /// For how many nanoseconds the listener gathers what it will report, and counts equal reports.
        package var reportInterval: UInt64 = 1_000_000_000

        package init() {}
    }

    private let socket: any ListeningSocket
    private let limits: Limits
    private let poller: Poller
    private let report: @Sendable (SocketReport) -> Void
    private let arrived: @Sendable (Arrival) -> Void

    private let lock = Lock()
    private var machine: ArrivalStateMachine
    private var connections: [UInt64: Connection] = [:]
    private var lastConnection: UInt64 = 0
    private var registration: Poller.Registration?
    /// Whether the poller has yet to watch the socket that was made anew.
    private var isUnwatched = false
    private var isDeadlineSet = false
    private var isStopped = false
    /// A spare descriptor for the time when descriptors run out.
    ///
    /// The listener then closes the spare, accepts a waiting connection with the number that is now free, and closes
    /// the connection, whose peer would otherwise wait without an answer. After that it takes another spare.
    private var reserve: SharedDescriptor?
    private var unreported: [SocketReport.Matter: Int] = [:]
    private var isReportSet = false
    /// The last report about the socket's file; the same fault is not reported again.
    private var lastFault: SocketReport.Matter?

    /// A connection that has not said hello yet.
    private final class Connection: @unchecked Sendable {
        // Sendable: guarded by the listener's lock.
        let socket: SharedDescriptor
        let peer: UnixSocket.PeerCredentials
        /// Set until the connection has begun to speak.
        var registration: Poller.Registration?
        /// Set once the connection has begun to speak.
        var stream: UnixStream?

        init(_ socket: SharedDescriptor, _ peer: UnixSocket.PeerCredentials) {
            self.socket = socket
            self.peer = peer
        }
    }

    /// How many connections are accepted before other work on the poller's thread has its turn.
    ///
    /// The number is small, so that the listener hears what earlier connections say before they have to make room.
    private static let batch = 8

    /// - Parameters:
    ///   - report: gets what a person may want to know.
    ///   - arrived: gets each process that has connected and begun to speak.
    package init(
        _ socket: any ListeningSocket,
        limits: Limits = Limits(),
        poller: Poller,
        report: @escaping @Sendable (SocketReport) -> Void,
        arrived: @escaping @Sendable (Arrival) -> Void
    ) {
        self.socket = socket
        self.limits = limits
        self.poller = poller
        self.report = report
        self.arrived = arrived
        machine = ArrivalStateMachine(maximum: limits.unintroduced, timeout: limits.timeout)
    }

    // MARK: - Life

    package func start() throws(SystemError) {
        try listen()
        takeReserve()
        lookLater()
    }

    /// Accepts no connection any more, and ends the connections that have not said hello yet.
    ///
    /// Removes the socket's file if this process has made it. A connection whose hello was accepted stays as it is. A
    /// second call does nothing.
    package func stop() {
        let registration = lock.withLock {
            isStopped = true
            defer { (self.registration, reserve) = (nil, nil) }
            return self.registration
        }
        // Once `isStopped` is set, no connection is added.
        registration?.cancel()
        let connections = lock.withLock {
            defer { self.connections = [:] }
            return self.connections
        }
        for connection in connections.values { end(connection) }
        socket.remove()
    }

    /// Checks the socket's file now, and makes it anew if it is gone.
    package func lookNow() {
        poller.perform { [weak self] in self?.look() }
    }

    private func listen() throws(SystemError) {
        let listening = socket.socket
        let made = try poller.register(listening.rawValue, interest: .readable) { [weak self] _ in
            self?.acceptSome(from: listening)
        }
        let replaced = lock.withLock {
            guard !isStopped else { return made as Poller.Registration? }
            defer { (registration, isUnwatched) = (made, false) }
            return registration
        }
        replaced?.cancel()
    }

    /// How many connections have not said hello yet.
    package var unintroducedCount: Int { lock.withLock { machine.count } }

    // MARK: - Accepting

    private func acceptSome(from listening: SharedDescriptor) {
        for _ in 0..<Self.batch {
            do {
                guard let accepted = try UnixSocket.accept(from: listening.rawValue) else { return }
                admit(SharedDescriptor(accepted))
            } catch {
                return acceptingFailed(error, on: listening)
            }
        }
    }

    private func admit(_ accepted: SharedDescriptor) {
        guard let peer = try? UnixSocket.peerCredentials(of: accepted.rawValue) else { return }
        guard peer.user == socket.user else { return note(.otherUser(peer.user)) }
        let admitted: (number: UInt64, cuts: [ArrivalStateMachine.Cut])? = lock.withLock {
            guard !isStopped else { return nil }
            lastConnection += 1
            connections[lastConnection] = Connection(accepted, peer)
            return (lastConnection, machine.handle(.connected(lastConnection), at: MonotonicClock.now()))
        }
        guard let (number, cuts) = admitted else { return }
        // The descriptor stays open until its registration is kept or cancelled, even if `stop` ends the connection.
        defer { withExtendedLifetime(accepted) {} }
        act(on: cuts)
        do {
            let registration = try poller.register(accepted.rawValue, interest: .readable) { [weak self] _ in
                self?.spoke(number)
            }
            let isOver = lock.withLock {
                connections[number]?.registration = registration
                return connections[number] == nil
            }
            // `look` accepts, too, and `stop` does not wait for `look`. So `stop` may have ended this connection.
            if isOver { registration.cancel() }
        } catch {
            settle(.ended(number))
            note(.shortage("\(error)"))
        }
        setDeadline()
    }

    /// A connection has something to read, or is at its end.
    private func spoke(_ number: UInt64) {
        guard let connection = lock.withLock({ connections[number] }) else { return }
        let outcome = UnixSocket.peek(connection.socket.rawValue)
        if outcome == .wouldBlock { return }
        // This is the poller's own thread, so `cancel` does not wait.
        lock.withLock { connection.registration.take() }?.cancel()
        guard case .transferred = outcome else { return settle(.ended(number)) }
        let stream = UnixStream(untrusted: connection.socket, poller: poller)
        let isWelcome = lock.withLock {
            connection.stream = stream
            _ = machine.handle(.spoke(number), at: MonotonicClock.now())
            return connections[number] === connection
        }
        guard isWelcome else { return }
        arrived(Arrival(stream: stream, peer: connection.peer, connection: number, entrance: self))
    }

    /// Notes what has become of a connection.
    ///
    /// A connection whose hello was accepted, or that has ended, does not count against the limits any more.
    package func settle(_ input: ArrivalStateMachine.Input) {
        let settled: Connection? = lock.withLock {
            _ = machine.handle(input, at: MonotonicClock.now())
            switch input {
            case .introduced(let number), .ended(let number): return connections.removeValue(forKey: number)
            case .connected, .spoke, .timePassed: return nil
            }
        }
        if let settled { lock.withLock { settled.registration.take() }?.cancel() }
    }

    /// Ends a connection that was taken out of ``connections``.
    private func end(_ connection: Connection) {
        let (registration, stream) = lock.withLock { (connection.registration.take(), connection.stream) }
        registration?.cancel()
        stream?.close()
    }

    private func act(on cuts: [ArrivalStateMachine.Cut]) {
        for cut in cuts {
            let connection = lock.withLock { connections.removeValue(forKey: cut.connection) }
            if let connection { end(connection) }
            note(cut.reason == .silent ? .silent : .crowded)
        }
    }

    /// Sets one timer for all connections: the connection that came first has the first deadline.
    private func setDeadline() {
        let deadline: UInt64? = lock.withLock {
            guard !isDeadlineSet, !isStopped, let next = machine.nextDeadline else { return nil }
            isDeadlineSet = true
            return next
        }
        guard let deadline else { return }
        poller.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            let cuts = lock.withLock {
                isDeadlineSet = false
                return machine.handle(.timePassed, at: MonotonicClock.now())
            }
            act(on: cuts)
            setDeadline()
        }
    }

    // MARK: - Shortage

    private func acceptingFailed(_ error: SystemError, on listening: SharedDescriptor) {
        note(.shortage("\(error)"))
        let (pause, registration) = lock.withLock {
            reserve = nil
            return (machine.acceptingFailed(), self.registration)
        }
        // Accepts one waiting connection and closes it: its peer then knows, and may try again.
        if error.isShortage { _ = try? UnixSocket.accept(from: listening.rawValue) }
        takeReserve()
        // Without the pause the poller would report the same waiting connections over and over.
        try? registration?.update([])
        if let registration { acceptAgain(registration, after: pause) }
    }

    /// Watches the socket again after a pause; if the system lacks what that needs, the next attempt follows another
    /// pause.
    private func acceptAgain(_ registration: Poller.Registration, after pause: UInt64) {
        poller.schedule(after: pause) { [weak self] in
            guard let self else { return }
            takeReserve()
            do {
                try registration.update(.readable)
            } catch {
                note(.shortage("\(error)"))
                acceptAgain(registration, after: lock.withLock { machine.acceptingFailed() })
            }
        }
    }

    private func takeReserve() {
        let isWanted = lock.withLock { reserve == nil && !isStopped }
        guard isWanted, let taken = try? UnixSocket.unconnected() else { return }
        let spare = SharedDescriptor(taken)
        lock.withLock { if !isStopped { reserve = spare } }
    }

    // MARK: - The socket's file

    private func lookLater() {
        poller.schedule(after: limits.lookInterval) { [weak self] in
            guard let self, !lock.withLock({ isStopped }) else { return }
            look()
            lookLater()
        }
    }

    private func look() {
        let (isStopped, isUnwatched) = lock.withLock { (self.isStopped, self.isUnwatched) }
        guard !isStopped else { return }
        let isOwn: Bool
        switch socket.look() {
        case .own where !isUnwatched: return lock.withLock { lastFault = nil }
        case .own: isOwn = true
        case .unknown: return
        case .nothing, .foreign: isOwn = false
        }
        do {
            if !isOwn {
                // Peers may still wait to be accepted at the old socket.
                acceptSome(from: socket.socket)
                try socket.recreate()
                lock.withLock { self.isUnwatched = true }
            }
            try listen()
            lock.withLock { lastFault = nil }
            note(.recreated)
        } catch {
            let fault = SocketReport.Matter.amiss("\(error)")
            let isNews = lock.withLock {
                defer { lastFault = fault }
                return lastFault != fault
            }
            if isNews { note(fault) }
        }
    }

    // MARK: - Reports

    package func note(_ matter: SocketReport.Matter) {
        let isFirst = lock.withLock {
            unreported[matter, default: 0] += 1
            defer { isReportSet = true }
            return !isReportSet
        }
        guard isFirst else { return }
        poller.schedule(after: limits.reportInterval) { [weak self] in
            guard let self else { return }
            let matters = lock.withLock {
                isReportSet = false
                defer { unreported = [:] }
                return unreported
            }
            for (matter, count) in matters { report(SocketReport(matter: matter, count: count, path: socket.path)) }
        }
    }
}
