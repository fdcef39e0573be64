/// Makes the text of a Chrome trace, an object with `traceEvents`, entry by entry.
package struct TraceText {
    /// The bytes that have not been taken yet.
    private var text: [UInt8]
    private var isFirst = true

    /// - Parameter notes: facts about the trace as a whole.
    package init(_ notes: [(key: String, value: String)]) {
        text = Array(#"{"displayTimeUnit":"ns","otherData":{"#.utf8)
        for (index, note) in notes.enumerated() {
            text += Array(#"\#(index == 0 ? "" : ",")"\#(note.key)":"#.utf8)
            JSONEscaping.append(note.value, to: &text)
        }
        text += Array(#"},"traceEvents":["#.utf8)
    }

    /// How many bytes can be taken.
    package var count: Int { text.count }

    package mutating func append(_ entry: TraceEntry) {
        text += Array((isFirst ? "\n" : ",\n").utf8)
        isFirst = false
        entry.append(to: &text)
    }

    /// Ends the text; no entry may follow.
    package mutating func end() { text += Array("\n]}\n".utf8) }

    /// Returns what was appended since the last call.
    package mutating func take() -> [UInt8] {
        defer { text.removeAll(keepingCapacity: true) }
        return text
    }
}
