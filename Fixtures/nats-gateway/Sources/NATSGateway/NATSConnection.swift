import CNATS
import Dispatch
import Synchronization

/// A connection to a broker: reconnects by itself for ever, and may be opened while there is no broker.
///
/// Its methods may be called on any thread. It calls handlers of messages on threads of the client.
final class NATSConnection: Sendable {
    /// How many messages may wait for a handler.
    private static let mostPending: Int32 = 1_024

    /// The objects of the client.
    // Sendable: they are thread-safe, and live until the process ends, because a callback may run until then.
    private struct Client: @unchecked Sendable {
        let connection: OpaquePointer
        let jetStream: OpaquePointer
    }

    /// A message that was published.
    // Sendable: only its release still uses it.
    private struct Published: @unchecked Sendable {
        let message: OpaquePointer
    }

    /// A change, and the connection of which the client reports the change; 0 if this object reports it.
    private struct News {
        let change: ConnectionChange
        let connection: UInt

        init(_ change: ConnectionChange, of connection: OpaquePointer? = nil) {
            self.change = change
            self.connection = UInt(bitPattern: connection)
        }
    }

    private struct State {
        /// Nil before the first connection; the client's calls fail without it.
        var client: Client?
        /// The connections that were closed because they cannot be used; their ends are no changes.
        var givenUp: Set<UInt> = []
        var subscriptions: [(subject: String, callback: MessageCallback)] = []
        var isClosed = false
    }

    /// The beginning of the subjects of all answers to this process.
    let inbox: String
    private let settings: NATSSettings
    private let writesAtOnce: Bool
    private let state = Mutex(State())
    /// The messages that the next ``flush()`` writes.
    ///
    /// They are released only then, because the client wakes up a thread to free a message.
    private let published = Mutex<[Published]>([])

    var client: OpaquePointer? { state.withLock(\.client)?.connection }
    var jetStream: OpaquePointer? { state.withLock(\.client)?.jetStream }

    /// Makes a connection, which is still to be opened.
    ///
    /// - Parameter writesAtOnce: whether each message is written by itself and at once. Otherwise the client waits a
    ///   millisecond, or until ``flush()``, for more messages to write together.
    init(_ settings: NATSSettings, writesAtOnce: Bool) throws(NATSError) {
        self.settings = settings
        self.writesAtOnce = writesAtOnce
        var text: UnsafeMutablePointer<CChar>?
        try NATSError.check(natsInbox_Create(&text))
        inbox = text.map { String(cString: $0) } ?? ""
        natsInbox_Destroy(text)
    }

    /// Tries to connect until there is a connection, on a queue that may wait for the answer time of each address.
    ///
    /// libnats 3.4 can wait for a broker that is away, too. But it forgets the address, and gives up, if its first
    /// connection ends as it begins, because a broker is killed at that moment or a proxy has no broker behind it.
    ///
    /// - Parameter onChange: is called from a thread of the client or from the queue, in order, until ``close()``.
    func open(on queue: DispatchQueue, onChange: @escaping @Sendable (ConnectionChange) -> Void) {
        let changes = Callback<News> { [self] in if isTold($0) { onChange($0.change) } }
        queue.async { [self] in connect(telling: changes, on: queue, after: nil) }
    }

    private var isClosed: Bool { state.withLock(\.isClosed) }

    private func isTold(_ news: News) -> Bool {
        let connection = news.connection
        return state.withLock { !$0.isClosed && !$0.givenUp.contains(connection) }
    }

    /// - Parameter trouble: why the last attempt failed.
    private func connect(telling changes: Callback<News>, on queue: DispatchQueue, after trouble: String?) {
        guard !isClosed else { return }
        do throws(NATSError) {
            try begin(try connect(telling: changes))
            changes.call(News(.connected))
        } catch  where error.isPassing {
            let reason = "\(error)"
            if reason != trouble { changes.call(News(.failed(reason))) }
            queue.asyncAfter(deadline: .now() + .milliseconds(NATSSettings.reconnectTime)) { [self] in
                connect(telling: changes, on: queue, after: reason)
            }
        } catch {
            changes.call(News(.closed("\(error)")))
        }
    }

