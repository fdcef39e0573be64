/// How many names a receipt has room for, in a frame that may not be larger than the peer takes.
extension Receipt {
    /// Room, in a frame's body, for everything but the texts and the names.
    private static let fixedBytes = 64
    /// Room for the sentence that says that names are left out.
    private static let omissionBytes = 96

    /// The same receipt, with as many names as a receipt may have and as surely fit into a frame's body.
    ///
    /// If names are left out, the publisher cannot know when all processes have handled the event. The receipt says
    /// so, unless it says something worse.
    func fitting(into frameBytes: Int) -> Receipt {
        if passedOnTo.isEmpty { return self }
        var room = frameBytes - Self.fixedBytes - process.utf8.count - max(text.utf8.count, Self.omissionBytes)
        if case .other(let origin, _, _) = id { room -= origin.utf8.count }
        let kept = passedOnTo.prefix(LinkLimits.receiptNames).prefix { name in
            let length = name.utf8.count
            room -= EventFrame.PlainHead.length(of: UInt64(length)) + length
            return room >= 0
        }
        if kept.count == passedOnTo.count { return self }
        var cut = self
        cut.passedOnTo = Array(kept)
        if outcome == Outcome.handled.rawValue {
            cut.outcome = Outcome.unavailable.rawValue
            cut.text = "it was passed on to \(passedOnTo.count) processes, and a receipt names \(kept.count) at most"
        }
        return cut
    }
}
