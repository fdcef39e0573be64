import BridgePlatform
import Supervision
import Testing

@testable import supervisor

@Suite("Command line")
struct CommandLineParserTests {
    private func parse(_ line: String) throws(UsageError) -> Invocation {
        try CommandLineParser.parse(line.split(separator: " ").map(String.init))
    }

    /// The known subcommands, in a sentence.
    private static let known = {
        let names = Subcommand.Name.allCases.map(\.rawValue)
        return "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
    }()

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

    @Test("takes a number behind --dashboard as its port, and nothing else")
    func readsDashboard() throws {
        var options = RunOptions(configuration: "bridge.json5")
        options.dashboard = 8_765
        #expect(try parse("run bridge.json5 --dashboard") == .run(options))
        #expect(try parse("run --dashboard bridge.json5") == .run(options))
        options.dashboard = 0
        #expect(try parse("run --dashboard 0 bridge.json5") == .run(options))
        #expect(try parse("run bridge.json5 --dashboard=0") == .run(options))
        options.isStrict = true
        #expect(try parse("run bridge.json5 --dashboard 0 --strict") == .run(options))
        for wrong in ["--dashboard 65536", "--dashboard=page", "--dashboard=-1"] {
            let said = try #require(mistake("run bridge.json5 \(wrong)"))
            #expect(said.hasSuffix("after --dashboard, expected a port from 0 to 65535"), "\(said)")
        }
    }

    @Test("takes what follows -- as it is")
    func endsOptions() throws {
        #expect(try parse("run -- --strict") == .run(RunOptions(configuration: "--strict")))
        #expect(try parse("check -- -") == .check(configuration: "-"))
    }

    @Test("reads what a drawing is to be written in")
    func readsGraph() throws {
        #expect(try parse("graph c") == .graph(configuration: "c", .mermaid))
        #expect(try parse("graph --format=dot c") == .graph(configuration: "c", .dot))
        #expect(try parse("graph c --dot") == .graph(configuration: "c", .dot))
    }

    @Test("reads for how long and into what a trace is recorded")
    func readsTrace() throws {
        guard case .trace(let options) = try parse("trace --control s --for 1500ms --output=t.json") else {
            Issue.record("it is no trace")
            return
        }
        #expect(options.control == "s" && options.output == .file("t.json"))
        #expect(options.duration == .milliseconds(1_500))
        guard case .trace(let other) = try parse("trace --output - --for 1h") else {
            Issue.record("it is no trace")
            return
        }
        #expect(other.control == nil && other.output == .standardOutput && other.duration == .seconds(3_600))
    }

    @Test(
        "a duration that is none, or too long, and what nothing goes without, are named",
        arguments: [
            (
                "trace --for 5 --output t",
                "found \"5\" after --for, expected a unit after the number, one of ns, us, ms, s, m, h"
            ),
            (
                "trace --for soon --output t",
                "found \"soon\" after --for, expected a duration such as \"5s\" or \"100ms\""
            ),
            ("trace --for 0s --output t", "found \"0s\" after --for, expected 1ms to 1h"),
            ("trace --for 61m --output t", "found \"61m\" after --for, expected 1ms to 1h"),
            ("trace --output t", "found no --for, expected a duration such as 10s or 500ms, from 1ms to 1h"),
            ("trace --for 1s", "found no --output, expected a file, or - for standard output"),
        ]
    )
    func tracesMistakes(line: String, sentence: String) {
        #expect(mistake(line) == sentence)
    }