    /// Closes a connection that cannot be used.
    ///
    /// Otherwise the client would connect it again for ever, beside the connections of later attempts.
    private func giveUp(_ connection: OpaquePointer?) {
        let identity = UInt(bitPattern: connection)
        state.withLock { state in
            state.client = nil
            state.givenUp.insert(identity)
        }
        natsConnection_Close(connection)
    }

    /// Takes a connected client into use, or closes it if it cannot subscribe, or if this connection has been closed
    /// meanwhile.
    private func begin(_ client: Client) throws(NATSError) {
        let subscriptions = state.withLock { state -> [(subject: String, callback: MessageCallback)]? in
            guard !state.isClosed else { return nil }
            state.client = client
            return state.subscriptions
        }
        guard let subscriptions else { return natsConnection_Close(client.connection) }
        do throws(NATSError) {
            for (subject, callback) in subscriptions { try Self.subscribe(client, to: subject, callback) }
        } catch {
            giveUp(client.connection)
            throw error
        }
    }

    private func connect(telling changes: Callback<News>) throws(NATSError) -> Client {
        let created = try settings.makeOptions(named: settings.name, writesAtOnce: writesAtOnce)
        defer { natsOptions_Destroy(created) }
        let closure = changes.closure
        try NATSError.check(natsOptions_SetMaxReconnect(created, -1))
        try NATSError.check(natsOptions_SetReconnectWait(created, Int64(NATSSettings.reconnectTime)))
        // A request whose connection is gone gets no answer.
        try NATSError.check(natsOptions_SetFailRequestsOnDisconnect(created, true))
        try NATSError.check(
            natsOptions_SetReconnectedCB(created, { Callback<News>.call($1, News(.connected, of: $0)) }, closure)
        )
        try NATSError.check(
            natsOptions_SetDisconnectedCB(created, { Callback<News>.call($1, News(.disconnected, of: $0)) }, closure)
        )
        try NATSError.check(
            natsOptions_SetClosedCB(
                created,
                { client, closure in
                    var text: UnsafePointer<CChar>?
                    natsConnection_GetLastError(client, &text)
                    let why = text.map { String(cString: $0) } ?? "connection closed"
                    Callback<News>.call(closure, News(.closed(why), of: client))
                },
                closure
            )
        )
        var connection: OpaquePointer?
        try NATSError.check(natsConnection_Connect(&connection, created))
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = settings.answerTime
        var context: OpaquePointer?
        do throws(NATSError) {
            try NATSError.check(natsConnection_JetStream(&context, connection, &options))
        } catch {
            giveUp(connection)
            throw error
        }
        guard let connection, let context else {
            // The client sets both if it succeeds.
            preconditionFailure("the client has connected without a connection")
        }
        return Client(connection: connection, jetStream: context)
    }

    /// Closes the connection; no change is reported afterwards.
    func close() {
        state.withLock { $0.isClosed = true }
        natsConnection_Close(client)
    }

    /// Calls `handler` for each message of the subject, in order, from one thread of the client, until the end of the
    /// connection.
    ///
    /// The handler may wait, as that thread has no other subject.
    func subscribe(
        to subject: String,
        _ handler: @escaping @Sendable (borrowing NATSMessage) -> Void
    ) throws(NATSError) {
        let callback = MessageCallback(handler)
        let client = state.withLock { state in
            state.subscriptions.append((subject, callback))
            return state.client
        }
        // Without a client, `begin` subscribes later.
        if let client { try Self.subscribe(client, to: subject, callback) }
    }

    private static func subscribe(
        _ client: Client,
        to subject: String,
        _ callback: MessageCallback
    ) throws(NATSError) {
        let closure = Unmanaged.passRetained(callback).toOpaque()
        var subscription: OpaquePointer?
        try NATSError.check(
            natsConnection_Subscribe(
                &subscription,
                client.connection,
                subject,
                { _, _, received, closure in
                    guard let received, let closure else { return }
                    let message = NATSMessage(received)
                    Unmanaged<MessageCallback>.fromOpaque(closure).takeUnretainedValue().handler(message)
                },
                closure
            )
        )
        // At most a window of messages waits, and heartbeats. Without this call the client drops what exceeds 64 MiB.
        try NATSError.check(natsSubscription_SetPendingLimits(subscription, mostPending, -1))
    }

