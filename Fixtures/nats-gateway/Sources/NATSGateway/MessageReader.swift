import CNATS
import Dispatch
import Synchronization

/// Reads the messages of some subjects over a connection of its own, and calls their handlers on the thread that reads.
///
/// Over a ``NATSConnection`` the client reads on one thread and wakes up another one for each message. Here the process
/// is the client's event loop, so a message that comes after a pause waits for one thread only.
///
/// The reader connects again for as long as it has to. Each time it begins with a new connection of the client: a
/// message that the old one has read and no handler has is lost, as with any cut connection.
final class MessageReader: Sendable {
    typealias Handler = @Sendable (borrowing NATSMessage) -> Void

    /// What is called for a subject.
    private struct Target {
        let subject: String
        let handler: Handler
        let pause: @Sendable () -> Void
        /// Whether messages have come since the last pause.
        var isBusy = false

        /// Calls for a pause if messages have come since the last one.
        mutating func rest() {
            if isBusy { pause() }
            isBusy = false
        }
    }

    /// A connection of the client.
    // Sendable: it is thread-safe, and freed by the thread that reads once the state no longer has it.
    private struct Connection: @unchecked Sendable {
        let object: OpaquePointer
    }

    private struct State {
        var targets: [Target] = []
        /// The connection that is read now.
        var connection: Connection?
        var isOpen = false
        var isClosed = false
    }

    /// After this many milliseconds without a message the reader calls for a pause.
    private static let pause = 1
    /// How many messages may wait to be freed.
    private static let mostHandled = 64

    private let settings: NATSSettings
    private let state = Mutex(State())
    /// Held while the client reads from its socket, and while it is made to close the socket: it would free the
    /// socket's encryption in the middle of a read.
    private let reading = Mutex(())
    private let loop = ReaderLoop()

    init(_ settings: NATSSettings) { self.settings = settings }

    /// Calls `handler` for each message of the subject, in order; called before ``open(onChange:)``.
    ///
    /// The handler may wait, for an answer over another connection too. Meanwhile no other message is read.
    ///
    /// - Parameter pause: is called on the same thread after messages have come: once no message has come for a
    ///   millisecond, or only messages of other subjects have come, or the connection has ended.
    func subscribe(to subject: String, _ handler: @escaping Handler, pause: @escaping @Sendable () -> Void = {}) {
        state.withLock { $0.targets.append(Target(subject: subject, handler: handler, pause: pause)) }
    }

    /// Connects and begins to read, unless this has been called before.
    ///
    /// - Parameter onChange: is called in order, from the thread that reads, until ``close()``; with the reason for
    ///   each attempt that fails.
    func open(onChange: @escaping @Sendable (ConnectionChange) -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        guard isFirst else { return }
        // The queue's only block runs until the end: it is this reader's thread.
        DispatchQueue(label: "nats-gateway.reader").async { [self] in
            run { if !isClosed { onChange($0) } }
        }
    }

    /// Ends the connection; no change is reported afterwards.
    ///
    /// A handler that runs goes on.
    func close() {
        state.withLock { state in
            state.isClosed = true
            // With the lock held, the thread that reads cannot free the connection.
            if let connection = state.connection { reading.withLock { _ in natsConnection_Close(connection.object) } }
        }
        loop.wake()
    }

    private var isClosed: Bool { state.withLock(\.isClosed) }

    private func run(telling tell: (ConnectionChange) -> Void) {
        while !isClosed {
            do throws(NATSError) {
                try serve(try connect(), telling: tell)
            } catch  where error.isPassing {
                tell(.failed("\(error)"))
            } catch {
                return tell(.closed("\(error)"))
            }
            // The connection's end has woken this thread, too. `close` sets its mark before it does.
            loop.silence()
            if !isClosed { loop.wait(atMost: NATSSettings.reconnectTime) }
        }
    }

    private func connect() throws(NATSError) -> OpaquePointer {
        let options = try settings.makeOptions(named: "\(settings.name), reading", writesAtOnce: true)
        defer { natsOptions_Destroy(options) }
        // A connection that the client connects anew may be read by one thread while another one begins it.
        try NATSError.check(natsOptions_SetAllowReconnect(options, false))
        try loop.attach(to: options)
        var connection: OpaquePointer?
        try NATSError.check(natsConnection_Connect(&connection, options))
        guard let connection else { preconditionFailure("the client has connected without a connection") }
        return connection
    }

    /// Reads until the end of the connection, which this frees.
    private func serve(_ connection: OpaquePointer, telling tell: (ConnectionChange) -> Void) throws(NATSError) {
        var targets = state.withLock(\.targets)
        // In the order of the targets.
        var subscriptions: [OpaquePointer] = []
        // The messages are freed in the pause, because the client wakes up a thread to free a message. The host's
        // thread, which has an event to handle, would have to wait for that.
        var handled: [OpaquePointer] = []
        func freeHandled() {
            for message in handled { natsMsg_Destroy(message) }
            handled.removeAll(keepingCapacity: true)
        }
        let isClosed = state.withLock { state in
            state.connection = Connection(object: connection)
            return state.isClosed
        }
        defer {
            state.withLock { $0.connection = nil }
            freeHandled()
            for subscription in subscriptions { natsSubscription_Destroy(subscription) }
            natsConnection_Destroy(connection)
            for index in targets.indices { targets[index].rest() }
            tell(.disconnected)
        }
        guard !isClosed else { return }
        for target in targets {
            var subscription: OpaquePointer?
            try NATSError.check(natsConnection_SubscribeSync(&subscription, connection, target.subject))
            guard let subscription else { preconditionFailure("the client has subscribed without a subscription") }
            subscriptions.append(subscription)
        }
        tell(.connected)
        while loop.isAttached, !self.isClosed {
            if loop.isWriting { natsConnection_ProcessWriteEvent(connection) }
            switch loop.waitUntilReadable(atMost: targets.contains(where: \.isBusy) ? Self.pause : nil) {
            case .readable:
                reading.withLock { _ in natsConnection_ProcessReadEvent(connection) }
                for (index, subscription) in subscriptions.enumerated() {
                    var hasMessages = false
                    Self.takeMessages(of: subscription) { message in
                        hasMessages = true
                        targets[index].handler(message)
                        handled.append(message.release())
                        if handled.count >= Self.mostHandled { freeHandled() }
                    }
                    // A subject must not wait for the pause of another one, whose messages may come without an end.
                    if hasMessages { targets[index].isBusy = true } else { targets[index].rest() }
                }
            case .woken: break
            case .timeOver:
                for index in targets.indices { targets[index].rest() }
                freeHandled()
            }
        }
    }

    private static func takeMessages(of subscription: OpaquePointer, _ handle: (consuming NATSMessage) -> Void) {
        var count: Int32 = 0
        // Asking for a message that is not there takes far longer, because the client writes an error's text.
        while natsSubscription_GetPending(subscription, &count, nil) == NATS_OK, count > 0 {
            var message: OpaquePointer?
            guard natsSubscription_NextMsg(&message, subscription, 0) == NATS_OK, let message else { return }
            handle(NATSMessage(message))
        }
    }
}
