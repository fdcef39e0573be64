import CNATS
import Synchronization

/// A connection to a broker that comes back by itself for ever; it also begins while there is no broker.
///
/// Any thread may call it. What it calls runs on threads of the client and must not wait.
final class NATSConnection: Sendable {
    enum Change: Sendable {
        case connected
        case disconnected
        /// The client has given up, and why: the broker refuses these credentials.
        case closed(String)
    }

    /// How long a request waits for its answer, in milliseconds.
    private static let answerTime: Int64 = 2_000
    /// Between two attempts to connect, in milliseconds.
    private static let reconnectTime: Int64 = 250

    /// The objects of the client for one attempt to connect.
    // Sendable: they are thread-safe, and live until the process ends, for a callback may run until then.
    struct Client: @unchecked Sendable {
        let connection: OpaquePointer
        let jetStream: OpaquePointer
    }

    private struct State {
        var client: Client
        var subscriptions: [(subject: String, callback: MessageCallback)] = []
        var isClosed = false
    }

    private struct Settings {
        let url: String
        let credentials: String?
        let name: String
    }

    /// Begins the subjects of all answers to this process.
    let inbox: String
    private let settings: Settings
    private let changes: Callback<Change>
    private let state: Mutex<State>

    var client: OpaquePointer { state.withLock(\.client).connection }
    var jetStream: OpaquePointer { state.withLock(\.client).jetStream }

    /// - Parameters:
    ///   - credentials: the path of a file with a user's JWT and NKey seed.
    ///   - onChange: is called from a thread of the client, in order.
    init(
        url: String,
        credentials: String?,
        name: String,
        onChange: @escaping @Sendable (Change) -> Void
    ) throws(NATSError) {
        settings = Settings(url: url, credentials: credentials, name: name)
        changes = Callback(onChange)
        let (client, isConnected) = try Self.connect(settings, changes, waits: true)
        state = Mutex(State(client: client))
        var text: UnsafeMutablePointer<CChar>?
        try NATSError.check(natsInbox_Create(&text))
        inbox = text.map { String(cString: $0) } ?? ""
        natsInbox_Destroy(text)
        // The client tells of a connection only if it came later.
        if isConnected { onChange(.connected) }
    }

    /// Tries once to connect anew, in place of a client that has given up before its first connection.
    ///
    /// libnats 3.4 waits for a broker that is away. But it forgets the address, and gives up, if its first connection
    /// ends while it begins: a broker is killed at that moment, or a proxy has no broker behind it.
    ///
    /// - Returns: Whether there is nothing more to try.
    /// - Throws: if the broker refuses this user.
    func renew() throws(NATSError) -> Bool {
        guard !state.withLock(\.isClosed) else { return true }
        do throws(NATSError) {
            let (client, _) = try Self.connect(settings, changes, waits: false)
            let subscriptions = state.withLock { state in
                state.client = client
                return state.subscriptions
            }
            for (subject, callback) in subscriptions { try Self.subscribe(client, to: subject, callback) }
        } catch {
            if error.status == NATS_CONNECTION_AUTH_FAILED { throw error }
            return false
        }
        changes.call(.connected)
        return true
    }

    /// - Parameter waits: whether the client waits for a broker that is away.
    private static func connect(
        _ settings: Settings,
        _ changes: Callback<Change>,
        waits: Bool
    ) throws(NATSError) -> (Client, isConnected: Bool) {
        var created: OpaquePointer?
        try NATSError.check(natsOptions_Create(&created))
        defer { natsOptions_Destroy(created) }
        let closure = Unmanaged.passRetained(changes).toOpaque()
        let connected: natsConnectionHandler = { _, closure in Callback<Change>.call(closure, .connected) }
        try NATSError.check(set(servers: settings.url.split(separator: ","), of: created))
        try NATSError.check(natsOptions_SetName(created, settings.name))
        if let credentials = settings.credentials {
            try NATSError.check(natsOptions_SetUserCredentialsFromFiles(created, credentials, nil))
        }
        try NATSError.check(natsOptions_SetMaxReconnect(created, -1))
        try NATSError.check(natsOptions_SetReconnectWait(created, reconnectTime))
        // A request whose connection is gone gets no answer.
        try NATSError.check(natsOptions_SetFailRequestsOnDisconnect(created, true))
        if waits { try NATSError.check(natsOptions_SetRetryOnFailedConnect(created, true, connected, closure)) }
        try NATSError.check(natsOptions_SetReconnectedCB(created, connected, closure))
        try NATSError.check(
            natsOptions_SetDisconnectedCB(created, { Callback<Change>.call($1, .disconnected) }, closure)
        )
        try NATSError.check(
            natsOptions_SetClosedCB(
                created,
                { client, closure in
                    var text: UnsafePointer<CChar>?
                    natsConnection_GetLastError(client, &text)
                    Callback<Change>.call(closure, .closed(text.map { String(cString: $0) } ?? "connection closed"))
                },
                closure
            )
        )
        var connection: OpaquePointer?
        let status = natsConnection_Connect(&connection, created)
        if status != NATS_NOT_YET_CONNECTED { try NATSError.check(status) }
        guard let connection else { throw NATSError(status: status, code: 0, description: "no connection") }
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = answerTime
        var context: OpaquePointer?
        try NATSError.check(natsConnection_JetStream(&context, connection, &options))
        guard let context else { throw NATSError(status: status, code: 0, description: "no JetStream") }
        return (Client(connection: connection, jetStream: context), status == NATS_OK)
    }

