/// The points of a world's threads at which something happens now and then.
struct RarePoints {
    /// What of the choices says where.
    private let matter: String
    /// How many points there are between two on average; 0 for none.
    private var average: UInt64 = 0
    private var next: UInt64?

    init(_ matter: String) { self.matter = matter }

    /// From here on there are so many points between two on average; 0 for none.
    mutating func set(average: UInt64, behind point: UInt64, by choices: inout Choices) {
        self.average = average
        next = choices.nextPlace(matter, behind: point, average: average)
    }

    /// Whether one has come.
    mutating func hasCome(at point: UInt64, by choices: inout Choices) -> Bool {
        guard let next, point >= next else { return false }
        self.next = choices.nextPlace(matter, behind: point, average: average)
        return true
    }
}
