import BridgePlatform
import DomainEvents
import Locks

/// A projection that follows its journal; made by ``EventJournal/project(_:keptIn:saving:)``.
///
/// It ends when the journal is closed or cannot be read, when ``close()`` is called, or when it is released. At its end
/// it saves its state. If the process is killed, the next start continues from the state that was saved last. The state
/// and its position are one file, so each event changes the state exactly once.
///
/// All members may be used from any thread.
public final class RunningProjection<State: Projection>: Sendable {
    private let shared: ProjectedState<State>
    private let task: Task<Void, Never>

    init(
        _ reading: JournalReading,
        _ file: ProjectionFile,
        _ start: ProjectionFile.Content<State>,
        _ saving: ProjectionSaving
    ) {
        let shared = ProjectedState(start.state, at: start.head.position)
        self.shared = shared
        let follower = ProjectionFollower(reading, file, start.head, shared, saving)
        task = Task.detached(executorPreference: Simulation.taskExecutor) { await follower.run() }
    }

    deinit { task.cancel() }

    /// The present state.
    ///
    /// It has every event up to some position, and no later one. The call waits while a portion of events, 1,024 at
    /// most, is applied. The projection's own rules may not call this: they would wait for their own end.
    public var state: State { shared.current.state }

    /// The position up to which every event is in the state, or does not concern the projection.
    public var position: UInt64 { shared.reached }

    /// The state and its position at the same moment.
    public var current: (state: State, position: UInt64) { shared.current }

    /// Why the last attempt to save the state failed; nil if it did not fail.
    ///
    /// The next attempt follows as events come.
    public var saveFailure: JournalError? { shared.saveFailure }

    /// Returns when the state has every event up to a position, for example ``JournalStatus/lastPosition``.
    ///
    /// - Throws: ``JournalError`` if the projection ends before that, `CancellationError` if the task is cancelled.
    public func reach(_ position: UInt64) async throws { try await shared.reach(position) }

    /// Ends the projection, and returns when its state is saved and another projection may use its file.
    ///
    /// Events that the projection has not read yet are read at the next start.
    /// - Throws: ``JournalError`` if the state could not be saved.
    public func close() async throws {
        task.cancel()
        await task.value
        if let failure = saveFailure { throw failure }
    }
}

/// How often a projection saves its state.
///
/// A killed process costs no event, as long as the journal still keeps the events after the saved position: the next
/// start reads them again.
public struct ProjectionSaving: Sendable, Hashable {
    /// How far the journal's positions have to advance before the state is saved again, at least 1.
    public var positions: UInt64

    /// The shortest time from one attempt to save the state to the next, while events come.
    public var pause: Duration

    /// Makes the settings; whatever they are, the state is also saved when the projection ends.
    public init(positions: UInt64 = 10_000, pause: Duration = .seconds(1)) {
        self.positions = positions
        self.pause = pause
    }
}
