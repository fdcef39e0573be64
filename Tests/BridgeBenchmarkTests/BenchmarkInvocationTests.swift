import Testing

@testable import bridge_benchmark

@Suite("The command line of bridge-benchmark")
struct BenchmarkInvocationTests {
    private func suite(_ words: String...) throws -> SuiteOptions {
        let invocation = try BenchmarkInvocation(words[...])
        guard case .suite(let options) = invocation else {
            Issue.record("\(words) is no run of many works")
            return SuiteOptions()
        }
        return options
    }

    private func refusal(_ words: String...) -> String {
        do throws(BenchmarkUsageError) {
            let invocation = try BenchmarkInvocation(words[...])
            return "accepted as \(invocation)"
        } catch {
            return error.description
        }
    }

    @Test("Without arguments all works are done three times")
    func allByDefault() throws {
        let options = try suite()
        #expect(options == SuiteOptions())
        #expect(options.rounds == 3)
        #expect(options.works.count == BenchmarkWork.all.count)
        #expect(try suite("all") == options)
    }

    @Test("Options are understood with and without the word all")
    func options() throws {
        let options = try suite("--rounds", "5", "--only", "W1,growth", "--json", "new.jsonl", "--compare", "old.jsonl")
        #expect(options.rounds == 5)
        #expect(options.json == .file("new.jsonl"))
        #expect(options.comparison == "old.jsonl")
        #expect(Set(options.works.map(\.name)).isSuperset(of: ["W1", "W1-crowded", "growth-sent"]))
        #expect(!options.works.contains { $0.name.hasPrefix("W2") || $0.name.hasPrefix("raw") })
        #expect(try suite("all", "--json", "--quick") == suite("--quick", "--json"))
        #expect(try suite("--json", "--quick").json == .standardOutput)
    }

    @Test("The form of the peers is understood")
    func peersForm() throws {
        for words in [["W1"], ["W2"], ["W3", "1048576"], ["W3", "65536"], ["W4"], ["W5"]] {
            guard case .work(let work, let count) = try BenchmarkInvocation(words[...]) else {
                Issue.record("\(words) is no work")
                continue
            }
            #expect(work.name == words[0])
            #expect(count == work.count)
        }
    }

    @Test("A work takes a count and, where there is one, a form")
    func workWithCount() throws {
        guard case .work(let work, let count) = try BenchmarkInvocation(["W2", "70", "--layout"]) else {
            Issue.record("no work")
            return
        }
        #expect(work.options == ["--layout"])
        #expect(count == 70)
        for words in [["W4", "--layout"], ["W3", "65536", "--layout"], ["W5", "--layout"]] {
            guard case .unsupported = try BenchmarkInvocation(words[...]) else {
                Issue.record("\(words) is supported")
                continue
            }
        }
    }

    @Test("What is not understood is named, with what was expected")
    func refusals() {
        #expect(refusal("W9").contains(#"found the unknown work "W9""#))
        #expect(refusal("W2-treads4").contains(#"did you mean "W2-threads4""#))
        #expect(refusal("W1", "many").contains(#"found "many" after W1"#))
        #expect(refusal("W1", "-5").contains("expected 1 to 10^12"))
        #expect(refusal("W1", "5", "6") == "found the further number 6 after W1, expected nothing more")
        #expect(refusal("W3") == "found no size of payloads after W3, expected 16 to 1073741824 bytes")
        #expect(refusal("W3", "8").contains("16 to 1073741824"))
        #expect(refusal("--rounds").contains("found nothing after --rounds"))
        #expect(refusal("--rounds", "0") == #"found "0" rounds, expected 1 to 1000"#)
        #expect(refusal("--compare", "--quick") == "found nothing after --compare, expected a file")
        #expect(refusal("--round", "3").contains(#"did you mean "--rounds""#))
        #expect(refusal("--only", "W7").hasPrefix(#"found "W7" after --only, expected names of works"#))
        #expect(refusal("stopped", "--seconds", "0").hasPrefix(#"found "--seconds 0" after stopped, expected"#))
    }

    @Test("Each work has a name and a form of its own")
    func worksDiffer() {
        let words = BenchmarkWork.all.map { [$0.name] + $0.options }
        #expect(Set(words).count == words.count)
        for work in BenchmarkWork.all { #expect(work.quickCount < work.count) }
    }
}
