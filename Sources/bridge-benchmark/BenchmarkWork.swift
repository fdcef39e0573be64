/// One of the works: its name, its usual count, and the code that does it.
struct BenchmarkWork: Sendable {
    /// The name on the command line and after `--only`.
    let name: String
    /// The words between the name and the count on the command line.
    var options: [String] = []
    /// The line of `help`.
    let summary: String
    /// The default count of events, trips, starts or whatever else the work counts.
    let count: Int64
    /// A small count, just enough to show that the work can be done.
    let quickCount: Int64
    let run: @Sendable (_ count: Int64) async throws -> Void

    /// The arguments with which this program does the work.
    func arguments(isQuick: Bool) -> [String] {
        [name] + options + ["\(isQuick ? quickCount : count)"]
    }
}

extension BenchmarkWork {
    /// The work with this name and these options; the option of W3 is its size.
    static func named(_ name: String, options: [String]) -> BenchmarkWork? {
        all.first { $0.name == name && $0.options == options }
    }

    /// Whether the work's name is `beginning`, or begins with `beginning` and a hyphen.
    func isNamed(_ beginning: String) -> Bool {
        name == beginning || name.hasPrefix(beginning + "-")
    }

    /// All works, in the order in which they are done and shown.
    static let all: [BenchmarkWork] =
        roundTrips + floods + blobs + starts + supervision + [codec, inProcess] + growth + simulation + journal

    private static let roundTrips = [
        BenchmarkWork(
            name: "raw-W1",
            summary: "round trip of a small event over a blocking socket and nothing else",
            count: 20_000,
            quickCount: 100
        ) { try RawWork.roundTrips($0) },
        BenchmarkWork(
            name: "W1",
            summary: "round trip of a small event between host and worker",
            count: 20_000,
            quickCount: 100
        ) { try await RoundTripWork.run("W1", .codable, count: $0) },
        BenchmarkWork(
            name: "W1",
            options: ["--layout"],
            summary: "the same event with a layout",
            count: 20_000,
            quickCount: 100
        ) { try await RoundTripWork.run("W1", .layout, count: $0) },
        BenchmarkWork(
            name: "W1-crowded",
            summary: "with three subscribers at either end, and another worker that is slow",
            count: 20_000,
            quickCount: 100
        ) { try await RoundTripWork.run("W1-crowded", .codable, isCrowded: true, count: $0) },
    ]

    private static let floods = [
        BenchmarkWork(
            name: "raw-W2",
            summary: "small events one way over a blocking socket, a call for each",
            count: 1_000_000,
            quickCount: 1_000
        ) { try RawWork.flood($0, isBatched: false) },
        BenchmarkWork(
            name: "raw-W2-64KiB",
            summary: "as many of them in a call as 64 KiB hold",
            count: 20_000_000,
            quickCount: 10_000
        ) { try RawWork.flood($0, isBatched: true) },
        flood("W2", "small events one way, worker to host", FloodPlan()),
        flood("W2", "the same event with a layout", FloodPlan(form: .layout), options: ["--layout"]),
        flood("W2-threads4", "from four threads of the worker", FloodPlan(name: "W2-threads4", threads: 4)),
        flood("W2-workers4", "from four workers at once", FloodPlan(name: "W2-workers4", workers: 4)),
        flood(
            "W2-crowded",
            "to three subscribers, with another worker that is slow",
            FloodPlan(name: "W2-crowded", subscribers: 3, hasSlowLink: true)
        ),
        BenchmarkWork(
            name: "W2-fanout1",
            summary: "the other way: from the host to a worker",
            count: 2_000_000,
            quickCount: 1_000
        ) { try await FanOutWork.run("W2-fanout1", workers: 1, count: $0) },
        BenchmarkWork(
            name: "W2-fanout8",
            summary: "from the host to eight workers, counted as deliveries",
            count: 250_000,
            quickCount: 1_000
        ) { try await FanOutWork.run("W2-fanout8", workers: 8, count: $0) },
    ]

    private static func flood(
        _ name: String,
        _ summary: String,
        _ plan: FloodPlan,
        options: [String] = []
    ) -> BenchmarkWork {
        BenchmarkWork(name: name, options: options, summary: summary, count: 2_000_000, quickCount: 1_000) {
            try await FloodWork.run(plan, count: $0)
        }
    }

