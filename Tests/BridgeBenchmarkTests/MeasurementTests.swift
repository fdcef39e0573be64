import Testing

@testable import bridge_benchmark

@Suite("Measurements as JSON lines and as a table")
struct MeasurementTests {
    private static let run = """
        {"peer":"raw-socket","work":"W1","p50_us":10.0,"p99_us":20.0,"n":5,"round":1}
        {"peer":"event-bridge","work":"W1","p50_us":11,"p99_us":30.5,"n":5,"round":1}
        {"peer":"event-bridge","work":"W1","p50_us":13.0,"p99_us":40.5,"n":5,"round":2}

        {"peer":"event-bridge","work":"W1","p50_us":12.0,"p99_us":50.5,"n":5,"round":3}
        {"peer":"event-bridge","work":"W2","events_per_s":1234567.8,"ok":true}
        """

    private func table(_ text: String) throws -> MeasurementTable {
        MeasurementTable(try MeasurementFile.parse(text, file: "run.jsonl"))
    }

    private func refusal(_ text: String) -> String {
        do throws(MeasurementError) {
            return "accepted as \(try MeasurementFile.parse(text, file: "run.jsonl"))"
        } catch {
            return error.description
        }
    }

    @Test("The table has the median, the least and the most of all rounds, and the ratio to the base")
    func medians() throws {
        let lines = try table(Self.run).text(comparedWith: nil).split(separator: "\n")
        #expect(
            lines == [
                "work  by            figure         median      least       most  x base",
                "W1    raw-socket    µs, median      10.00      10.00      10.00    1.00",
                "W1    raw-socket    µs, 99 %        20.00      20.00      20.00    1.00",
                "W1    event-bridge  µs, median      12.00      11.00      13.00    1.20",
                "W1    event-bridge  µs, 99 %        40.50      30.50      50.50    2.03",
                "W2    event-bridge  events/s    1,234,568  1,234,568  1,234,568       -",
            ]
        )
    }

    @Test("Medians of an earlier run stand beside, where there are any")
    func comparison() throws {
        let before = try table(#"{"peer":"event-bridge","work":"W1","p50_us":24.0}"#)
        let lines = try table(Self.run).text(comparedWith: before).split(separator: "\n")
        #expect(lines[0].hasSuffix("x base  before  x before"))
        #expect(lines[3].hasSuffix("1.20   24.00      0.50"))
        #expect(lines[4].hasSuffix("2.03       -         -"))
    }

    @Test("Of an even number of rounds the median lies in the middle")
    func evenNumber() throws {
        let text = [1.0, 4.0, 2.0, 3.0].map { "{\"peer\":\"p\",\"work\":\"W1\",\"p50_us\":\($0)}" }.joined(
            separator: "\n"
        )
        #expect(try table(text).text(comparedWith: nil).contains(" 2.500 "))
    }

    @Test("A line that is no measurement is named, with what was found")
    func badLines() {
        #expect(refusal("{\"peer\":\"p\",\"work\":\"W1\"}\nnonsense").hasPrefix("run.jsonl:2: "))
        #expect(refusal("[]") == "run.jsonl:1: found an empty array, expected an object")
        #expect(refusal(#"{"work":"W1"}"#) == #"run.jsonl:1: found no "peer""#)
        #expect(refusal(#"{"peer":"p","work":5}"#) == #"run.jsonl:1: "work" is the number 5, expected a string"#)
    }

    @Test("A file that is not there is named")
    func missingFile() {
        let error = #expect(throws: MeasurementError.self) { try MeasurementFile.read("/nowhere/run.jsonl") }
        #expect(error?.description == "/nowhere/run.jsonl cannot be read: No such file or directory")
    }
}
