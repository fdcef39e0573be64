import BridgeProtocol

/// How much the link to a worker holds and takes, in bytes.
///
/// An event counts for at least 256.
public struct WorkerLimits: Sendable, Hashable {
    /// Where `send` begins to wait for room; 4 MiB by default, some ten thousand small events.
    public var outbox: Int

    /// Where `publish` begins to drop; 64 MiB by default, so that a worker that has stopped cannot take the memory of its
    /// supervisor.
    public var outboxHardLimit: Int

    /// The largest frame in either direction; 16 MiB by default.
    public var frame: Int

    /// Makes limits.
    public init(outbox: Int = 4 << 20, outboxHardLimit: Int = 64 << 20, frame: Int = 16 << 20) {
        self.outbox = outbox
        self.outboxHardLimit = outboxHardLimit
        self.frame = frame
    }

    func validate() -> [String] {
        var mistakes: [String] = []
        if outbox < 1 << 10 { mistakes.append("the outbox has \(outbox) bytes; 1024 are the least") }
        if outboxHardLimit < outbox {
            mistakes.append("the outbox's hard limit (\(outboxHardLimit) bytes) is below its limit (\(outbox) bytes)")
        }
        if frame < 64 << 10 || frame > 1 << 30 {
            mistakes.append("the frame limit is \(frame) bytes; 64 KiB to 1 GiB are possible")
        }
        return mistakes
    }

    var link: LinkLimits {
        var limits = LinkLimits()
        limits.outboxBytes = outbox
        limits.outboxHardBytes = outboxHardLimit
        limits.frameBytes = frame
        return limits
    }
}
