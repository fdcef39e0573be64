/// `supervisor check`: names every mistake of a configuration.
struct CheckCommand {
    let configuration: String

    /// The status, and what to print: on standard output if all is right.
    func run() -> (status: ProgramStatus, text: String) {
        do throws(SupervisorConfigurationError) {
            let programs = ProgramSearch(configuration: configuration, missing: nil)
            let found = try SupervisorConfiguration.load(file: configuration, programs: programs)
            let workers = found.workers.count == 1 ? "1 worker" : "\(found.workers.count) workers"
            return (.success, "\(TerminalText.harmless(configuration)): \(workers), configuration is right")
        } catch {
            return (error.status, error.description)
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
