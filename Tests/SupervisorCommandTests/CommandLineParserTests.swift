import Testing

@testable import supervisor

@Suite("Command line")
struct CommandLineParserTests {
    private func parse(_ line: String) throws(UsageError) -> Invocation {
        try CommandLineParser.parse(line.split(separator: " ").map(String.init))
    }

    private func mistake(_ line: String) -> String? {
        do {
            _ = try parse(line)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("reads run with every option, in any order and both spellings")
    func readsRun() throws {
        var options = RunOptions(configuration: "bridge.json5")
        #expect(try parse("run bridge.json5") == .run(options))
        options.input = .standardInput
        #expect(try parse("run --input - bridge.json5") == .run(options))
        options.input = .file("a=b")
        options.format = .json
        options.exitsWhenIdle = true
        options.isStrict = true
        #expect(
            try parse("run --strict --format json bridge.json5 --input=a=b --exit-when-idle") == .run(options)
        )
    }

    @Test("takes what follows -- as it is")
    func endsOptions() throws {
        #expect(try parse("run -- --strict") == .run(RunOptions(configuration: "--strict")))
        #expect(try parse("check -- -") == .check(configuration: "-"))
    }

    @Test("answers every way to ask for help")
    func help() throws {
        for line in ["help", "--help", "-h", "help help"] { #expect(try parse(line) == .help(.supervisor)) }
        for line in ["help run", "run --help", "run -h x y z"] { #expect(try parse(line) == .help(.run)) }
        for line in ["help check", "check --help"] { #expect(try parse(line) == .help(.check)) }
        #expect(try parse("--version") == .version)
        for topic in [HelpTopic.supervisor, .run, .check] {
            for line in HelpText.text(topic).split(separator: "\n") { #expect(line.unicodeScalars.count <= 120) }
        }
    }

    @Test(
        "answers what it does not understand with what it found and what is right",
        arguments: [
            ("", "found no subcommand, expected run, check or help"),
            ("chekc x", "found the unknown subcommand \"chekc\"; did you mean \"check\"?"),
            ("--hepl", "found the unknown option \"--hepl\"; did you mean \"--help\"?"),
            ("tail", "\"tail\" is not supported yet; so far there are run, check and help"),
            ("run", "found no configuration, expected the name of its file"),
            ("run a b", "found \"b\" after the configuration, expected nothing more"),
            (
                "run a --exit-when-idel",
                "found the unknown option \"--exit-when-idel\"; did you mean \"--exit-when-idle\"?"
            ),
            ("run a --input", "found nothing after --input, expected a file, or - for standard input"),
            ("run a --input=", "found nothing as the value of --input, expected a file, or - for standard input"),
            ("run a --format jsn", "found the format \"jsn\", expected text or json; did you mean \"json\"?"),
            ("run a --strict=yes", "found the value \"yes\" after --strict, which takes none"),
            ("check a --strict", "found the unknown option \"--strict\"; known here are --help"),
        ]
    )
    func refuses(line: String, sentence: String) {
        #expect(mistake(line) == sentence)
    }

    @Test("says of an option that is to come that it is not there yet")
    func announcedOption() {
        #expect(mistake("run a --control x")?.hasPrefix("--control is not supported yet") == true)
    }
}

@Suite("Requests to stop")
struct StopRequestsTests {
    @Test("count, but signals that came in one go count as one")
    func counting() {
        let requests = StopRequests()
        #expect(requests.next(at: 5) == 1)
        #expect(requests.next(at: 6) == nil)
        #expect(requests.next(at: 5 + StopRequests.distance) == 2)
        #expect(requests.next(at: 6 + 2 * StopRequests.distance) == 3)
    }
}
