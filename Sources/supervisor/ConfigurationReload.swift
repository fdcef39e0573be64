import EventBridge
import JSONText
import SupervisorConfiguration

/// Reads the configuration again while the workers run, and brings the bridge to what it says: all of it, or nothing.
struct ConfigurationReload: Sendable {
    /// What the supervisor was started with.
    let started: SupervisorConfiguration
    let options: RunOptions
    let bridge: BridgeHost
    let diagnostics: Diagnostics

    /// Does it and says what was done.
    ///
    /// - Returns: Whether the configuration was taken.
    func run() async -> Bool {
        do {
            let wanted = try load()
            let changes = try await bridge.apply(wanted.workerSpecifications)
            // The end has come first, and what it has overtaken is no news.
            if !Task.isCancelled { report(changes) }
            return true
        } catch let error as ReloadRefused {
            for sentence in error.sentences { diagnostics.sayAt(sentence) }
        } catch {
            // Somebody has asked for the end, or a client came in this moment.
            for sentence in String(describing: error).split(separator: "\n") {
                diagnostics.say(String(sentence), .warning)
            }
        }
        diagnostics.say("the configuration was not taken; the workers go on with the one before", .warning)
        return false
    }

    /// What the file says now, if all of it can be done.
    private func load() throws(ReloadRefused) -> SupervisorConfiguration {
        let file = options.configuration
        let wanted: SupervisorConfiguration
        do throws(SupervisorConfigurationError) {
            // Unlike at the start there is something that goes on without it: a program that is missing is a mistake.
            let programs = ProgramSearch(configuration: file, missing: nil)
            wanted = try SupervisorConfiguration.load(file: file, programs: programs)
        } catch {
            throw ReloadRefused(sentences: error.description.split(separator: "\n").map(String.init))
        }
        var started = started
        // The command line's is the one that is served.
        if options.control != nil { started.control = wanted.control }
        let mistakes =
            wanted.changesOfWhatStays(from: started) + bridge.mistakes(inApplying: wanted.workerSpecifications)
        guard mistakes.isEmpty else { throw ReloadRefused(sentences: mistakes.map { "\(file): \($0)" }) }
        return wanted
    }

    private func report(_ changes: AppliedChanges) {
        let parts = [
            ("started", changes.started), ("stopped", changes.stopped), ("replaced", changes.replaced),
            ("left alone", changes.unchanged),
        ]
        let said = parts.filter { !$0.1.isEmpty }.map { what, names in
            "\(what) \(names.map { "\"\($0)\"" }.joined(separator: ", "))"
        }
        for failure in changes.failures { diagnostics.say(failure.description, .error) }
        let hasChanged = !(changes.started + changes.stopped + changes.replaced).isEmpty || !changes.failures.isEmpty
        diagnostics.say(
            "the configuration was read again: \(hasChanged ? said.joined(separator: "; ") : "nothing has changed")"
        )
    }
}

/// Why a configuration is not taken while the workers run: sentences that name the file.
private struct ReloadRefused: Error {
    let sentences: [String]
}

extension SupervisorConfiguration {
    /// What another configuration changes beside the workers, none of which can change while they run; each a sentence
    /// with its key.
    func changesOfWhatStays(from started: SupervisorConfiguration) -> [String] {
        func changed<Value: Equatable>(_ key: String, _ value: KeyPath<SupervisorConfiguration, Value>) -> String? {
            guard self[keyPath: value] != started[keyPath: value] else { return nil }
            return "\(key): it cannot change while the workers run; restart the supervisor for it"
        }
        return [
            changed("strategy", \.strategy), changed("intensity", \.intensity),
            changed("automaticShutdown", \.automaticShutdown), changed("startOrder", \.startOrder),
            changed("deadLetters", \.deadLetters), changed("control", \.control),
        ].compactMap(\.self)
    }
}
