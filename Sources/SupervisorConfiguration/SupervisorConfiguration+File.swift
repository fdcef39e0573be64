import BridgePlatform

/// Reads a configuration from its file.
extension SupervisorConfiguration {
    /// The largest file that is read, in bytes; no person writes a larger configuration.
    static let greatestFileSize = 1 << 20

    /// How long reading waits for bytes from a named pipe before it gives up, in milliseconds.
    static let patience: CInt = 5_000

    /// Reads and checks a configuration file, which may also be a pipe.
    ///
    /// - Parameter patience: how long to wait for bytes from a named pipe, in milliseconds. A pipe into which no
    ///   process writes would otherwise hold up a supervisor that reads its configuration again.
    package static func load(
        file: String,
        programs: ProgramSearch? = nil,
        patience: CInt = patience
    ) throws(SupervisorConfigurationError) -> SupervisorConfiguration {
        try parse(try contents(of: file, patience), file: file, programs: programs)
    }

    private static func contents(of file: String, _ patience: CInt) throws(SupervisorConfigurationError) -> [UInt8] {
        do throws(SystemFileError) {
            let opened = try SystemFile.open(reading: file)
            var bytes: [UInt8] = []
            // This loop counts the bytes itself: the size that the kernel states is no limit for pipes and devices.
            while bytes.count <= greatestFileSize {
                guard opened.comes(withinMilliseconds: patience) else {
                    let time = Duration.milliseconds(Int64(patience))
                    throw SystemFileError("it is a named pipe, and for \(time) nothing was written into it")
                }
                let chunk = try opened.read(upTo: 64 << 10)
                if chunk.isEmpty { return bytes }
                bytes += chunk
            }
        } catch {
            throw error.isDirectory ? .directory(file: file) : .unreadable(file: file, reason: error.description)
        }
        throw .tooLarge(file: file, limit: greatestFileSize)
    }
}
