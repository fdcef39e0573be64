/// Collects the identities of a stream's last messages from what a consumer brings.
///
/// All looks at the stream use the same subject. If a look was cut off, its consumer may still be there when the next
/// look subscribes, and then sends its messages to that subject, too.
struct RecentIdentities {
    private let consumer: String
    private(set) var identities: Set<String> = []
    /// Whether the consumer's last message has come.
    private(set) var isComplete = false

    /// - Parameter consumer: the name of this look's consumer.
    init(from consumer: String) { self.consumer = consumer }

    /// Takes a message; one that another consumer has sent counts for nothing.
    ///
    /// - Parameter identity: nil if the message has none.
    mutating func take(reply: String, identity: String?) {
        guard let place = ConsumerPlace(reply: reply), place.consumer == consumer else { return }
        if let identity { identities.insert(identity) }
        isComplete = place.remaining == 0
    }
}
