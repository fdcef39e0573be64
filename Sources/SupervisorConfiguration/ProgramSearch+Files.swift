import BridgePlatform
import JSONText

/// Checks the files that a worker needs besides its program, as far as that is possible before the worker starts.
extension ProgramSearch {
    /// How many bytes of a script are read: as many as the kernel reads to find the interpreter.
    private static let firstBytes = 256

    /// Checks a worker's working directory; a relative path counts from this process's working directory.
    func checkDirectory(_ path: String, writtenAt value: ConfigurationValue) {
        let kind = OperatingSystem.status(of: path)?.kind
        if kind == .directory { return }
        let shown = ShownValue.text(path)
        report(
            kind == nil
                ? "there is no directory \(shown), expected one"
                : "found \(shown), which is no directory; expected one",
            writtenAt: value
        )
    }

    /// Checks that a path of a worker's box exists.
    func checkFile(_ path: String, writtenAt value: ConfigurationValue) {
        if OperatingSystem.fileExists(path) { return }
        report("there is no file or directory \(ShownValue.text(path)), expected one", writtenAt: value)
    }

    /// Checks that the first line of a script names an existing interpreter.
    ///
    /// A file that cannot be read is not reported, because it may be executable all the same.
    func checkScript(_ path: String, writtenAt value: ConfigurationValue) {
        guard let bytes = try? SystemFile.open(reading: path).read(upTo: Self.firstBytes) else { return }
        guard bytes.starts(with: "#!".utf8) else {
            // A file that contains a NUL may be a binary program; plain text contains none.
            if bytes.contains(0) { return }
            report(
                "found \(path), a text without a first line such as \"#!/bin/sh\"; expected a program",
                writtenAt: value
            )
            return
        }
        let line = bytes.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }.drop(while: Self.isBlank)
        let interpreter = String(decoding: line.prefix { !Self.isBlank($0) }, as: UTF8.self)
        // A relative path of an interpreter counts from the worker's directory, so it is not checked here.
        guard interpreter.hasPrefix("/"), !CurrentProcess.isExecutableFile(interpreter) else { return }
        let ending = interpreter.utf8.last == UInt8(ascii: "\r") ? "; its first line ends with a carriage return" : ""
        report(
            """
            found \(path), whose interpreter \(ShownValue.text(interpreter)) is no file that can be executed\(ending); \
            expected a program
            """,
            writtenAt: value
        )
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
