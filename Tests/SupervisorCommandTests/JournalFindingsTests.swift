import Testing

@testable import Journal
@testable import supervisor

@Suite("What a supervisor says of the journal that it has opened")
struct JournalFindingsTests {
    private var recovery = JournalRecovery(lastPosition: 3, wasClosed: false, tornBytes: 0, gaps: [])

    @Test("Nothing, if all is in order")
    func nothing() {
        #expect(RunningJournal.findings(in: recovery).isEmpty)
    }

    @Test("How many bytes at the end are no whole event or note")
    func torn() {
        let recovery = JournalRecovery(lastPosition: 3, wasClosed: false, tornBytes: 700, gaps: [])
        let finding = "the journal ended with 700 bytes that are no whole event or note"
        #expect(RunningJournal.findings(in: recovery) == [finding])
    }

    @Test("How many owed events are in no file any more")
    mutating func unprotected() {
        recovery.unprotectedEvents = 7
        #expect(
            RunningJournal.findings(in: recovery) == [
                """
                the disk is full: the journal removed segments with owed events or dead letters: 7, which are lost if \
                this process is killed
                """
            ]
        )
    }
}
