/// One open level of an encoding: a value that has not chosen its shape yet, or a container being written.
struct EncodingFrame {
    enum Kind: UInt8 {
        case undecided
        case map
        case array
        case single
    }

    /// Where the head of the container is in the buffer.
    var head = 0
    var count = 0
    /// Where the last key starts, for the path of an error.
    var lastKey = 0
    /// How many containers and tags are around this level.
    var depth = 0
    /// Unique in the life of a session; a container with an old serial number is closed.
    var serial: UInt64 = 0
    var kind = Kind.undecided
    /// Whether the level belongs to a value being encoded; if not, to a nested container or a super encoder.
    var isValue = false
}

/// Which level a container or encoder writes to.
struct EncodingLevel: BitwiseCopyable {
    let serial: UInt64
    let index: Int

    /// A level that refuses every write.
    static let closed = EncodingLevel(serial: 0, index: 0)
}

/// How a container or encoder refers to its level.
struct EncodingPlace {
    let session: EncodingSession
    private let serial: UInt64
    /// The level's index; if negative, the complement of the slot in which the session keeps the level.
    private let index: Int

    @inline(__always)
    init(session: EncodingSession, level: EncodingLevel) {
        self.session = session
        serial = level.serial
        index = level.index
    }

    init(session: EncodingSession, slot: Int) {
        self.session = session
        serial = 0
        index = ~slot
    }

    @inline(__always)
    var level: EncodingLevel {
        index >= 0 ? EncodingLevel(serial: serial, index: index) : session.slotLevels[~index]
    }
}
