import BridgePlatform

/// The last lines that a start of a worker has printed, which often say why it has ended.
struct OutputTail {
    /// How many lines are kept: enough for a stack trace after the sentence that matters.
    static let maximumLines = 64
    static let maximumBytes = 8_192
    /// How many bytes of one line are kept.
    static let maximumLineBytes = 1_024

    private var lines: [ArraySlice<UInt8>] = []
    private var bytes = 0

    mutating func add(_ line: LinePipe.Line) {
        let kept = line.bytes.prefix(Self.maximumLineBytes)
        lines.append(kept)
        bytes += kept.count
        while lines.count > Self.maximumLines || bytes > Self.maximumBytes { bytes -= lines.removeFirst().count }
    }

    /// The lines, with breaks between them; nil if there are none.
    ///
    /// They are decoded only on request, when the start has ended: in a flood, decoding each line would cost too much.
    var text: String? {
        lines.isEmpty ? nil : lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }
}
