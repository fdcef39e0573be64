import BridgePlatform

/// Prints measurements as JSON lines, in the form that all compared programs (the peers) use.
enum Report {
    private static func line(_ work: String, peer: String = EventForm.codable.peer, _ fields: [(String, String)]) {
        let all = [("peer", "\"\(peer)\""), ("work", "\"\(work)\"")] + fields
        CurrentProcess.writeAll("{" + all.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}\n", to: 1)
    }

    /// The value with three decimals.
    private static func decimal(_ value: Double) -> String {
        let thousandths = Int64((value * 1_000).rounded())
        let fraction = String(thousandths % 1_000)
        return "\(thousandths / 1_000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }

    private static func mebibytes(_ bytes: Int) -> String { decimal(Double(bytes) / Double(1 << 20)) }

    private static func perSecond(_ count: Double, _ nanoseconds: UInt64) -> String {
        decimal(count / (Double(nanoseconds) / 1e9))
    }

    static func roundTrips(_ work: String, peer: String, _ nanoseconds: [UInt64], total: UInt64) {
        let sorted = nanoseconds.sorted()
        let mean = Double(sorted.reduce(0, +)) / Double(sorted.count) / 1_000
        line(
            work,
            peer: peer,
            [
                ("p50_us", decimal(Double(sorted[sorted.count / 2]) / 1_000)),
                ("p99_us", decimal(Double(sorted[min(sorted.count - 1, sorted.count * 99 / 100)]) / 1_000)),
                ("mean_us", decimal(mean)),
                ("per_s", perSecond(Double(sorted.count), total)),
                ("n", "\(sorted.count)"),
            ]
        )
    }

    static func flood(_ work: String, _ form: EventForm, _ count: Int64, nanoseconds: UInt64) {
        flood(work, peer: form.peer, count, nanoseconds: nanoseconds)
    }

    static func flood(_ work: String, peer: String, _ count: Int64, nanoseconds: UInt64) {
        let rate = perSecond(Double(count), nanoseconds)
        line(work, peer: peer, [("events_per_s", rate), ("n", "\(count)"), ("ok", "true")])
    }

    static func blobs(_ peer: String, _ bytes: Int, _ count: Int64, nanoseconds: UInt64) {
        let megabytes = Double(count - 1) * Double(bytes) / 1e6
        line(
            "W3-\(bytes / 1_024)KiB",
            peer: peer,
            [("mb_per_s", perSecond(megabytes, nanoseconds)), ("n", "\(count)"), ("ok", "true")]
        )
    }

    static func starts(_ peer: String, _ times: [UInt64]) {
        let sorted = times.sorted().map { Double($0) / 1e6 }
        line(
            "W4",
            peer: peer,
            [
                ("p50_ms", decimal(sorted[sorted.count / 2])), ("min_ms", decimal(sorted[0])),
                ("max_ms", decimal(sorted[sorted.count - 1])), ("n", "\(sorted.count)"),
            ]
        )
    }

    /// Prints the times from the kill of a worker to the report of its death, and to the readiness of its replacement.
    static func deaths(noticed: [UInt64], replaced: [UInt64]) {
        for (name, times) in [("noticed", noticed), ("replaced", replaced)] {
            line(
                "supervision-\(name)",
                [
                    ("p50_us", decimal(Double(percentile(50, of: times)) / 1_000)),
                    ("p99_us", decimal(Double(percentile(99, of: times)) / 1_000)), ("n", "\(times.count)"),
                ]
            )
        }
    }

    /// Prints the cost of idle workers for their host: processor time, and memory for each worker.
    static func idle(workers: Int, nanosecondsPerSecond: UInt64, bytesPerWorker: Int) {
        line(
            "supervision-idle",
            [
                ("idle_us_per_s", decimal(Double(nanosecondsPerSecond) / 1e3)), ("bytes", "\(bytesPerWorker)"),
                ("n", "\(workers)"),
            ]
        )
    }

    /// Prints the median of the processes' memory in RAM.
    static func residents(_ peer: String, _ bytes: [Int]) {
        let median = bytes.sorted()[bytes.count / 2]
        line("W4-memory", peer: peer, [("resident_mib", mebibytes(median)), ("n", "\(bytes.count)")])
    }

    /// Prints the time for an event, the host's memory in RAM afterwards, and its processor time in an idle second.
    static func cost(
        _ work: String,
        _ count: Int64,
        nanoseconds: UInt64,
        residentBytes: Int,
        idleNanoseconds: UInt64? = nil
    ) {
        var fields = [
            ("ns_per_event", decimal(Double(nanoseconds) / Double(count))),
            ("resident_mib", mebibytes(residentBytes)),
        ]
        if let idleNanoseconds { fields.append(("idle_us_per_s", decimal(Double(idleNanoseconds) / 1e3))) }
        line(work, fields + [("n", "\(count)"), ("ok", "true")])
    }

    static func codec(_ work: String, peer: String, _ count: Int64, nanoseconds: UInt64, allocations: Double?) {
        var fields = [("ns", decimal(Double(nanoseconds) / Double(count)))]
        if let allocations { fields.append(("allocations", decimal(allocations))) }
        line(work, peer: peer, fields + [("n", "\(count)"), ("ok", "true")])
    }

    static func deliveries(_ variant: String, count: Int64, nanoseconds: UInt64) {
        line(
            "W5-\(variant)",
            [("ns_per_delivery", decimal(Double(nanoseconds) / Double(count))), ("n", "\(count)"), ("ok", "true")]
        )
    }

    /// Prints the ratio of two threads' time to one thread's, and the same for control threads that share nothing.
    static func ratios(_ variant: String, _ sorted: [Double], controls: [Double], nanosecondsPerDelivery: Double) {
        line(
            "W5-\(variant)",
            [
                ("ratio_median", decimal(sorted[sorted.count / 2])), ("ratio_worst", decimal(sorted[sorted.count - 1])),
                ("control_median", decimal(controls[controls.count / 2])),
                ("control_worst", decimal(controls[controls.count - 1])),
                ("ns_per_delivery", decimal(nanosecondsPerDelivery)), ("n", "\(sorted.count)"), ("ok", "true"),
            ]
        )
    }

    /// Prints how many worlds ran in a second of processor time, and how much simulated time passed in that second.
    static func worlds(_ work: String, _ count: Int64, simulated: Duration, nanoseconds: UInt64) {
        let (seconds, attoseconds) = simulated.components
        let time = Double(seconds) + Double(attoseconds) / 1e18
        line(
            work,
            [
                ("worlds_per_s", perSecond(Double(count), nanoseconds)),
                ("times_real_time", perSecond(time, nanoseconds)), ("n", "\(count)"), ("ok", "true"),
            ]
        )
    }

    static func bytes(_ variant: String, _ bytes: Double) {
        line("W5-\(variant)", [("bytes", decimal(bytes)), ("ok", "true")])
    }

    /// Prints what was measured while one worker was stopped: the host's memory and, for each activity of the producer,
    /// another worker's round-trip times.
    static func stopped(_ work: StoppedWork.Outcome) {
        func microseconds(_ nanoseconds: UInt64) -> String { decimal(Double(nanoseconds) / 1_000) }
        let options = work.options
        var fields: [(String, String)] = [
            ("seconds", decimal(work.floodedSeconds)),
            ("published_per_s", decimal(Double(work.published) / work.floodedSeconds)),
            ("dropped", "\(work.dropped)"),
            ("kept", "\(work.kept)"),
            ("memory_mib", mebibytes(work.memoryGrowth)),
            ("memory_aim_mib", mebibytes(options.memoryAim)),
            ("memory_ok", "\(work.memoryGrowth <= options.memoryAim)"),
        ]
        for (producer, p50, p99, count) in work.trips {
            fields.append(("\(producer)_p50_us", microseconds(p50)))
            fields.append(("\(producer)_p99_us", microseconds(p99)))
            fields.append(("\(producer)_n", "\(count)"))
        }
        for (name, p50, p99) in work.ratios {
            fields.append(("ratio_\(name)_p50", decimal(p50)))
            fields.append(("ratio_\(name)_p99", decimal(p99)))
        }
        fields.append(("rounds", "\(work.rounds)"))
        fields.append(("ok", "true"))
        line("stopped-\(options.outbox >> 20)-\(options.hardLimit >> 20)MiB-\(options.bytes)", fields)
    }

    /// Prints the medians of rounds.
    static func medians(
        _ work: String,
        peer: String,
        _ figures: [(name: String, value: Double)],
        _ counts: [(String, Int)]
    ) {
        let all = figures.map { ($0.name, decimal($0.value)) } + counts.map { ($0.0, "\($0.1)") }
        line(work, peer: peer, all + [("ok", "true")])
    }

    /// Reports why another program is not measured.
    static func notMeasured(_ work: String, peer: String, _ why: String) {
        CurrentProcess.report("\(work): \(peer) is not measured: \(why)")
    }

    /// A percentile of times in any order.
    static func percentile(_ percent: Int, of times: [UInt64]) -> UInt64 {
        times.sorted()[min(times.count - 1, times.count * percent / 100)]
    }

    static func fail(_ sentence: String) -> Never {
        CurrentProcess.report(sentence)
        BenchmarkDirectory.removeAll()
        CurrentProcess.exitImmediately(3)
    }
}
