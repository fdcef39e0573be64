/// One open level of an encoding: a value that has not chosen its shape yet, or a container being written.
struct EncodingFrame {
    enum Kind: UInt8 {
        case undecided
        case map
        case array
        case single
    }

    /// Where the head of the container stands in the buffer.
    var head = 0
    var count = 0
    /// Where the last key starts, for the path of an error.
    var lastKey = 0
    /// How many containers and tags are around this level.
    var depth = 0
    /// Never used twice in the life of a session: what tells a container that is still open from one that is not.
    var serial: UInt64 = 0
    var kind = Kind.undecided
    /// Whether the level belongs to a value whose `encode(to:)` is running, rather than to a nested container.
    var isValue = false
}

/// How a container or encoder refers to its level.
struct EncodingPlace {
    let session: EncodingSession
    let serial: UInt64
    let index: Int
}
