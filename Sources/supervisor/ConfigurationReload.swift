import BridgeControl
import BridgeProtocol
import EventBridge
import JSONText
import SupervisorConfiguration

/// Reads the configuration again while the workers run, and applies it to the bridge: all of it, or nothing.
struct ConfigurationReload: Sendable {
    /// The configuration that the supervisor was started with.
    let started: SupervisorConfiguration
    let options: RunOptions
    /// The worker that the command line adds to the configuration's workers.
    let dashboard: Dashboard?
    let bridge: BridgeHost
    let diagnostics: Diagnostics

    /// Applies the configuration and says what was done.
    func run() async -> ReloadOutcome {
        do {
            let wanted = try load()
            let changes = try await bridge.apply(wanted.workerSpecifications)
            let outcome = ReloadOutcome(changes)
            // Once the run has begun to end, the outcome is not reported.
            if !Task.isCancelled { report(outcome) }
            return outcome
        } catch let error as ReloadRefused {
            for sentence in error.sentences { diagnostics.sayAt(sentence) }
            diagnostics.say(ReloadText.notTaken, .warning)
            return ReloadOutcome(error.kind, saying: error.sentences)
        } catch let error as BridgeError where error.code == .wrongState {
            // The bridge has begun to end: nothing is printed, and ``ReloadText/notTaken`` would not be true.
            return ReloadOutcome(.refused, saying: [ReloadRequests.Refusal.runIsEnding.sentence])
        } catch {
            // `load()` has found no mistake, so what remains is a client that has the name of a new worker.
            let reasons = String(describing: error).split(separator: "\n").map(String.init)
            let sentences = reasons.prefix(ReloadOutcome.mostSentences - 1) + [ReloadText.notTaken]
            for sentence in sentences { diagnostics.say(sentence, .warning) }
            return ReloadOutcome(.refused, saying: Array(sentences))
        }
    }

    /// Reads the configuration file, and throws if a part of the configuration cannot be applied.
    private func load() throws(ReloadRefused) -> SupervisorConfiguration {
        let file = options.configuration
        var wanted: SupervisorConfiguration
        do throws(SupervisorConfigurationError) {
            // Unlike at the start, a missing program is a mistake: the bridge can keep its present configuration.
            let programs = ProgramSearch(configuration: file, missing: nil)
            wanted = try SupervisorConfiguration.load(file: file, programs: programs)
        } catch {
            throw ReloadRefused(
                kind: error.status == .configuration ? .mistaken : .unreadable,
                sentences: error.description.split(separator: "\n").map(String.init)
            )
        }
        let mistake = dashboard?.mistake(in: wanted)
        if let dashboard, mistake == nil { wanted = dashboard.added(to: wanted) }
        var started = started
        // A socket on the command line replaces the configured socket, so a change of the configured socket is ignored.
        if options.control != nil { started.control = wanted.control }
        let mistakes =
            [mistake].compactMap(\.self) + wanted.changesOfWhatStays(from: started)
            + bridge.mistakes(inApplying: wanted.workerSpecifications)
        guard mistakes.isEmpty else {
            throw ReloadRefused(kind: .mistaken, sentences: mistakes.map { "\(file): \($0)" })
        }
        return wanted
    }

    private func report(_ outcome: ReloadOutcome) {
        for failure in outcome.sentences { diagnostics.say(failure, .error) }
        diagnostics.say(ReloadText.taken(outcome))
    }
}

/// Why a configuration is not taken while the workers run: sentences that name the file.
private struct ReloadRefused: Error {
    let kind: ReloadOutcome.Kind
    let sentences: [String]
}

extension ReloadOutcome {
    fileprivate init(_ changes: AppliedChanges) {
        self.init(.taken, saying: changes.failures.map(\.description))
        (started, stopped) = (changes.started, changes.stopped)
        (replaced, unchanged) = (changes.replaced, changes.unchanged)
    }

    /// Cuts the sentences to the number and length that an answer to a client may have.
    init(_ kind: Kind, saying sentences: [String]) {
        self.init(kind, sentences: sentences.prefix(Self.mostSentences).map { $0.shortened() })
    }
}

extension SupervisorConfiguration {
    /// The differences that cannot be applied while the workers run, each as a sentence with its key: all differences
    /// except those in the workers.
    func changesOfWhatStays(from started: SupervisorConfiguration) -> [String] {
        func changed<Value: Equatable>(_ key: String, _ value: KeyPath<SupervisorConfiguration, Value>) -> String? {
            guard self[keyPath: value] != started[keyPath: value] else { return nil }
            return "\(key): it cannot change while the workers run; restart the supervisor to change it"
        }
        return [
            changed("strategy", \.strategy), changed("intensity", \.intensity),
            changed("automaticShutdown", \.automaticShutdown), changed("startOrder", \.startOrder),
            changed("deadLetters", \.deadLetters), changed("journal", \.journal), changed("control", \.control),
        ].compactMap(\.self)
    }
}
