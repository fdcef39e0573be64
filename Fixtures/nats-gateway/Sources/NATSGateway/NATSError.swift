import CNATS

/// A call of the NATS client that failed.
public struct NATSError: Error, CustomStringConvertible {
    let status: natsStatus
    /// JetStream's own code; 0 if the call failed before JetStream answered.
    let code: UInt32
    /// What failed, in words.
    public let description: String

    /// Whether the next attempt to connect may succeed: no broker is there, or it takes no more clients, for example.
    ///
    /// It cannot if the broker refuses the user, or if the client cannot use an address.
    var isPassing: Bool { status != NATS_CONNECTION_AUTH_FAILED && status != NATS_INVALID_ARG }

    /// Throws if a call has not succeeded.
    static func check(_ status: natsStatus, _ code: jsErrCode = jsErrCode(rawValue: 0)) throws(NATSError) {
        guard status != NATS_OK else { return }
        if code == JSStreamNotFoundErr {
            throw NATSError(status: status, code: code.rawValue, description: "there is no such stream yet")
        }
        var text = natsStatus_GetText(status).map { String(cString: $0) } ?? "unknown failure"
        var last = NATS_OK
        // The client keeps the details of a thread's last failure.
        if let detail = nats_GetLastError(&last), last == status, detail.pointee != 0 {
            text += ": \(String(cString: detail))"
        }
        if code.rawValue != 0 { text += " (\(code.rawValue))" }
        throw NATSError(status: status, code: code.rawValue, description: text)
    }
}
