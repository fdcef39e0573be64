import BridgePlatform
import Journal

/// `supervisor journal`: lists, shows, replays, verifies, trims or salvages the events of a journal.
struct JournalCommand {
    let options: JournalOptions

    func run(printing: (String) -> PrintOutcome) async throws(RunFailure) -> ProgramStatus {
        func say(_ text: String) -> ProgramStatus { printing(text).status }
        do {
            let journal = try StoredJournal(at: options.directory)
            return switch options.action {
            case .list: say(JournalText.list(journal.listed, isJSON: options.isJSON))
            case .show(let selection): try show(journal, selection, printing)
            case .replay(let selection, let target):
                try await ReplayCommand(selection: selection, target: target, isJSON: options.isJSON)
                    .run(journal, printing: say)
            case .verify: try verify(journal, say)
            case .trim(let position): say(JournalText.trimmed(try trim(journal, position), isJSON: options.isJSON))
            case .salvage(let directory): try salvage(journal, into: directory, say)
            }
        } catch let failure as RunFailure {
            throw failure
        } catch let error as JournalError {
            throw RunFailure(
                status: error.code == .inUse ? .workerUnavailable : .noInput,
                description: TerminalText.harmlessLines("supervisor: \(error)")
            )
        } catch {
            throw RunFailure(status: .system, description: "supervisor: \(error)")
        }
    }

    /// Shows events until the end, the limit or a failure, or until there is no reader any more.
    private func show(
        _ journal: StoredJournal,
        _ selection: JournalSelection,
        _ printing: (String) -> PrintOutcome
    ) throws -> ProgramStatus {
        var left = selection.limit ?? .max
        var outcome = PrintOutcome.printed
        guard left > 0 else { return .success }
        try journal.read(after: selection.position, where: selection.query) { step in
            outcome = printing(JournalText.line(step, isJSON: options.isJSON))
            if case .event = step { left -= 1 }
            return left > 0 && outcome == .printed
        }
        return outcome.status
    }

    private func verify(_ journal: StoredJournal, _ say: (String) -> ProgramStatus) throws -> ProgramStatus {
        var gaps: [JournalGap] = []
        let positions = try journal.verify { gaps.append($0) }
        // What lay in segments that were removed meanwhile is no part of the journal any more.
        gaps.removeAll { gap in gap.positions.map { $0.upperBound <= positions.lowerBound } ?? false }
        let verdict = JournalText.Verdict(
            positions: positions,
            segments: journal.catalog.segments.count,
            gaps: gaps,
            lacksEnd: journal.lacksEnd
        )
        let status = say(JournalText.verdict(verdict, isJSON: options.isJSON))
        return status == .success && !gaps.isEmpty ? .badInput : status
    }

    private func salvage(
        _ journal: StoredJournal,
        into directory: String,
        _ say: (String) -> ProgramStatus
    ) throws -> ProgramStatus {
        var gaps: [JournalGap] = []
        let count = try journal.salvage(into: directory) { gaps.append($0) }
        let status = say(JournalText.salvaged(count, gaps, lacksEnd: journal.lacksEnd, isJSON: options.isJSON))
        return status == .success && !gaps.isEmpty ? .badInput : status
    }

    private func trim(_ journal: StoredJournal, _ position: UInt64) throws -> [ListedSegment] {
        let before = journal.listed
        let removed = Set(try journal.trim(before: position).map(\.fileName))
        return before.filter { removed.contains($0.file) }
    }
}
