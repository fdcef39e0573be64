import CNATS

/// A message that the client has received; this value owns and frees it.
struct NATSMessage: ~Copyable {
    private let message: OpaquePointer
    private let subscription: OpaquePointer?

    /// Takes ownership of a message.
    ///
    /// - Parameter subscription: the one that has brought the message; nil for an answer.
    init(_ message: OpaquePointer, of subscription: OpaquePointer? = nil) {
        self.message = message
        self.subscription = subscription
    }

    deinit { natsMsg_Destroy(message) }

    var subject: String { natsMsg_GetSubject(message).map { String(cString: $0) } ?? "" }

    var reply: String { natsMsg_GetReply(message).map { String(cString: $0) } ?? "" }

    var isNoResponders: Bool { natsMsg_IsNoResponders(message) }

    /// Whether the subscription has another message, which waits for this one's handler.
    var hasSuccessor: Bool {
        var count: Int32 = 0
        return natsSubscription_GetPending(subscription, &count, nil) == NATS_OK && count > 0
    }

    var payload: [UInt8] {
        guard let data = natsMsg_GetData(message) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message))))
    }

    /// The first value of a header field; nil if there is none, or it is no text.
    func field(_ key: String) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(message, key, &value) == NATS_OK, let value else { return nil }
        return String(validatingCString: value)
    }
}
