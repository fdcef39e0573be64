/// One entry of a Chrome trace.
package struct TraceEntry {
    package enum Argument {
        case text(String)
        case number(UInt64)
    }

    package var name: String
    package var phase: String
    package var category: String?
    /// The number of the process.
    package let process: Int32
    /// The number of the thread; nil for the row of the process itself.
    package var thread: UInt64?
    /// When the entry begins, in nanoseconds; `duration` is in nanoseconds, too.
    package var time: UInt64?
    package var duration: UInt64?
    package var identifier: String?
    /// How far the mark of an instant event reaches: `g`, `p` or `t` for the whole trace, its process or its thread.
    package var scope: String?
    package var bindsToEnclosing = false
    package var arguments: [(key: String, value: Argument)] = []

    package init(_ name: String, _ phase: String, process: Int32) {
        self.name = name
        self.phase = phase
        self.process = process
    }

    /// The two entries that give a process its name and its place, counted from the top.
    package static func names(ofProcess process: Int32, _ name: String, at place: Int) -> [TraceEntry] {
        var called = TraceEntry("process_name", "M", process: process)
        called.arguments = [("name", .text(name))]
        var order = TraceEntry("process_sort_index", "M", process: process)
        order.arguments = [("sort_index", .number(UInt64(place)))]
        return [called, order]
    }

    package static func name(ofThread thread: UInt64, of process: Int32, _ name: String) -> TraceEntry {
        var called = TraceEntry("thread_name", "M", process: process)
        called.thread = thread
        called.arguments = [("name", .text(name))]
        return called
    }

    /// Appends the entry as a JSON object in one line.
    func append(to text: inout [UInt8]) {
        text += Array(#"{"name":"#.utf8)
        JSONEscaping.append(name, to: &text)
        text += Array(#","ph":"\#(phase)","pid":\#(process),"tid":\#(tid)"#.utf8)
        if let category { text += Array(#","cat":"\#(category)""#.utf8) }
        if let identifier { text += Array(#","id":"\#(identifier)""#.utf8) }
        if let time { text += Array(#","ts":\#(Self.microseconds(time))"#.utf8) }
        if let duration { text += Array(#","dur":\#(Self.microseconds(duration))"#.utf8) }
        if let scope { text += Array(#","s":"\#(scope)""#.utf8) }
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

    /// The thread's number, clamped because a peer may give a number that no thread can have.
    private var tid: UInt32 { thread.map { UInt32(clamping: $0) } ?? UInt32(clamping: process) }

    private static func microseconds(_ nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000)
        if rest == 0 { return "\(whole)" }
        let digits = String(rest)
        return "\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }
}
