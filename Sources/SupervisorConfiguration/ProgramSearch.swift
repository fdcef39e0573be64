import BridgePlatform
package import JSONText

/// Finds the programs of a configuration: beside the supervisor, then from the configuration's directory, then in
/// `PATH`.
package struct ProgramSearch {
    private let supervisorDirectory: String?
    private let configurationDirectory: String
    private let searchPath: [String]
    /// Where missing programs and files are reported; nil to report them among the configuration's other mistakes.
    let missing: ConfigurationMistakes?

    init(
        supervisorDirectory: String?,
        configurationDirectory: String,
        searchPath: [String],
        missing: ConfigurationMistakes?
    ) {
        self.supervisorDirectory = supervisorDirectory
        self.configurationDirectory = configurationDirectory
        self.searchPath = searchPath
        self.missing = missing
    }

    /// Makes a search for the programs of this file, with the directory of this process's program, and its `PATH`.
    package init(configuration file: String, missing: ConfigurationMistakes?) {
        let slash = file.lastIndex(of: "/")
        let written = slash.map { $0 == file.startIndex ? "/" : String(file[..<$0]) } ?? "."
        self.init(
            supervisorDirectory: try? CurrentProcess.executableDirectory(),
            configurationDirectory: Self.absolute(written),
            searchPath: (CurrentProcess.environment("PATH") ?? "").split(separator: ":").map {
                Self.absolute(String($0))
            },
            missing: missing
        )
    }

    /// Makes a path absolute, because a worker may have a working directory of its own.
    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        let directory = OperatingSystem.workingDirectory ?? "."
        return path == "." ? directory : joined(directory, path)
    }

    private static func joined(_ directory: String, _ name: String) -> String {
        directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    /// The full form of a path in the configuration: a relative path counts from the configuration's directory.
    package func fromConfiguration(_ path: String) -> String {
        path.hasPrefix("/") ? path : Self.joined(configurationDirectory, path)
    }

    /// Every path at which the program may be, the preferred path first.
    func candidates(for program: String) -> [String] {
        if program.hasPrefix("/") { return [program] }
        var directories = [supervisorDirectory, configurationDirectory].compactMap(\.self)
        if !program.contains("/") { directories += searchPath }
        return directories.map { Self.joined($0, program) }
    }

    /// Finds the program's path; if no candidate can be executed, reports that, and returns the first candidate that
    /// exists, or else the preferred one.
    func path(of program: String, writtenAt value: ConfigurationValue) -> String {
        let candidates = candidates(for: program)
        if let found = candidates.first(where: CurrentProcess.isExecutableFile) {
            checkScript(found, writtenAt: value)
            return found
        }
        report(sentence(program, candidates), writtenAt: value)
        return candidates.first(where: OperatingSystem.fileExists) ?? candidates.first ?? program
    }

    func report(_ message: String, writtenAt value: ConfigurationValue) {
        if let missing {
            missing.add(ConfigurationMistake(path: value.path, location: value.node.location, message: message))
        } else {
            value.report(message)
        }
    }

    private func sentence(_ program: String, _ candidates: [String]) -> String {
        if let file = candidates.first(where: OperatingSystem.fileExists) {
            return "found \(file), which is no file that can be executed; expected a program"
        }
        let shown = ShownValue.text(program)
        if program.hasPrefix("/") { return "there is no file \(shown), expected a program" }
        var places: [String] = []
        if let supervisorDirectory { places.append("beside the supervisor (\(supervisorDirectory))") }
        places.append("from the configuration's directory (\(configurationDirectory))")
        if !program.contains("/") { places.append("in PATH") }
        return "there is no program \(shown); looked for \(places.joined(separator: ", then "))"
    }
}
