import BridgePlatform

/// Measures the bridge: `bridge-benchmark W1 | W2 | W3 BYTES | W4 | W5 | stopped`, each printed as a JSON line.
@main
struct BridgeBenchmark {
    private static let usage = """
        usage: bridge-benchmark WORK [COUNT]
          W1        round trip of a small event between host and worker
          W2        small events one way, worker to host
          W3 BYTES  large payloads one way, worker to host
          W4        start of a worker to its first event
          W5        deliveries in one process
          stopped [--seconds N] [--outbox MIB] [--hard-limit MIB] [--bytes N]
                    memory of the host, and another worker's round trips, while it publishes as fast as it
                    can to a worker that has stopped; 60 s, 4 MiB, 64 MiB and 1000 bytes each by default
        """

    private enum ExitCode {
        static let usage: CInt = 64
        static let software: CInt = 70
    }

    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        guard let work = arguments.popFirst() else { end(usage, ExitCode.usage) }
        if work == "worker" {
            await BenchmarkWorker.run(arguments.first ?? "")
            return
        }
        if work == "stopped" {
            guard let options = StoppedOptions(arguments) else { end(usage, ExitCode.usage) }
            do {
                try await StoppedWork(options).run()
            } catch {
                end("\(error)", ExitCode.software)
            }
            return
        }
        let numbers = arguments.compactMap { Int64($0) }
        guard numbers.count == arguments.count, numbers.allSatisfy({ $0 > 0 }) else { end(usage, ExitCode.usage) }
        do {
            switch work {
            case "W1": try await BenchmarkHost.roundTrips(numbers.first ?? 20_000)
            case "W2": try await BenchmarkHost.flood(numbers.first ?? 2_000_000)
            case "W3":
                guard let bytes = numbers.first, bytes >= 16 else { end(usage, ExitCode.usage) }
                let count = numbers.dropFirst().first ?? max(200, min(20_000, 2_000_000_000 / bytes))
                try await BenchmarkHost.blobs(Int(bytes), count)
            case "W4": try await BenchmarkHost.starts(Int(numbers.first ?? 30))
            case "W5": await InProcessWork.run()
            default: end(usage, ExitCode.usage)
            }
        } catch {
            end("\(error)", ExitCode.software)
        }
    }

    private static func end(_ text: String, _ code: CInt) -> Never {
        CurrentProcess.report(text)
        CurrentProcess.exitImmediately(code)
    }
}
