/// Chooses the few points at which something rare happens, such as a pre-emption; each step of a thread is a point.
struct RarePoints {
    /// The matter whose choices decide where the points are.
    private let matter: String
    /// The average number of points between two rare points; 0 for no rare points.
    private var average: UInt64 = 0
    private var next: UInt64?

    init(_ matter: String) { self.matter = matter }

    /// Sets the average number of points between two rare points after `point`; 0 for no rare points.
    mutating func set(average: UInt64, behind point: UInt64, by choices: inout Choices) {
        self.average = average
        next = choices.nextPlace(matter, behind: point, average: average)
    }

    /// Returns whether the next rare point has come; if it has, chooses the rare point after it.
    mutating func hasCome(at point: UInt64, by choices: inout Choices) -> Bool {
        guard let next, point >= next else { return false }
        self.next = choices.nextPlace(matter, behind: point, average: average)
        return true
    }
}
