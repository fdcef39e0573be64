import BridgePlatform
import DomainEvents
import JSONText

/// Makes a configuration from the text of its file. A syntax error ends the reading; all other mistakes are collected.
extension SupervisorConfiguration {
    /// The longest time that most settings may have; a longer time most likely has the wrong unit.
    private static let longestTime: Duration = .seconds(7 * 86_400)

    static let durations = Duration.milliseconds(1)...longestTime

    /// The least size of an outbox, in bytes; a smaller outbox would have room for only a few events.
    private static let leastOutbox = 4 << 10

    /// The least frame limit, in bytes; a lower limit would refuse the link's own control messages.
    private static let leastFrame = 64 << 10

    /// The greatest size of a frame, an outbox or the dead letters, in bytes: well below 0x7B000000, a frame length
    /// that begins with the byte of `{`, like a line of JSON.
    private static let greatestSize = 1 << 30

    /// The restart types by their names in systemd and container runtimes.
    private static let restartSynonyms: [String: Worker.Restart] = [
        "always": .permanent, "unless-stopped": .permanent, "on-failure": .transient, "never": .temporary,
        "no": .temporary,
    ]

    /// Reads the text of a configuration file; `file` is the name that errors show.
    ///
    /// - Parameter programs: finds the workers' programs; nil to leave their paths as they are written.
    package static func parse(
        _ bytes: [UInt8],
        file: String,
        programs: ProgramSearch? = nil
    ) throws(SupervisorConfigurationError) -> SupervisorConfiguration {
        let root: JSONNode
        do {
            root = try JSONReader(dialect: .json5).read(bytes)
        } catch {
            throw .syntax(file: file, error)
        }
        let mistakes = ConfigurationMistakes()
        let configuration = SupervisorConfiguration(ConfigurationValue(root, mistakes: mistakes), programs)
        guard let configuration, mistakes.isEmpty else {
            throw .mistakes(file: file, mistakes.all)
        }
        return configuration
    }

    /// Reads the configuration and reports its mistakes; nil if the value is no object.
    private init?(_ value: ConfigurationValue, _ programs: ProgramSearch?) {
        let keys = [
            "strategy", "intensity", "workers", "deadLetters", "journal", "automaticShutdown", "startOrder", "control",
            "$schema",
        ]
        guard let object = value.object(keys: keys) else { return nil }
        // Editors find the schema by this key; the supervisor ignores the key.
        _ = object.optional("$schema")?.string(example: "configuration.schema.json")
        let shutdown: AutomaticShutdownSetting = object.optional("automaticShutdown")?.choice() ?? .never
        let list = object.required("workers", expected: "an array with at least one worker")
        self.init(workers: Self.workers(list, programs, shutdown))
        automaticShutdown = shutdown
        readLives(from: object)
        control = object.optional("control").flatMap { Self.controlPath($0, programs) }
        strategy = object.optional("strategy")?.choice() ?? strategy
        if let value = object.optional("intensity")?.object(keys: ["restarts", "within"]) {
            intensity.restarts = value.optional("restarts")?.integer(in: 0...10_000) ?? intensity.restarts
            intensity.within =
                value.optional("within")?.duration(in: Self.durations, example: "10s") ?? intensity.within
        }
        readDeadLetters(from: object)
        journal = object.optional("journal").flatMap { KeptEvents($0) }
    }

    private mutating func readDeadLetters(from object: ConfigurationObject) {
        guard let value = object.optional("deadLetters")?.object(keys: ["letters", "bytes", "whenFull"]) else { return }
        deadLetters.letters = value.optional("letters")?.integer(in: 1...1_000_000) ?? deadLetters.letters
        deadLetters.bytes =
            value.optional("bytes")?.byteCount(in: 1...Self.greatestSize, example: "16MiB") ?? deadLetters.bytes
        deadLetters.whenFull = value.optional("whenFull")?.choice() ?? deadLetters.whenFull
    }

    private static func workers(
        _ value: ConfigurationValue?,
        _ programs: ProgramSearch?,
        _ automaticShutdown: AutomaticShutdownSetting
    ) -> [Worker] {
        guard let value, let elements = value.elements(of: "workers") else { return [] }
        if elements.isEmpty {
            value.report("found an empty array, expected at least one worker")
        }
        var firstLines: [String: Int] = [:]
        let workers = elements.compactMap { worker($0, programs, automaticShutdown, firstLines: &firstLines) }
        reportNames(takenByPoolsOf: workers, firstLines, in: value)
        return workers
    }