    /// Names the broker's servers; the client keeps its own copy.
    private static func set(servers: [Substring], of options: OpaquePointer?) -> natsStatus {
        let texts = servers.map { Array($0.utf8) + [0] }
        return texts.flatMap(\.self).withUnsafeBytes { bytes in
            var places: [UnsafePointer<CChar>?] = []
            var start = 0
            for text in texts {
                places.append(bytes.baseAddress.map { ($0 + start).assumingMemoryBound(to: CChar.self) })
                start += text.count
            }
            let count = Int32(clamping: places.count)
            return places.withUnsafeMutableBufferPointer { natsOptions_SetServers(options, $0.baseAddress, count) }
        }
    }

    /// Closes the connection; nothing is called afterwards but for the change.
    func close() {
        state.withLock { $0.isClosed = true }
        natsConnection_Close(client)
    }

    /// Calls `handler` for each message of the subject, in order, from one thread of the client, until the end of the
    /// connection.
    func subscribe(
        to subject: String,
        _ handler: @escaping @Sendable (borrowing NATSMessage) -> Void
    ) throws(NATSError) {
        let callback = MessageCallback(handler)
        let client = state.withLock { state in
            state.subscriptions.append((subject, callback))
            return state.client
        }
        do throws(NATSError) {
            try Self.subscribe(client, to: subject, callback)
        } catch  where error.status == NATS_CONNECTION_CLOSED {
            // The client has given up; the next one gets the subscription.
        }
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
    }

    /// Publishes a message, which is written a millisecond later, or with the next ``flush()``.
    func publish(
        to subject: String,
        reply: String? = nil,
        headers: [(name: String, value: String)] = [],
        _ payload: [UInt8]
    ) throws(NATSError) {
        guard let length = Int32(exactly: payload.count) else {
            throw NATSError(status: NATS_MAX_PAYLOAD, code: 0, description: "the payload is too large")
        }
        var message: OpaquePointer?
        try NATSError.check(
            payload.withUnsafeBytes {
                natsMsg_Create(&message, subject, reply, $0.baseAddress?.assumingMemoryBound(to: CChar.self), length)
            }
        )
        defer { natsMsg_Destroy(message) }
        for field in headers { try NATSError.check(natsMsgHeader_Set(message, field.name, field.value)) }
        try NATSError.check(natsConnection_PublishMsg(client, message))
    }

    /// Writes at once what was published, and waits a millisecond at most until the broker has read it.
    ///
    /// The client would wait a millisecond for more to write, or write each message by itself. This is its only call
    /// that writes several messages together and at once.
    func flush() {
        // If the broker has not read it yet, or is away, that shows elsewhere.
        natsConnection_FlushTimeout(client, 1)
    }

    /// What came of a question.
    enum Answer {
        case payload([UInt8])
        /// The broker says that no client listens, or none has answered in time.
        case none
        /// The question or its answer may be lost: the connection was cut, for example.
        case unknown
    }

    /// Asks once; waits for the answer.
    func answer(to subject: String) -> Answer {
        var reply: OpaquePointer?
        switch natsConnection_Request(&reply, client, subject, nil, 0, Self.answerTime) {
        case NATS_OK: return reply.map { .payload(NATSMessage($0).payload) } ?? .unknown
        case NATS_NO_RESPONDERS, NATS_TIMEOUT: return .none
        default: return .unknown
        }
    }
}

/// What the client calls with a value, kept behind its `void *`.
private final class Callback<Value>: Sendable {
    private let handler: @Sendable (Value) -> Void

    init(_ handler: @escaping @Sendable (Value) -> Void) { self.handler = handler }

    func call(_ value: Value) { handler(value) }

    static func call(_ closure: UnsafeMutableRawPointer?, _ value: Value) {
        guard let closure else { return }
        Unmanaged<Callback<Value>>.fromOpaque(closure).takeUnretainedValue().handler(value)
    }
}

/// The same for messages, which are not copied.
private final class MessageCallback: Sendable {
    let handler: @Sendable (borrowing NATSMessage) -> Void

    init(_ handler: @escaping @Sendable (borrowing NATSMessage) -> Void) { self.handler = handler }
}
