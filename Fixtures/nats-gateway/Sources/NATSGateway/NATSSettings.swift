import CNATS

/// How this process connects to a broker.
struct NATSSettings: Sendable {
    /// The time between two attempts to connect, in milliseconds.
    static let reconnectTime = 250
    /// The usual ``answerTime``.
    static let usualAnswerTime: Int64 = 2_000

    /// The broker's address, or several with commas between them.
    let url: String
    /// The path of a file with a user's JWT and NKey seed.
    let credentials: String?
    /// The name by which an operator finds the connection at the broker.
    let name: String
    /// How long an attempt to connect, and a request, waits for the broker's answer, in milliseconds.
    let answerTime: Int64

    /// Makes the client's options, which the caller has to free.
    ///
    /// - Parameters:
    ///   - name: the connection's name.
    ///   - writesAtOnce: whether each message is written by itself and at once. Otherwise the client waits a
    ///     millisecond, or until a flush, for more messages to write together.
    func makeOptions(named name: String, writesAtOnce: Bool) throws(NATSError) -> OpaquePointer? {
        var options: OpaquePointer?
        try NATSError.check(natsOptions_Create(&options))
        do throws(NATSError) {
            try NATSError.check(setServers(of: options))
            try NATSError.check(natsOptions_SetName(options, name))
            if let credentials {
                try NATSError.check(natsOptions_SetUserCredentialsFromFiles(options, credentials, nil))
            }
            try NATSError.check(natsOptions_SetSendAsap(options, writesAtOnce))
            try NATSError.check(natsOptions_SetTimeout(options, answerTime))
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
        return options
    }

    /// Names the broker's servers; the client keeps its own copy.
    private func setServers(of options: OpaquePointer?) -> natsStatus {
        let texts = url.split(separator: ",").map { Array($0.utf8) + [0] }
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
}
