/// How long an interest is in a frame, which may not be larger than the peer takes.
extension Interest {
    /// Room, in a frame's body, for everything but the elements of the two arrays.
    ///
    /// The frame's array and its kind take a byte each, and an array of up to 65,535 elements begins with three.
    static let headBytes = 8

    /// How many bytes the body of the frame has that holds the whole interest.
    var bodyBytes: Int {
        let heads = 2 + length(ofArray: wanted.count) + length(ofArray: unwanted.count)
        return heads + wanted.reduce(0) { $0 + $1.bytes } + unwanted.reduce(0) { $0 + Self.bytes(of: $1) }
    }

    /// The least body of a frame in which each element, alone, has room.
    var largestElementBytes: Int {
        let largestName = wanted.reduce(0) { max($0, $1.bytes) }
        return Self.headBytes + unwanted.reduce(largestName) { max($0, Self.bytes(of: $1)) }
    }

    /// How many bytes an unwanted number takes.
    static func bytes(of number: UInt64) -> Int { EventFrame.PlainHead.length(of: number) }

    private func length(ofArray count: Int) -> Int { EventFrame.PlainHead.length(of: UInt64(count)) }
}

extension Interest.Name {
    /// How many bytes the name and its number take in an interest.
    var bytes: Int {
        let length = name.utf8.count
        return 1 + Interest.bytes(of: number) + EventFrame.PlainHead.length(of: UInt64(length)) + length
    }
}
