/// The points of a world's threads at which a rare thing happens.
struct RarePoints {
    /// The matter of the choices that decides about the points.
    private let matter: String
    /// How many of the threads' points lie between two rare ones on average; 0 for no rare ones.
    private var average: UInt64 = 0
    private var next: UInt64?

    init(_ matter: String) { self.matter = matter }

    /// Sets the average number of points between two rare ones, from here on; 0 for no rare ones.
    mutating func set(average: UInt64, behind point: UInt64, by choices: inout Choices) {
        self.average = average
        next = choices.nextPlace(matter, behind: point, average: average)
    }

    /// Whether the next rare point has come.
    mutating func hasCome(at point: UInt64, by choices: inout Choices) -> Bool {
        guard let next, point >= next else { return false }
        self.next = choices.nextPlace(matter, behind: point, average: average)
        return true
    }
}
