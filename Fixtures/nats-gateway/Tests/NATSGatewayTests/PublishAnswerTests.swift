import Testing

@testable import NATSGateway

@Suite struct PublishAnswerTests {
    private func answer(_ text: String) -> PublishAnswer { PublishAnswer(json: Array(text.utf8)) }

    @Test func answersOfTheBrokerAreRead() {
        #expect(answer(#"{"stream":"BRIDGE-berlin", "seq":7}"#) == .stored)
        #expect(answer(#"{"stream":"BRIDGE-berlin", "seq":7,"duplicate": true}"#) == .wasStored)
        for code in [10070, 10071] {
            let text = #"{"error":{"code":400,"err_code":\#(code),"description":"wrong last"},"stream":"s","seq":0}"#
            #expect(answer(text) == .notInTurn)
        }
        let full = #"{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}"#
        #expect(answer(full) == .notNow("the broker says: maximum bytes exceeded (10077)"))
        let large = #"{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}"#
        #expect(answer(large) == .impossible("the broker says: message size exceeds maximum allowed"))
    }

    @Test func longTextOfTheBrokerIsCut() {
        let long = String(repeating: "x", count: 100_000)
        let text = #"{"error":{"code":503,"err_code":10077,"description":"\#(long)"}}"#
        #expect(answer(text) == .notNow("the broker says: \(long.prefix(200)) (10077)"))
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"seq":-1}"#, #"{"seq":1e99}"#, #"{"error":{}}"#, "{\"seq\":1", "\u{0}",
    ])
    func anythingElseIsStoredNeverAndRefusedNever(_ text: String) {
        guard case .notNow = answer(text) else {
            Issue.record("\(text) is \(answer(text))")
            return
        }
    }
}
