import CNATS

/// A message that the client has received; this value owns and frees it.
struct NATSMessage: ~Copyable {
    private let message: OpaquePointer

    /// Takes ownership of a message.
    init(_ message: OpaquePointer) { self.message = message }

    deinit { natsMsg_Destroy(message) }

    /// Gives up the ownership: the caller has to free the message.
    consuming func release() -> OpaquePointer {
        let message = message
        discard self
        return message
    }

    var subject: String { natsMsg_GetSubject(message).map { String(cString: $0) } ?? "" }

    var reply: String { natsMsg_GetReply(message).map { String(cString: $0) } ?? "" }

    var isNoResponders: Bool { natsMsg_IsNoResponders(message) }

    var payload: [UInt8] {
        guard let data = natsMsg_GetData(message) else { return [] }
        return [UInt8](UnsafeRawBufferPointer(start: data, count: Int(natsMsg_GetDataLength(message))))
    }

    /// The first value of a header field; nil if there is none, or it is no text.
    func field(_ name: StaticString) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(message, name.cString, &value) == NATS_OK, let value else { return nil }
        return String(validatingCString: value)
    }
}
