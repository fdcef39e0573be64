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

    // The client's objects are thread-safe, and these references never change: they live until the process ends, for
    // a callback may run until then.
    nonisolated(unsafe) let client: OpaquePointer
    nonisolated(unsafe) let jetStream: OpaquePointer
    /// Begins the subjects of all answers to this process.
    let inbox: String

    /// - Parameters:
    ///   - credentials: the path of a file with a user's JWT and NKey seed.
    ///   - onChange: is called from a thread of the client, in order.
    init(
        url: String,
        credentials: String?,
        name: String,
        onChange: @escaping @Sendable (Change) -> Void
    ) throws(NATSError) {
        var created: OpaquePointer?
        try NATSError.check(natsOptions_Create(&created))
        defer { natsOptions_Destroy(created) }
        let closure = Unmanaged.passRetained(Callback(onChange)).toOpaque()
        let connected: natsConnectionHandler = { _, closure in Callback<Change>.call(closure, .connected) }
        try NATSError.check(natsOptions_SetURL(created, url))
        try NATSError.check(natsOptions_SetName(created, name))
        if let credentials {
            try NATSError.check(natsOptions_SetUserCredentialsFromFiles(created, credentials, nil))
        }
        try NATSError.check(natsOptions_SetMaxReconnect(created, -1))
        try NATSError.check(natsOptions_SetReconnectWait(created, Self.reconnectTime))
        // The client would wait a millisecond for more to write.
        try NATSError.check(natsOptions_SetSendAsap(created, true))
        try NATSError.check(natsOptions_SetRetryOnFailedConnect(created, true, connected, closure))
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
        client = connection
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = Self.answerTime
        var context: OpaquePointer?
        try NATSError.check(natsConnection_JetStream(&context, connection, &options))
        guard let context else { throw NATSError(status: status, code: 0, description: "no JetStream") }
        jetStream = context
        var text: UnsafeMutablePointer<CChar>?
        try NATSError.check(natsInbox_Create(&text))
        inbox = text.map { String(cString: $0) } ?? ""
        natsInbox_Destroy(text)
        // The client tells of a connection only if it came later.
        if status == NATS_OK { onChange(.connected) }
    }

    /// Closes the connection; nothing is called afterwards but for the change.
    func close() {
        natsConnection_Close(client)
    }

    /// Calls `handler` for each message of the subject, in order, from one thread of the client, until the end of the
    /// connection.
    func subscribe(
        to subject: String,
        _ handler: @escaping @Sendable (borrowing NATSMessage) -> Void
    ) throws(NATSError) {
        let closure = Unmanaged.passRetained(MessageCallback(handler)).toOpaque()
        var subscription: OpaquePointer?
        try NATSError.check(
            natsConnection_Subscribe(
                &subscription,
                client,
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

    /// Asks once; waits for the answer.
    ///
    /// - Returns: The answer's payload; nil if there was none.
    func answer(to subject: String) -> [UInt8]? {
        var reply: OpaquePointer?
        guard natsConnection_Request(&reply, client, subject, nil, 0, Self.answerTime) == NATS_OK, let reply else {
            return nil
        }
        return NATSMessage(reply).payload
    }
}

/// What the client calls with a value, kept behind its `void *`.
private final class Callback<Value>: Sendable {
    private let handler: @Sendable (Value) -> Void

    init(_ handler: @escaping @Sendable (Value) -> Void) { self.handler = handler }

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