    /// Publishes a message, which is written a millisecond later, or with the next ``flush()``, which has to follow.
    func publish(
        to subject: String,
        reply: String,
        headers: [HeaderField],
        _ payload: [UInt8]
    ) throws(NATSError) {
        let message = try Self.message(to: subject, reply: reply, payload)
        defer { published.withLock { $0.append(Published(message: message)) } }
        try Self.set(headers, of: message)
        try NATSError.check(natsConnection_PublishMsg(client, message))
    }

    /// Publishes a message, writes it at once, and waits for its answer; nil if the answer may be lost.
    func request(
        to subject: String,
        headers: [HeaderField],
        _ payload: [UInt8]
    ) throws(NATSError) -> [UInt8]? {
        let message = try Self.message(to: subject, reply: nil, payload)
        defer { natsMsg_Destroy(message) }
        try Self.set(headers, of: message)
        var reply: OpaquePointer?
        let status = natsConnection_RequestMsg(&reply, client, message, settings.answerTime)
        switch status {
        case NATS_TIMEOUT, NATS_CONNECTION_DISCONNECTED: return nil
        default: try NATSError.check(status)
        }
        return reply.map { NATSMessage($0).payload }
    }

    /// A message without headers, which the caller has to free.
    private static func message(
        to subject: String,
        reply: String?,
        _ payload: [UInt8]
    ) throws(NATSError) -> OpaquePointer {
        guard let length = Int32(exactly: payload.count) else {
            throw NATSError(status: NATS_MAX_PAYLOAD, code: 0, description: "the payload is too large")
        }
        var message: OpaquePointer?
        try NATSError.check(
            payload.withUnsafeBytes {
                natsMsg_Create(&message, subject, reply, $0.baseAddress?.assumingMemoryBound(to: CChar.self), length)
            }
        )
        guard let message else {
            // The client sets it if it succeeds.
            preconditionFailure("the client has made no message")
        }
        return message
    }

    private static func set(_ headers: [HeaderField], of message: OpaquePointer) throws(NATSError) {
        for field in headers {
            try NATSError.check(field.value.withCString { natsMsgHeader_Set(message, field.name.cString, $0) })
        }
    }

    /// Publishes a text without headers, which needs no object that a thread of the client has to free.
    func publish(to subject: String, text: String) throws(NATSError) {
        try NATSError.check(natsConnection_PublishString(client, subject, text))
    }

    /// Writes at once what was published, and waits a millisecond at most until the broker has read it.
    ///
    /// The client would wait a millisecond for more to write, or write each message by itself. This is its only call
    /// that writes several messages together and at once, and it asks the broker for a `PONG`.
    func flush() {
        // The result is not checked: if the broker is slow or away, the caller notices the missing answers.
        natsConnection_FlushTimeout(client, 1)
        let written = published.withLock { published in
            defer { published = [] }
            return published
        }
        for message in written { natsMsg_Destroy(message.message) }
    }

    /// The result of a question.
    enum Answer {
        case payload([UInt8])
        /// The broker says that no client listens, or none has answered in time.
        case none
        /// The question or its answer may be lost: the connection was cut, for example.
        case unknown
    }

    /// Asks a question once, and waits for the answer.
    func answer(to subject: String) -> Answer {
        var reply: OpaquePointer?
        switch natsConnection_Request(&reply, client, subject, nil, 0, settings.answerTime) {
        case NATS_OK: return reply.map { .payload(NATSMessage($0).payload) } ?? .unknown
        case NATS_NO_RESPONDERS, NATS_TIMEOUT: return .none
        default: return .unknown
        }
    }
}

/// A handler that the client calls with a value; the client holds it as a `void *`.
private final class Callback<Value>: Sendable {
    private let handler: @Sendable (Value) -> Void

    init(_ handler: @escaping @Sendable (Value) -> Void) { self.handler = handler }

    /// For the client, which may use it until the process ends; never released.
    var closure: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    func call(_ value: Value) { handler(value) }

    static func call(_ closure: UnsafeMutableRawPointer?, _ value: Value) {
        guard let closure else { return }
        Unmanaged<Callback<Value>>.fromOpaque(closure).takeUnretainedValue().handler(value)
    }
}

/// A handler of messages, which are borrowed and not copied; the client holds it, too.
private final class MessageCallback: Sendable {
    let handler: @Sendable (borrowing NATSMessage) -> Void

    init(_ handler: @escaping @Sendable (borrowing NATSMessage) -> Void) { self.handler = handler }
}
