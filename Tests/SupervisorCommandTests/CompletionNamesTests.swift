import Testing

@testable import supervisor

@Suite("What a completion script asks for")
struct CompletionNamesTests {
    @Test(
        "a name that a shell would take for more than a word is not offered",
        arguments: [
            ("BoxOrdered", true), ("Shelf.Box-2_b", true), ("Größe", true), ("$(halt)", false), ("a b", false),
            ("`halt`", false), ("a;b", false), ("-n", false), ("*", false), ("a\nb", false), ("~", false),
        ]
    )
    func plainNames(name: String, isOffered: Bool) {
        #expect(CompletionNames.isPlain(name) == isOffered)
    }

    @Test("is a kind of names and perhaps a control socket; it is in no help")
    func arguments() throws {
        let names = try #require(CompletionNames(["events", "run/s"]))
        #expect(names.kind == .events && names.control == "run/s")
        #expect(CompletionNames(["workers"])?.control == nil)
        for arguments in [[], ["tables"], ["workers", "a", "b"]] as [ArraySlice<String>] {
            #expect(CompletionNames(arguments) == nil)
        }
        #expect(try CommandLineParser.parse([CompletionNames.word, "events", "run/s"]) == .completionNames(names))
        #expect(throws: UsageError.self) { try CommandLineParser.parse([CompletionNames.word]) }
        #expect(!HelpText.text(nil).contains(CompletionNames.word))
    }
}
