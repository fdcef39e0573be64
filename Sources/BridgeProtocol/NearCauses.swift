/// The identity of an event of one of a link's two processes, which a frame spells as one number.
package enum NearID: BitwiseCopyable, Sendable, Equatable {
    /// An event of the side that sends the frame.
    case sender(UInt64)
    /// An event of the side that receives the frame.
    case receiver(UInt64)

    /// The identity as an ``EventHead`` has it.
    package var wireID: WireID {
        switch self {
        case .sender(let number): .sender(number: number)
        case .receiver(let number): .receiver(number: number)
        }
    }
}

/// The cause and the root of an event, if they are events of the two processes that a link connects.
package struct NearCauses: BitwiseCopyable, Sendable, Equatable {
    package var cause: NearID?
    /// The first event of the chain of causes; nil if that is the cause or the event itself.
    package var root: NearID?

    package init(cause: NearID? = nil, root: NearID? = nil) { (self.cause, self.root) = (cause, root) }
}
