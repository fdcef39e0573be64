import JSONText

/// One entry of a Chrome trace.
struct TraceEntry {
    enum Argument {
        case text(String)
        case number(UInt64)
    }

    var name: String
    var phase: String
    var category: String?
    let process: RecordedTrace.Process
    /// The process's own line if nil.
    var thread: UInt64?
    /// In nanoseconds.
    var time: UInt64?
    var duration: UInt64?
    var identifier: String?
    var bindsToEnclosing = false
    var arguments: [(key: String, value: Argument)] = []

    init(_ name: String, _ phase: String, _ process: RecordedTrace.Process) {
        self.name = name
        self.phase = phase
        self.process = process
    }

    /// Appends the entry as a JSON object in one line.
    func append(to text: inout [UInt8]) {
        text += Array(#"{"name":"#.utf8)
        JSONEscaping.append(name, to: &text)
        text += Array(#","ph":"\#(phase)","pid":\#(process.pid),"tid":\#(tid)"#.utf8)
        if let category { text += Array(#","cat":"\#(category)""#.utf8) }
        if let identifier { text += Array(#","id":"\#(identifier)""#.utf8) }
        if let time { text += Array(#","ts":\#(Self.microseconds(time))"#.utf8) }
        if let duration { text += Array(#","dur":\#(Self.microseconds(duration))"#.utf8) }
        if bindsToEnclosing { text += Array(#","bp":"e""#.utf8) }
        if !arguments.isEmpty {
            text += Array(#","args":{"#.utf8)
            for (index, argument) in arguments.enumerated() {
                text += Array(#"\#(index == 0 ? "" : ",")"\#(argument.key)":"#.utf8)
                switch argument.value {
                case .text(let value): JSONEscaping.append(value, to: &text)
                case .number(let value): text += Array("\(value)".utf8)
                }
            }
            text.append(UInt8(ascii: "}"))
        }
        text.append(UInt8(ascii: "}"))
    }

    /// What a peer says is the number of a thread need not be one.
    private var tid: UInt32 { thread.map { UInt32(clamping: $0) } ?? UInt32(clamping: process.pid) }

    private static func microseconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000)
        if rest == 0 { return "\(whole)" }
        let digits = String(rest)
        return "\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }
}
