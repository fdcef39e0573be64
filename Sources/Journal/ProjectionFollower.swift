import BridgePlatform
import DomainEvents
import Locks

/// Reads a journal for a projection: applies the events in portions, and saves the state.
final class ProjectionFollower<State: Projection>: @unchecked Sendable {
    // Sendable: only the task that calls `run` uses what is mutable.
    private let reading: JournalReading
    private let file: ProjectionFile
    private let shared: ProjectedState<State>
    private let saving: ProjectionSaving
    private let rules = ProjectionRules<State>()
    private let journal: UInt64
    private var last: RecordMark?
    private var savedPosition: UInt64
    private var savedAt = MonotonicClock.now()

    init(
        _ reading: JournalReading,
        _ file: ProjectionFile,
        _ head: ProjectionFile.Head,
        _ shared: ProjectedState<State>,
        _ saving: ProjectionSaving
    ) {
        self.reading = reading
        self.file = file
        self.shared = shared
        self.saving = saving
        journal = head.journal
        last = head.last
        savedPosition = head.position
    }

    func run() async {
        var end: Result<Void, any Error> = .success(())
        do {
            while let portion = try await reading.nextPortion() {
                shared.change(to: portion.position) { state in rules.apply(portion.steps, to: &state) }
                last = portion.last ?? last
                if isDue { await save() }
            }
        } catch {
            end = .failure(error)
        }
        if shared.reached != savedPosition { await save() }
        file.close()
        shared.ended(end)
    }

    /// Whether enough events have passed since the last save, and enough time since the last attempt to save.
    private var isDue: Bool {
        let (waited, _) = MonotonicClock.now().subtractingReportingOverflow(savedAt)
        let advance = shared.reached - savedPosition
        return advance >= max(1, saving.positions) && waited >= saving.pause.nanoseconds
    }

    /// Saves the state on another thread, because the file system may be slow.
    private func save() async {
        let (state, position) = shared.current
        let head = ProjectionFile.Head(
            projection: State.projectionName,
            revision: State.revision,
            journal: journal,
            position: position,
            last: last
        )
        savedAt = MonotonicClock.now()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            StrandExecutor.anywhere.schedule { [file, shared] in
                do throws(JournalError) {
                    try file.replace(with: try file.encoded(.init(head: head, state: state)))
                    shared.saveFailure = nil
                } catch {
                    shared.saveFailure = error
                }
                continuation.resume()
            }
        }
        if shared.saveFailure == nil { savedPosition = position }
    }
}
