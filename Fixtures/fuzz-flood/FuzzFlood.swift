import BridgePlatform
import FuzzTargets

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Feeds a fuzz target with as many inputs as possible: in a release build, without sanitizers, and without feedback on
/// the code that the inputs reach.
///
/// `fuzz-flood TARGET RUNS [SEED]`, from the top of the repository, runs a thread for each processor. The seed and the
/// input's number decide how an input is made from the corpus. An input that breaks an invariant is printed in
/// hexadecimal, and ends the program with status 1. A trap ends the program at once; the same seed meets it again.
@main
enum FuzzFlood {
    private static let targets: [String: @Sendable () -> any FuzzTarget] = [
        "cbor": { CBORTarget() }, "frames": { FrameTarget() }, "lines": { LinesTarget() }, "link": { LinkTarget() },
    ]

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let names = targets.keys.sorted().joined(separator: ", ")
        guard arguments.count >= 2, let make = targets[arguments[1]], let runs = UInt64(arguments[2]) else {
            print("usage: fuzz-flood TARGET RUNS [SEED]; targets: \(names)")
            CurrentProcess.exit(64)
        }
        let seed = arguments.count > 2 ? UInt64(arguments[3]) ?? 1 : UInt64.random(in: 1...(1 << 48))
        let corpus = try self.corpus(arguments[1])
        let threads = UInt64(ProcessInfo.processInfo.activeProcessorCount)
        print("\(arguments[1]): \(runs) inputs from \(corpus.count) of the corpus, seed \(seed), \(threads) threads")
        let began = MonotonicClock.now()
        let joinable = try (0..<threads).map { thread in
            try PlatformThread.startJoinable(name: "fuzz-flood \(thread)") {
                feed(make(), corpus, seed: seed &+ thread, runs: runs / threads)
            }
        }
        for thread in joinable { thread.join() }
        let seconds = Double(MonotonicClock.now() - began) / 1_000_000_000
        let inputs = runs / threads * threads
        print("\(inputs) inputs in \(Int(seconds)) s, \(Int(Double(inputs) / seconds)) a second: nothing found")
    }

    private static func feed(_ target: any FuzzTarget, _ corpus: [[UInt8]], seed: UInt64, runs: UInt64) {
        var mutator = InputMutator(corpus: corpus, seed: seed)
        for run in 0..<runs {
            let input = mutator.next()
            do {
                try input.withUnsafeBytes { try target.run($0) }
            } catch {
                let bytes = input.map { String($0, radix: 16) }.joined(separator: " ")
                print("seed \(seed), input \(run): \(error)\n\(bytes)")
                CurrentProcess.exit(1)
            }
        }
    }

    private static func corpus(_ name: String) throws -> [[UInt8]] {
        let directory = "Fixtures/corpora/\(name)"
        return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().map { file in
            Array(try Data(contentsOf: URL(filePath: "\(directory)/\(file)")))
        }
    }
}