    @Test(
        "reads what is to be done with which journal",
        arguments: [
            ("journal list d", JournalOptions(directory: "d", .list)),
            ("journal verify d --json", JournalOptions(directory: "d", isJSON: true, .verify)),
            (
                "journal show d",
                JournalOptions(directory: "d", .show(JournalSelection()))
            ),
            (
                "journal show d --after 7 --limit=3 --event A --from host",
                JournalOptions(directory: "d", .show(JournalSelection(after: 7, limit: 3, event: "A", origin: "host")))
            ),
            (
                "journal replay d --to a --after 7 --event A --speed 2.5x --control s",
                JournalOptions(
                    directory: "d",
                    .replay(
                        JournalSelection(after: 7, event: "A"),
                        ReplayTarget("a", pace: .asItWas(times: 2.5), control: "s")
                    )
                )
            ),
            ("journal replay d --to a", JournalOptions(directory: "d", .replay(JournalSelection(), ReplayTarget("a")))),
            ("journal trim d --before 9", JournalOptions(directory: "d", .trim(before: 9))),
            ("journal salvage d --into e", JournalOptions(directory: "d", .salvage(into: "e"))),
        ]
    )
    func readsJournal(line: String, options: JournalOptions) throws {
        #expect(try parse(line) == .journal(options))
    }

    @Test(
        "reads what is to be done to which dead letters",
        arguments: [
            ("dead-letters", DeadLettersOptions(.list(event: nil, worker: nil))),
            (
                "dead-letters --json --control s",
                DeadLettersOptions(control: "s", isJSON: true, .list(event: nil, worker: nil))
            ),
            ("dead-letters list --event A --worker=b", DeadLettersOptions(.list(event: "A", worker: "b"))),
            ("dead-letters show 7", DeadLettersOptions(.show([7]))),
            ("dead-letters redeliver 3 1 18446744073709551615", DeadLettersOptions(.redeliver([3, 1, .max]))),
            ("dead-letters --json discard 1 2", DeadLettersOptions(isJSON: true, .discard([1, 2]))),
        ]
    )
    func readsDeadLetters(line: String, options: DeadLettersOptions) throws {
        #expect(try parse(line) == .deadLetters(options))
    }

    @Test("reads which worker is to be started, and which signal it is to be sent")
    func readsStartAndSignal() throws {
        #expect(try parse("start store --control s") == .start(worker: "store", control: "s"))
        let hangUp = try #require(SignalNumber("SIGHUP"))
        for word in ["HUP", "SIGHUP", "hup", "1"] {
            #expect(try parse("signal store \(word)") == .signal(worker: "store", hangUp, control: nil))
        }
    }

