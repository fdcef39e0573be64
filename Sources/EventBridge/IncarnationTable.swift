/// The starts of one worker that still matter: the present or last start, the start before that, and the start that is
/// to replace the present one.
struct IncarnationTable {
    private(set) var present: WorkerIncarnation?
    private(set) var successor: WorkerIncarnation?
    /// The start before the present one, until its end was reported.
    private(set) var former: WorkerIncarnation?

    /// All starts in the table; each may have a process.
    var all: [WorkerIncarnation] { [former, present, successor].compactMap { $0 } }

    /// The start of this number; nil if the table does not have it any more.
    subscript(number: Int) -> WorkerIncarnation? { all.first { $0.number == number } }

    mutating func launch(_ incarnation: WorkerIncarnation) {
        former = present
        present = incarnation
    }

    mutating func launch(successor incarnation: WorkerIncarnation) {
        successor = incarnation
    }

    /// Puts the successor in the place of the present start, and returns it; nil if there is no successor.
    mutating func cutOver() -> WorkerIncarnation? {
        guard let next = successor.take() else { return nil }
        launch(next)
        return next
    }

    mutating func forgetSuccessor() {
        successor = nil
    }

    mutating func forgetFormer() {
        former = nil
    }
}
