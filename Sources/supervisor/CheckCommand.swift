import BridgePlatform
import EventBridge
import SupervisorConfiguration

/// `supervisor check`: names every mistake of a configuration.
struct CheckCommand {
    let configuration: String

    /// The status, and what to print: on standard output if all is right.
    func run() -> (status: ProgramStatus, text: String) {
        do throws(SupervisorConfigurationError) {
            let programs = ProgramSearch(configuration: configuration, missing: nil)
            let found = try SupervisorConfiguration.load(file: configuration, programs: programs)
            let workers = found.workers.count == 1 ? "1 worker" : "\(found.workers.count) workers"
            let right = "\(TerminalText.harmless(configuration)): \(workers), configuration is right"
            return (.success, ([right] + Self.lacks(of: found)).joined(separator: "\n"))
        } catch {
            return (error.status, error.description)
        }
    }

    /// What this system lacks for the boxes of workers: the configuration may be meant for another one.
    private static func lacks(of configuration: SupervisorConfiguration) -> [String] {
        configuration.workerSpecifications.flatMap { worker -> [String] in
            guard let box = worker.box else { return [] }
            let here = "note: on this system the box of worker \"\(worker.name)\""
            do {
                return try box.missingHere().map { "\(here) lacks a part: \($0)" }
            } catch {
                return ["\(here) could not be tried: \(error)"]
            }
        }
    }
}

extension SupervisorConfigurationError {
    var status: ProgramStatus {
        switch self {
        case .unreadable, .directory: .noInput
        case .tooLarge, .syntax, .mistakes: .configuration
        }
    }
}
