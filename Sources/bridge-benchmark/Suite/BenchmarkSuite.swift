import BridgePlatform

/// Runs the requested works in rounds, each work in a process of its own, and shows the results.
///
/// Every other round goes from the last work to the first, so a machine that gets slower affects all works alike.
struct BenchmarkSuite {
    /// The time limit of a work: far more than any work needs.
    private static let limit: Duration = .seconds(900)

    private let options: SuiteOptions
    private let before: MeasurementTable?
    private let file: SystemFile?

    /// Opens the files that the options name, before anything is measured.
    init(_ options: SuiteOptions) throws(SuiteError) {
        self.options = options
        do throws(MeasurementError) {
            before = try options.comparison.map { path throws(MeasurementError) in
                MeasurementTable(try MeasurementFile.read(path))
            }
        } catch {
            throw .badInput(error.description)
        }
        if case .file(let path) = options.json {
            do throws(SystemFileError) {
                file = try SystemFile.create(path)
            } catch {
                throw .failed("\(path) cannot be written: \(error)")
            }
        } else {
            file = options.json == .standardOutput ? .standardOutput : nil
        }
    }

    func run() async throws(SuiteError) {
        let works = options.works
        var found = Array(repeating: [Measurement](), count: works.count)
        var failures: [String] = []
        for round in 1...options.rounds {
            let order = round.isMultiple(of: 2) ? Array(works.indices.reversed()) : Array(works.indices)
            for index in order {
                let arguments = works[index].arguments(isQuick: options.isQuick)
                let name = arguments.dropLast().joined(separator: " ")
                CurrentProcess.report("round \(round) of \(options.rounds): \(name)")
                do throws(MeasurementError) {
                    let measurements = try await measure(arguments)
                    found[index] += measurements
                    for measurement in measurements { try write(measurement, round) }
                } catch {
                    failures.append("\(name), round \(round): \(error)")
                    CurrentProcess.report("failed: \(error)")
                }
            }
        }
        if options.json != .standardOutput {
            let table = MeasurementTable(found.flatMap { $0 })
            CurrentProcess.writeAll(
                table.text(comparedWith: before) + "\n\n" + FigureKind.explanation
                    + "\n\(options.rounds) rounds, \(CurrentProcess.processorCount()) processors\n",
                to: 1
            )
        }
        if !failures.isEmpty { throw .failed("not measured:\n  " + failures.joined(separator: "\n  ")) }
    }

    private func measure(_ arguments: [String]) async throws(MeasurementError) -> [Measurement] {
        let (output, status): (String, ExitStatus)
        do {
            // The work's own directory lies in this one, which is removed even if the work's process is killed.
            (output, status) = try await BenchmarkDirectory.with { directory in
                let program = try OwnProgram(arguments, directory: directory.path)
                let watchdog = Task {
                    try await Task.sleep(for: Self.limit)
                    program.kill()
                }
                defer { watchdog.cancel() }
                return await program.finish()
            }
        } catch {
            throw MeasurementError("\(error)")
        }
        guard status == .exited(code: 0) else { throw MeasurementError("its process \(status)") }
        return try MeasurementFile.parse(output, file: "output")
    }

    private func write(_ measurement: Measurement, _ round: Int) throws(MeasurementError) {
        guard let file else { return }
        let line = measurement.text.dropLast() + ",\"round\":\(round)}\n"
        if case .failed(let error, _) = file.write(Array(line.utf8)) {
            throw MeasurementError("its measurements cannot be written: \(error)")
        }
    }
}

/// Why a run of many works has failed.
enum SuiteError: Error, CustomStringConvertible {
    /// A file cannot be read, or has other content than expected.
    case badInput(String)
    case failed(String)

    var description: String {
        switch self {
        case .badInput(let sentence), .failed(let sentence): sentence
        }
    }
}
