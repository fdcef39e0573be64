/// The host's half of the handshake: judges the first frame of a worker, or of a client.
package enum HostHandshake {
    /// What to do about a hello.
    package enum Outcome: Sendable, Hashable {
        case accept(version: UInt64)
        case reject(Reject)
    }

    /// - Parameter cookie: the cookie that the worker's process was started with; nil for a client, which the host has
    ///   not started.
    package static func helloReceived(_ hello: Hello, expecting cookie: String?) -> Outcome {
        guard let version = ProtocolVersion.common(hello.versions) else {
            let own = ProtocolVersion.supported
            return .reject(
                Reject(
                    reason: Reject.Reason.version.rawValue,
                    text: """
                        the \(cookie == nil ? "client" : "worker") speaks protocol version \(describe(hello.versions)) \
                        (\(hello.library.shortened(toScalars: 64))), the host speaks version \(describe(own))
                        """
                )
            )
        }
        guard cookie == nil || hello.cookie == cookie else {
            return .reject(
                Reject(
                    reason: Reject.Reason.cookie.rawValue,
                    text: "the worker does not know the cookie that its process was started with"
                )
            )
        }
        return .accept(version: version)
    }

    private static func describe(_ versions: ClosedRange<UInt64>) -> String {
        // `count` could trap: a peer may name more versions than an Int counts.
        let (lowest, highest) = (versions.lowerBound, versions.upperBound)
        return lowest == highest ? "\(lowest)" : "\(lowest) to \(highest)"
    }
}
