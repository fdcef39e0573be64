import DomainEvents
import Journal
import SupervisorConfiguration

/// The journal that a supervisor writes as its configuration says.
struct RunningJournal {
    let journal: EventJournal

    /// Opens the journal, and records the named events from now on.
    ///
    /// - Parameter directory: the journal's directory, as a path that this process can open.
    /// - Throws: ``JournalError``; ``DeliveryError`` if a name is invalid, or belongs to a type.
    init(_ settings: KeptEvents, at directory: String, of publisher: EventPublisher) throws {
        let durability: JournalDurability =
            switch settings.durability {
            case .process: .process
            case .machine: .machine(within: settings.within)
            }
        let whenFull: JournalFullPolicy =
            switch settings.whenFull {
            case .refuse: .refuse
            case .removeOldest: .removeOldest
            }
        journal = try EventJournal(
            at: directory,
            durability: durability,
            retention: JournalRetention(bytes: settings.bytes, age: settings.age),
            whenFull: whenFull
        )
        journal.record(named: settings.events, of: publisher)
        // The supervisor has no types for these events.
        for name in settings.events { try publisher.useUntyped(name) }
    }

    /// What was found missing or broken when the journal was opened, each as a sentence.
    var findings: [String] { Self.findings(in: journal.recovery) }

    static func findings(in recovery: JournalRecovery) -> [String] {
        let (torn, unprotected) = (recovery.tornBytes, recovery.unprotectedEvents)
        let end = torn == 0 ? [] : ["the journal ended with \(torn) bytes that are no whole event or note"]
        let removed = "the disk is full: the journal removed segments with owed events or dead letters"
        let owed = "which are lost if this process is killed"
        return end + (unprotected == 0 ? [] : ["\(removed): \(unprotected), \(owed)"])
            + recovery.gaps.map { "the journal: \($0)" }
    }

    /// Why a journal cannot keep these events, each as a sentence with its key.
    static func mistakes(in settings: KeptEvents?) -> [String] {
        (settings?.events ?? []).filter { WorkerReporter.reports.contains(EventName($0)) }
            .map { "journal.events: \($0) is a report about the bridge, and reports are not recorded" }
    }
}
