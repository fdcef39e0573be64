/// The size and form of a flood; by default one worker sends and one subscriber receives.
struct FloodPlan {
    /// The name of the printed measurement.
    var name = "W2"
    var form = EventForm.codable
    /// How many workers send at once; a power of two.
    var workers = 1
    /// How many threads of each worker publish, a power of two; if it is 1, a task sends instead of a thread.
    var threads = 1
    var subscribers = 1
    var hasSlowLink = false
    var idleWorkers = 0
    /// How many other event types both ends have subscribed to.
    var knownTypes = 0
    /// The directory of the host's journal, which records the flood; nil for no journal.
    var journalPath: String?

    /// How many threads publish in all.
    var lanes: Int { workers * threads }

    /// The arguments for a worker's part.
    func arguments(worker: Int) -> [String] {
        ["W2", form.rawValue, "\(worker)", "\(threads)", "\(lanes)", "\(knownTypes)"]
    }
}

/// One worker's part in a flood, read from its arguments.
struct FloodPart {
    let form: EventForm
    let worker: Int
    let threads: Int
    let lanes: Int
    let knownTypes: Int

    init?(_ arguments: ArraySlice<String>) {
        let numbers = arguments.dropFirst().compactMap { Int($0) }
        guard let form = arguments.first.flatMap({ EventForm(rawValue: $0) }), numbers.count == 4 else { return nil }
        self.form = form
        worker = numbers[0]
        threads = numbers[1]
        lanes = numbers[2]
        knownTypes = numbers[3]
    }
}
