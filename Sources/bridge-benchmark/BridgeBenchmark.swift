import BridgePlatform

/// Measures the bridge: all works with a table, or one work with its measurements as JSON lines.
@main
struct BridgeBenchmark {
    private enum ExitCode {
        static let usage: CInt = 64
        static let noInput: CInt = 66
        static let software: CInt = 70
        /// The exit status for a work that a program does not have; the other compared programs use the same status.
        static let unsupported: CInt = 77
    }

    static func main() async {
        let invocation: BenchmarkInvocation
        do throws(BenchmarkUsageError) {
            invocation = try BenchmarkInvocation(CommandLine.arguments.dropFirst())
        } catch {
            end("bridge-benchmark: \(error)\n\"bridge-benchmark help\" says what there is", ExitCode.usage)
        }
        switch invocation {
        case .help: CurrentProcess.writeAll(BenchmarkInvocation.usage + "\n", to: 1)
        case .unsupported(let sentence): end(sentence, ExitCode.unsupported)
        case .worker(let arguments): await BenchmarkWorker.run(arguments)
        case .rawPeer(let arguments): RawPeer.run(arguments)
        case .emptyProgram: EmptyProgram.run()
        case .work(let work, let count): await run { try await work.run(count) }
        case .stopped(let options): await run { try await StoppedWork(options).run() }
        case .suite(let options): await run { try await BenchmarkSuite(options).run() }
        }
    }

    private static func run(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch SuiteError.badInput(let sentence) {
            end("bridge-benchmark: \(sentence)", ExitCode.noInput)
        } catch {
            end("bridge-benchmark: \(error)", ExitCode.software)
        }
    }

    private static func end(_ text: String, _ code: CInt) -> Never {
        CurrentProcess.report(text)
        CurrentProcess.exitImmediately(code)
    }
}
