import JSONText

/// Where and how fast `supervisor journal replay` sends the events of a journal.
struct ReplayTarget: Sendable, Hashable {
    static let options = ["--to", "--speed", "--control"]

    let worker: String
    var pace = ReplayPace.asFastAsPossible
    /// The control socket's path on the command line; nil if it was not given.
    var control: String?

    init(_ worker: String, pace: ReplayPace = .asFastAsPossible, control: String? = nil) {
        (self.worker, self.pace, self.control) = (worker, pace, control)
    }

    init(_ given: SubcommandArguments) throws(UsageError) {
        guard let worker = given.values["--to"] else {
            throw JournalOptions.error("found no --to with replay, expected \(JournalOptions.expectedWorker)")
        }
        self.init(worker, control: given.values["--control"])
        if let text = given.values["--speed"] {
            guard let pace = ReplayPace(text) else {
                throw JournalOptions.error(
                    "found \(ShownValue.text(text)) after --speed, expected \(ReplayPace.expected)"
                )
            }
            self.pace = pace
        }
    }
}
