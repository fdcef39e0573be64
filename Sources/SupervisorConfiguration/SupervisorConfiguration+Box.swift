import JSONText

/// Reads the limits on a worker's resources, and the box, which says what the worker may access.
extension SupervisorConfiguration {
    /// The keys of the limits that the operating system enforces.
    static let systemLimits = ["memory", "cpuTime", "openFiles", "processes", "core", "fileSize"]

    private static let greatestSize = 1 << 50
    private static let leastMemory = 16 << 20

    /// Reads the limits that belong to the worker's box.
    static func readSystemLimits(of worker: inout Worker, from limits: ConfigurationObject) {
        var box = worker.box ?? Worker.Box()
        box.memory = limits.optional("memory")?.byteCount(in: leastMemory...greatestSize, example: "512MiB")
        box.processorTime = limits.optional("cpuTime").flatMap(wholeSeconds)
        box.openFiles = limits.optional("openFiles")?.integer(in: 16...1 << 20)
        box.processes = limits.optional("processes")?.integer(in: 1...1 << 22)
        box.core = limits.optional("core")?.byteCount(in: 0...greatestSize, example: "0B")
        box.fileSize = limits.optional("fileSize")?.byteCount(in: 0...greatestSize, example: "1GiB")
        if box != Worker.Box() { worker.box = box }
    }

    /// Reads a duration in whole seconds, because the system limits processor time in seconds; nil after a mistake.
    private static func wholeSeconds(_ value: ConfigurationValue) -> Duration? {
        guard let time = value.duration(in: .seconds(1)...durations.upperBound, example: "10s") else { return nil }
        guard time.components.attoseconds == 0 else {
            value.report("found \(DurationText.text(time)), expected whole seconds")
            return nil
        }
        return time
    }

    /// Reads the worker's box; called after the limits are read.
    static func readBox(of worker: inout Worker, from object: ConfigurationObject, _ programs: ProgramSearch?) {
        let keys = ["readOnly", "writable", "network", "connections", "umask", "bestEffort"]
        guard let members = object.optional("box")?.object(keys: keys) else { return }
        var box = worker.box ?? Worker.Box()
        let readOnly = members.optional("readOnly").flatMap { paths($0, programs, example: "/srv/maps") }
        let writable = members.optional("writable").flatMap { paths($0, programs, example: "/srv/tiles") }
        if readOnly != nil || writable != nil {
            box.files = Worker.Box.Files(readOnly: readOnly ?? [], writable: writable ?? [])
        }
        box.allowsNetwork = members.optional("network")?.bool() ?? box.allowsNetwork
        if let value = members.optional("connections"), let isAllowed = value.bool() {
            if box.allowsNetwork {
                value.report("found a key that has no effect, expected \"network\": false beside it")
            }
            box.allowsConnections = isAllowed
        }
        box.mask = members.optional("umask").flatMap(mask)
        box.isBestEffort = members.optional("bestEffort")?.bool() ?? box.isBestEffort
        worker.box = box
    }

    private static func paths(_ value: ConfigurationValue, _ programs: ProgramSearch?, example: String) -> [String]? {
        value.systemStrings(example: example)?.compactMap { path in
            guard !path.isEmpty else {
                value.report("found an empty path, expected one such as \(JSONEscaping.quoted(example))")
                return nil
            }
            guard let programs else { return path }
            let file = programs.fromConfiguration(path)
            programs.checkFile(file, writtenAt: value)
            return file
        }
    }

    /// Reads a mask from a string of octal digits, as is usual for masks; a JSON number would be decimal.
    private static func mask(_ value: ConfigurationValue) -> Int? {
        guard let text = value.nonEmptyString(example: "077") else { return nil }
        guard let mask = Int(text, radix: 8),
            text.utf8.first.map({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) ?? false,
            (0...0o777).contains(mask)
        else {
            value.report("found \(ShownValue.text(text)), expected octal digits from \"000\" to \"777\"")
            return nil
        }
        return mask
    }
}

extension SupervisorConfiguration.Worker {
    /// Limits on a worker's resources, and what the worker may access.
    ///
    /// If a limit is nil, the worker has the limit that the supervisor had at its own start.
    package struct Box: Sendable, Hashable {
        /// Paths, absolute if the configuration was parsed with a `ProgramSearch`, otherwise as written.
        package struct Files: Sendable, Hashable {
            package var readOnly: [String]
            package var writable: [String]
        }

        /// The limit on memory, in bytes.
        package var memory: Int?
        package var processorTime: Duration?
        package var openFiles: Int?
        package var processes: Int?
        /// The limit on the size of a core dump, in bytes.
        package var core: Int?
        /// The limit on the size of a file that the worker writes, in bytes.
        package var fileSize: Int?
        /// The files that the worker may access; nil for all that its user may access.
        package var files: Files?
        package var allowsNetwork = true
        /// Whether a worker without network may still connect to sockets of this machine.
        package var allowsConnections = false
        package var mask: Int?
        package var isBestEffort = false
    }
}
