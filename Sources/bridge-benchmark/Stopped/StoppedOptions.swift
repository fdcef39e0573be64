/// The options of the work `stopped`, in bytes and seconds.
struct StoppedOptions {
    /// How long the producer publishes as fast as it can, in all rounds together.
    var seconds: Int64 = 60
    var outbox = 4 << 20
    var hardLimit = 64 << 20
    /// The payload of an event, in bytes.
    var bytes = 1_000

    /// The memory that the design allows the host: the outbox's hard limit, and 8 MiB for everything else.
    var memoryAim: Int { hardLimit + 8 << 20 }

    /// Reads the arguments; nil if they are not understood.
    init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let name = rest.popFirst() {
            guard let value = rest.popFirst().flatMap({ Int($0) }), (1...100_000).contains(value) else { return nil }
            switch name {
            case "--seconds": seconds = Int64(value)
            case "--outbox": outbox = value << 20
            case "--hard-limit": hardLimit = value << 20
            case "--bytes": bytes = value
            default: return nil
            }
        }
    }
}