    @Test("reads how long a reload is waited for")
    func readsReload() throws {
        #expect(
            try parse("reload --control s --within 5s") == .reload(ReloadOptions(control: "s", within: .seconds(5)))
        )
        #expect(try parse("reload") == .reload(ReloadOptions(within: .seconds(600))))
        #expect(
            mistake("reload --within soon")?.hasPrefix("found \"soon\" after --within, expected a duration") == true
        )
        #expect(mistake("reload now") == "found \"now\", expected nothing more")
    }

    @Test("reads whose lines are shown, and whether they are followed")
    func readsLogs() throws {
        #expect(try parse("logs store") == .logs(LogsOptions(worker: "store", control: nil, follows: false)))
        #expect(
            try parse("logs --follow --control s a.1") == .logs(LogsOptions(worker: "a.1", control: "s", follows: true))
        )
        #expect(mistake("logs") == "found no worker, expected the name of a worker or a pool")
    }

    @Test("reads what is requested, and which events answer it")
    func readsRequest() throws {
        guard case .request(let options) = try parse("request A {} --awaiting B --or-failing=C --within 5s --json")
        else {
            Issue.record("it is no request")
            return
        }
        #expect(options.name == "A" && options.json == "{}" && options.answer == "B" && options.failure == "C")
        #expect(options.limit == .seconds(5) && options.isJSON && options.control == nil)
        guard case .request(let other) = try parse("request A - --awaiting B --control s") else {
            Issue.record("it is no request")
            return
        }
        #expect(other.failure == nil && other.limit == .seconds(30) && !other.isJSON && other.control == "s")
    }

    @Test("reads the name of a shell", arguments: CompletionScript.Shell.allCases)
    func readsCompletion(shell: CompletionScript.Shell) throws {
        #expect(try parse("completion \(shell.rawValue)") == .completion(shell))
    }

    @Test("answers every way to ask for help")
    func help() throws {
        for line in ["help", "--help", "-h", "help help"] { #expect(try parse(line) == .help(nil)) }
        for name in Subcommand.Name.allCases where name != .help {
            for line in ["help \(name.rawValue)", "\(name.rawValue) --help", "\(name.rawValue) -h x y z"] {
                #expect(try parse(line) == .help(name))
            }
        }
        #expect(try parse("--version") == .version)
    }

    @Test("tells of each subcommand how it is written, and of each option what it does", arguments: Subcommand.all)
    func helpText(subcommand: Subcommand) {
        let text = HelpText.text(subcommand.name)
        #expect(text.hasPrefix(subcommand.purpose))
        #expect(text.contains("\n  supervisor \(subcommand.name.rawValue)"))
        for option in subcommand.options { #expect(text.contains("\n  \(option.name)")) }
        for line in "\(text)\n\(HelpText.text(nil))".split(separator: "\n") {
            #expect(line.unicodeScalars.count <= 120)
        }
        #expect(HelpText.text(nil).contains("  supervisor \(subcommand.name.rawValue)"))
        #expect(Subcommand.named(subcommand.name).name == subcommand.name)
    }

    @Test(
        "answers what it does not understand with what it found and what is right",
        arguments: [
            ("", "found no subcommand, expected \(known)"),
            ("chekc x", "found the unknown subcommand \"chekc\"; did you mean \"check\"?"),
            ("--hepl", "found the unknown option \"--hepl\"; did you mean \"--help\"?"),
            ("tail x", "found \"x\", expected nothing more"),
            ("tail --format xml", "found the format \"xml\", expected text or json"),
            ("publish", "found no name, expected the name of an event"),
            (
                "publish A",
                "found no JSON, expected an object with the event's fields, or - for standard input"
            ),
            ("publish --within 0s A {}", "found \"0s\" after --within, expected a time above 0"),
            ("request A {} --awaiting B --within 0ms", "found \"0ms\" after --within, expected a time above 0"),
            ("reload --within=0h", "found \"0h\" after --within, expected a time above 0"),
            ("publish A {} {}", "found \"{}\" after the JSON, expected nothing more"),
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
            ("graph", "found no configuration, expected the name of its file"),
            ("graph a --format dto", "found the format \"dto\", expected mermaid or dot; did you mean \"dot\"?"),
            ("completion", "found no shell, expected bash, zsh or fish"),
            ("completion bsh", "found the shell \"bsh\", expected bash, zsh or fish; did you mean \"bash\"?"),
            ("help chekc", "found the subcommand \"chekc\", expected one of them; did you mean \"check\"?"),
            ("start", "found no worker, expected the name of a worker or a pool"),
            ("signal a", "found no signal, expected a name such as HUP or SIGHUP, or its number"),
            ("signal a nothing", "found the signal \"nothing\", expected a name such as HUP or SIGHUP, or its number"),
            ("signal a 0", "found the signal \"0\", expected a name such as HUP or SIGHUP, or its number"),
            ("signal a HUP 2", "found \"2\" after the signal, expected nothing more"),
            ("journal", "found no action, expected list, show, replay, verify, trim or salvage"),
            ("journal replay d", "found no --to with replay, expected the name of a worker"),
            (
                "journal replay d --to a --speed 0x",
                "found \"0x\" after --speed, expected how many times as fast as the events were published, such as 1x, 10x or 0.5x"
            ),
            ("journal show d --to a", "found --to with show, expected it with replay only"),
            (
                "journal show d --since noon",
                "found \"noon\" after --since, expected a time such as 2026-11-26T06:00:00Z"
            ),
            ("journal list", "found no directory, expected a journal's directory"),
            ("journal trim d", "found no --before with trim, expected the position of an event"),
            ("journal salvage d", "found no --into with salvage, expected a directory that is not there yet"),
            ("journal verify d --into e", "found --into with verify, expected it with salvage only"),
            ("journal trim d --before x", "found \"x\" after --before, expected the position of an event"),
            ("journal list d --after 3", "found --after with list, expected it with show and replay only"),
            ("journal show d --before 3", "found --before with show, expected it with trim only"),
            ("journal show d --limit -1", "found \"-1\" after --limit, expected a number of events"),
            (
                "dead-letters lst",
                "found the action \"lst\", expected list, show, redeliver or discard; did you mean \"list\"?"
            ),
            ("dead-letters list 5", "found \"5\" after list, expected nothing more"),
            ("dead-letters show", "found no ID, expected the number of a dead letter"),
            ("dead-letters discard 1 two", "found the ID \"two\", expected the number of a dead letter"),
            ("dead-letters redeliver 0", "found the ID \"0\", expected the number of a dead letter"),
            (
                "dead-letters show 18446744073709551616",
                "found the ID \"18446744073709551616\", expected the number of a dead letter"
            ),
            ("dead-letters discard 1 --event A", "found --event with discard, expected it with list only"),
            ("dead-letters --worker a show 1", "found --worker with show, expected it with list only"),
            ("restart", "found no worker, expected the name of a worker or a pool"),
            ("stop a b", "found \"b\" after the worker, expected nothing more"),
            ("status a", "found \"a\", expected nothing more"),
            ("status --wacth", "found the unknown option \"--wacth\"; did you mean \"--watch\"?"),
            ("check a --strict", "found the unknown option \"--strict\"; known here are --help"),
        ]
    )
    func refuses(line: String, sentence: String) {
        #expect(mistake(line) == sentence)
    }

    @Test("reads what speaks to a running supervisor, with the path of its socket or without")
    func readsControl() throws {
        #expect(try parse("status") == .status(StatusOptions()))
        #expect(try parse("status --only-bad") == .status(StatusOptions(isOnlyBad: true)))
        #expect(
            try parse("status --json --watch --control=s")
                == .status(StatusOptions(control: "s", isJSON: true, isWatching: true))
        )
        #expect(try parse("stop") == .stop(worker: nil, control: nil))
        #expect(try parse("stop --control s a") == .stop(worker: "a", control: "s"))
        #expect(try parse("restart a --control s") == .restart(worker: "a", control: "s"))
        #expect(try parse("metrics --control s") == .metrics(control: "s"))
    }

    @Test("reads whom to follow, and what to publish")
    func readsTailAndPublish() throws {
        #expect(try parse("tail") == .tail(TailOptions()))
        let tail = TailOptions(control: "run/s", events: "A,B", origin: "canvas", format: .json)
        #expect(try parse("tail --from canvas --events=A,B --format json --control run/s") == .tail(tail))
        #expect(try parse("publish A {}") == .publish(PublishOptions(name: "A", json: "{}", limit: .seconds(30))))
        let publish = PublishOptions(control: "run/s", name: "A", json: "-", limit: .seconds(5))
        #expect(try parse("publish --within 5s A - --control run/s") == .publish(publish))
    }

    @Test("takes the path of a control socket")
    func control() throws {
        guard case .run(let options) = try CommandLineParser.parse(["run", "a", "--control", "run/s"]) else {
            Issue.record("no run")
            return
        }
        #expect(options.control == "run/s")
        #expect(mistake("run a --control")?.hasPrefix("found nothing after --control") == true)
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

    @Test("by command count only if they are the first; a signal that follows escalates")
    func command() {
        let requests = StopRequests()
        #expect(requests.isFirst(at: 5))
        #expect(!requests.isFirst(at: 6))
        #expect(requests.next(at: 5 + StopRequests.distance) == 2)
    }
}