    private static func worker(
        _ value: ConfigurationValue,
        _ programs: ProgramSearch?,
        _ automaticShutdown: AutomaticShutdownSetting,
        firstLines: inout [String: Int]
    ) -> Worker? {
        let keys = [
            "name", "executable", "arguments", "environment", "directory", "subscribes", "publishes",
            "mayImport", "restart", "backoff",
            "handshake", "heartbeat", "shutdown", "limits", "significant", "onDemand", "pool",
            "box", "control",
        ]
        guard let object = value.object(keys: keys) else { return nil }
        let name = object.required("name", expected: "a name such as \"canvas\"")
            .flatMap { workerName($0, firstLines: &firstLines) }
        let executable = object.required("executable", expected: "a program such as \"canvas-worker\"")
            .flatMap { value in
                value.systemString(example: "canvas-worker").map { programs?.path(of: $0, writtenAt: value) ?? $0 }
            }
        var worker = Worker(name: name ?? "", executable: executable ?? "")
        worker.arguments = object.optional("arguments")?.systemStrings(example: "--verbose") ?? worker.arguments
        worker.environment = object.optional("environment").flatMap(environment) ?? worker.environment
        worker.directory = object.optional("directory").flatMap { directory($0, programs) }
        worker.subscribes = object.optional("subscribes").flatMap(subscribed) ?? worker.subscribes
        worker.publishes = object.optional("publishes").flatMap(published)
        worker.mayImport = object.optional("mayImport")?.bool() ?? worker.mayImport
        worker.pool = object.optional("pool").flatMap { [worker] in pool($0, of: worker) }
        worker.allowsControl = object.optional("control")?.bool() ?? worker.allowsControl
        readSupervision(of: &worker, from: object)
        readLife(of: &worker, from: object, automaticShutdown)
        readLimits(of: &worker, from: object)
        readBox(of: &worker, from: object, programs)
        return worker
    }

    private static func workerName(_ value: ConfigurationValue, firstLines: inout [String: Int]) -> String? {
        guard let name = value.nonEmptyString(example: "canvas") else { return nil }
        let isWellFormed = name.utf8.count <= 64 && name.utf8.allSatisfy(isNameByte)
        guard isWellFormed else {
            value.report(
                "found \(ShownValue.text(name)), expected a name of 1 to 64 letters (A to Z), digits, \".\", \"_\" and \"-\""
            )
            return nil
        }
        guard name != "host" else {
            value.report("found \"host\", which is what the supervisor itself is called; expected another name")
            return nil
        }
        guard !isTaken(name) else {
            value.report(
                "found \(ShownValue.text(name)), which is what the input or a client is called; expected another name"
            )
            return nil
        }
        if let line = firstLines[name] {
            value.report("duplicate worker name \"\(name)\" (first at line \(line))")
            return nil
        }
        firstLines[name] = value.node.location.line
        return name
    }

    private static func directory(_ value: ConfigurationValue, _ programs: ProgramSearch?) -> String? {
        let directory = value.systemString(example: "/var/lib/canvas")
        if let directory { programs?.checkDirectory(directory, writtenAt: value) }
        return directory
    }

    private static func subscribed(_ value: ConfigurationValue) -> [String]? {
        value.uniqueNames(example: "BoxOrdered") { EventName.mistake(in: $0, mayBeEverything: true) }
    }

    private static func published(_ value: ConfigurationValue) -> [String]? {
        value.uniqueNames(example: "BoxProvisioned") { EventName.mistake(in: $0) }
    }

    /// Reads the control socket's path, and checks that the absolute path is short enough for a socket's address.
    private static func controlPath(_ value: ConfigurationValue, _ programs: ProgramSearch?) -> String? {
        guard let path = value.systemString(example: "run/supervisor.sock") else { return nil }
        let length = (programs?.fromConfiguration(path) ?? path).utf8.count
        if length > UnixSocket.maximumPathLength {
            value.report(
                "found a path of \(length) bytes from the root, expected at most \(UnixSocket.maximumPathLength)"
            )
        }
        return path
    }

    /// Whether event ids or printed events use this name for something other than a worker.
    private static func isTaken(_ name: String) -> Bool { name == "input" || isClientName(name) }

