import BridgePlatform

/// Reads a configuration from its file.
extension SupervisorConfiguration {
    /// A file larger than this is no configuration that a person wrote.
    static let greatestFileSize = 1 << 20

    /// Reads and checks a configuration file; pipes are fine too.
    package static func load(
        file: String,
        programs: ProgramSearch? = nil
    ) throws(SupervisorConfigurationError) -> SupervisorConfiguration {
        try parse(try contents(of: file), file: file, programs: programs)
    }

    private static func contents(of file: String) throws(SupervisorConfigurationError) -> [UInt8] {
        do {
            let opened = try SystemFile.open(reading: file)
            var bytes: [UInt8] = []
            // Counted while reading, since the size that the kernel states is no limit for pipes and devices.
            while bytes.count <= greatestFileSize {
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