    private static let blobs = [1 << 16, 1 << 20].flatMap { bytes in
        [
            blob(bytes, "raw-W3") { try RawWork.blobs(bytes, count: $0) },
            blob(bytes, "W3") { try await BlobWork.run(bytes, count: $0) },
        ]
    }

    /// The work with payloads of this size.
    static func blob(
        _ bytes: Int,
        _ name: String = "W3",
        _ run: @escaping @Sendable (_ count: Int64) async throws -> Void
    ) -> BenchmarkWork {
        BenchmarkWork(
            name: name,
            options: ["\(bytes)"],
            summary:
                "payloads of \(bytes) bytes one way\(name == "W3" ? ", worker to host" : " over a blocking socket")",
            count: Int64(max(200, min(20_000, 2_000_000_000 / bytes))),
            quickCount: 20,
            run: run
        )
    }

    private static let starts = [
        BenchmarkWork(
            name: "raw-W4",
            summary: "start of a program that does nothing, and its memory",
            count: 30,
            quickCount: 2
        ) { try EmptyProgram.measure(count: Int($0)) },
        BenchmarkWork(
            name: "W4",
            summary: "start of a worker to its first event",
            count: 30,
            quickCount: 2
        ) { try await StartWork.run(count: Int($0)) },
        BenchmarkWork(
            name: "W4-memory",
            summary: "memory of a worker that has just begun",
            count: 5,
            quickCount: 1
        ) { try await StartWork.runForMemory(count: Int($0)) },
    ]

    private static let supervision = [
        BenchmarkWork(
            name: "supervision",
            summary: "from a worker's death to its report, and to its replacement, with 1 ms of back-off",
            count: 300,
            quickCount: 3
        ) { try await SupervisionWork.run(kills: Int($0)) },
        BenchmarkWork(
            name: "supervision-idle",
            summary: "what so many idle workers cost their host",
            count: 100,
            quickCount: 2
        ) { try await SupervisionWork.runIdle(workers: Int($0)) },
    ]

    private static let simulation = [
        BenchmarkWork(
            name: "simulation",
            summary: "simulated worlds with 100 events, two workers and a crash, in a second of a processor",
            count: 500,
            quickCount: 2
        ) { try await SimulationWork.runWorlds($0) },
        BenchmarkWork(
            name: "simulation-time",
            summary: "so many seconds of a simulated world in which two workers have an event in each",
            count: 3_000,
            quickCount: 2
        ) { try await SimulationWork.runTime(seconds: $0) },
    ]

    private static let codec = BenchmarkWork(
        name: "codec",
        summary: "a small event to bytes and back",
        count: 2_000_000,
        quickCount: 1_000
    ) { try CodecWork.run(count: $0) }

    private static let inProcess = BenchmarkWork(
        name: "W5",
        summary: "deliveries in one process",
        count: 4_000_000,
        quickCount: 4_000
    ) { await InProcessWork.run($0) }

    private static let growth =
        [0, 1_000, 10_000].map { types in
            let name = "growth-types-\(max(1, types))"
            return BenchmarkWork(
                name: name,
                summary: "cost of an event of W2 beside \(types) other event types",
                count: 2_000_000,
                quickCount: 1_000
            ) { try await FloodWork.runForCost(FloodPlan(name: name, knownTypes: types), count: $0) }
        }
        + [1, 10, 100].map { workers in
            let name = "growth-workers-\(workers)"
            return BenchmarkWork(
                name: name,
                summary: "cost of an event of W2 with \(workers - 1) idle workers, and what they cost the host",
                count: 2_000_000,
                quickCount: 1_000
            ) { try await FloodWork.runForCost(FloodPlan(name: name, idleWorkers: workers - 1), count: $0) }
        } + [
            BenchmarkWork(
                name: "growth-sent",
                summary: "cost of an event of W2, and memory of the host, from 1 MB to as many MB sent",
                count: 1_000,
                quickCount: 1
            ) { try await LongFloodWork.run(megabytes: $0) }
        ]
}