    /// Whether a host could give this name to an attached client; no configured worker has such a name.
    package static func isClientName(_ name: String) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let parts = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].elementsEqual("client".utf8) && !parts[1].isEmpty
            && parts[1].allSatisfy(digits.contains)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default:
            false
        }
    }

    private static func environment(_ value: ConfigurationValue) -> [String: String]? {
        guard let map = value.stringMap(example: "{\"LOG_LEVEL\": \"info\"}") else { return nil }
        for (name, text) in map {
            if name.isEmpty || name.utf8.contains(UInt8(ascii: "=")) || name.utf8.contains(0) {
                value.report("found the variable \(ShownValue.text(name)), expected a name without \"=\" and NUL")
            }
            if name.hasPrefix("EVENT_BRIDGE_") {
                value.report("found the variable \(ShownValue.text(name)), which the supervisor sets itself")
            }
            if text.utf8.contains(0) {
                value.report(
                    "found a NUL character in the variable \(ShownValue.text(name)), expected text without one"
                )
            }
        }
        return map
    }

    private static func readSupervision(of worker: inout Worker, from object: ConfigurationObject) {
        worker.restart = object.optional("restart")?.choice(synonyms: restartSynonyms) ?? worker.restart
        worker.handshake = object.optional("handshake")?.duration(in: durations, example: "10s") ?? worker.handshake
        if let backoff = object.optional("backoff")?.object(keys: ["initial", "maximum"]) {
            let initial = backoff.optional("initial")?.duration(in: durations, example: "100ms")
            let maximum = backoff.optional("maximum")?.duration(in: durations, example: "30s")
            worker.backoff.initial = initial ?? min(worker.backoff.initial, maximum ?? worker.backoff.initial)
            worker.backoff.maximum = maximum ?? max(worker.backoff.maximum, worker.backoff.initial)
            if worker.backoff.initial > worker.backoff.maximum {
                let found = DurationText.text(worker.backoff.initial)
                let maximum = DurationText.text(worker.backoff.maximum)
                backoff.report("found the initial back-off \(found), expected no more than the maximum, \(maximum)")
            }
        }
        if let heartbeat = object.optional("heartbeat")?.object(keys: ["every", "tolerance"]) {
            worker.heartbeat.every =
                heartbeat.optional("every")?.duration(in: durations, example: "1s") ?? worker.heartbeat.every
            worker.heartbeat.tolerance =
                heartbeat.optional("tolerance")?.integer(in: 1...1000) ?? worker.heartbeat.tolerance
        }
        if let shutdown = object.optional("shutdown")?.object(keys: ["grace"]) {
            worker.shutdown.grace =
                shutdown.optional("grace")?.duration(in: .zero...longestTime) ?? worker.shutdown.grace
        }
    }

    private static func readLimits(of worker: inout Worker, from object: ConfigurationObject) {
        let keys = ["outbox", "overflow", "frame", "strikes", "handlerDeadline", "output"] + linkLimits + systemLimits
        guard let limits = object.optional("limits")?.object(keys: keys) else { return }
        worker.limits.outbox =
            limits.optional("outbox")?.byteCount(in: leastOutbox...greatestSize) ?? worker.limits.outbox
        worker.limits.overflow = limits.optional("overflow").flatMap(overflow) ?? worker.limits.overflow
        worker.limits.frame =
            limits.optional("frame")?.byteCount(in: leastFrame...greatestSize, example: "16MiB") ?? worker.limits.frame
        if let value = limits.optional("strikes") { readStrikes(of: &worker, from: value) }
        worker.limits.handlerDeadline =
            limits.optional("handlerDeadline")?.duration(in: durations, example: "30s")
        worker.limits.output =
            limits.optional("output")?.byteCount(in: 1 << 10...1 << 30, example: "1MiB") ?? worker.limits.output
        readLinkLimits(of: &worker, from: limits)
        readSystemLimits(of: &worker, from: limits)
    }

    private static func readStrikes(of worker: inout Worker, from value: ConfigurationValue) {
        if case .string("never") = value.node.value {
            worker.limits.strikes = nil
        } else if let strikes = value.integer(in: 1...1_000, or: "\"never\"") {
            worker.limits.strikes = strikes
        }
    }

    /// The keys of the limits on a worker's use of its link.
    private static let linkLimits = ["interestNames", "eventNames", "controlMessages", "frameDeadline"]

    private static func readLinkLimits(of worker: inout Worker, from limits: ConfigurationObject) {
        worker.limits.interestNames =
            limits.optional("interestNames")?.integer(in: 1...65_536) ?? worker.limits.interestNames
        worker.limits.eventNames = limits.optional("eventNames")?.integer(in: 1...65_536) ?? worker.limits.eventNames
        worker.limits.controlMessages =
            limits.optional("controlMessages")?.integer(in: 1...1_000_000) ?? worker.limits.controlMessages
        worker.limits.frameDeadline =
            limits.optional("frameDeadline")?.duration(in: durations, example: "5s") ?? worker.limits.frameDeadline
    }
}

extension ConfigurationValue {
    /// Reads a non-empty string without NUL: the kernel would cut a string off at its first NUL.
    func systemString(example: String) -> String? {
        guard let text = nonEmptyString(example: example) else { return nil }
        return withoutNUL(text)
    }

    /// Reads strings without NUL; they may be empty.
    func systemStrings(example: String) -> [String]? {
        elements(of: "strings such as [\"\(example)\"]")?.compactMap { element in
            element.string(example: example).flatMap(element.withoutNUL)
        }
    }

    private func withoutNUL(_ text: String) -> String? {
        guard !text.utf8.contains(0) else {
            report("found a NUL character in \(ShownValue.text(text)), expected text without one")
            return nil
        }
        return text
    }
}
