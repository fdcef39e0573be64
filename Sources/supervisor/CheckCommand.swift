import BridgeControl
import BridgePlatform
import DomainEvents
import EventBridge
import Journal
import SupervisorConfiguration

/// `supervisor check`: reports the mistakes of a configuration; a mistake in the syntax hides the others.
struct CheckCommand {
    let configuration: String

    /// The status and the text to print, which goes to standard output if all is right.
    func run() -> (status: ProgramStatus, text: String) {
        do throws(SupervisorConfigurationError) {
            let programs = ProgramSearch(configuration: configuration, missing: nil)
            let found = try SupervisorConfiguration.load(file: configuration, programs: programs)
            let mistakes =
                WorkerSpecification.validate(
                    found.workerSpecifications,
                    automaticShutdown: found.bridgeShutdown
                ) + RunningJournal.mistakes(in: found.journal)
            guard mistakes.isEmpty else {
                return (.configuration, mistakes.map { "\(configuration): \($0)" }.joined(separator: "\n"))
            }
            let workers = found.workers.count == 1 ? "1 worker" : "\(found.workers.count) workers"
            let right = "\(TerminalText.harmless(configuration)): \(workers), configuration is right"
            let notes =
                Self.lacks(of: found) + Self.neverTaken(of: found) + Self.importers(of: found)
                + Self.open(found.control.map(programs.fromConfiguration))
                + Self.unsuitable(found.journal.map { programs.fromConfiguration($0.directory) })
            return (.success, ([right] + notes).joined(separator: "\n"))
        } catch {
            return (error.status, error.description)
        }
    }

    /// Notes about events that a worker's `publishes` lists, but that a host takes from no worker.
    private static func neverTaken(of configuration: SupervisorConfiguration) -> [String] {
        let names = ControlEventNames.commands.union(ControlEventNames.answers)
        return configuration.workers.flatMap { worker in
            (worker.publishes ?? []).filter { names.contains(EventName($0)) }.map {
                """
                note: worker "\(worker.name)" publishes \($0), which no worker may publish: only hosts and clients \
                exchange it
                """
            }
        }
    }

    /// Notes about workers that may import events of any name from other machines.
    private static func importers(of configuration: SupervisorConfiguration) -> [String] {
        configuration.workers.filter { $0.mayImport && $0.publishes == nil }.map {
            """
            note: worker "\($0.name)" may import events of any name from other machines; `publishes` could name the \
            events that it needs
            """
        }
    }

    /// A note if the control socket's directory is open to other users, because a host refuses such a directory; it is
    /// only a note, because the supervisor may run as another user than this process.
    private static func open(_ control: String?) -> [String] {
        guard let control, let slash = control.lastIndex(of: "/") else { return [] }
        let directory = String(control[..<slash])
        guard let mode = OperatingSystem.status(of: directory)?.permissions, mode & 0o077 != 0 else { return [] }
        return [
            """
            note: the control socket's directory \(TerminalText.harmless(directory)) is open to other users \
            (\(String(mode, radix: 8))); expected one that only its user may enter (700)
            """
        ]
    }

    /// A note if the journal's directory exists, but cannot hold a journal.
    private static func unsuitable(_ directory: String?) -> [String] {
        guard let directory, OperatingSystem.status(of: directory) != nil else { return [] }
        do throws(JournalError) {
            _ = try JournalPlace(at: directory, makes: false)
            return []
        } catch {
            return ["note: \(TerminalText.harmless(error.description))"]
        }
    }

    /// Notes about parts of boxes that this system lacks; the configuration may be meant for a system that has them.
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
