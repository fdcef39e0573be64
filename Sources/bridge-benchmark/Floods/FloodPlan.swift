/// What there is in a flood beside one worker that sends and one subscriber that receives.
struct FloodPlan {
    /// The name that the measurement is printed under.
    var name = "W2"
    var form = EventForm.codable
    /// How many workers send at once; a power of two.
    var workers = 1
    /// From how many threads each of them publishes; a power of two.
    ///
    /// If it is one, a task sends.
    var threads = 1
    var subscribers = 1
    var hasSlowLink = false
    var idleWorkers = 0
    /// How many other event types both ends have subscribed to.
    var knownTypes = 0

    /// How many threads publish in all.
    var lanes: Int { workers * threads }

    /// What a worker is told to do its part.
    func arguments(worker: Int) -> [String] {
        ["W2", form.rawValue, "\(worker)", "\(threads)", "\(lanes)", "\(knownTypes)"]
    }
}

/// What one worker does in a flood, as its arguments say.
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
