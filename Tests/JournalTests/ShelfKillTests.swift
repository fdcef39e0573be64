import Testing

@Suite("A projection whose process is killed")
struct ShelfKillTests {
    @Test(
        "J17: killed at each step, before and after each event and each call for the file: each event counts once",
        .timeLimit(.minutes(10))
    )
    func fileAtEachStep() throws {
        let keeping = try ShelfKeeping("file")
        // An event has two steps, and a saving of the state twelve.
        #expect(try keeping.killAtEachStep(events: 3) >= 3 * 14)
    }

    @Test("J17: killed anywhere in a burst: each event counts once", .timeLimit(.minutes(5)))
    func fileInBurst() throws {
        let keeping = try ShelfKeeping("file")
        for kill in 0..<12 {
            try keeping.kill(after: 1 + kill * kill * 13)
            #expect(try keeping.isRight(), "kill \(kill)")
        }
    }
}
