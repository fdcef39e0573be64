import Testing

@testable import BridgeTransport

@Suite("Whether a link is looked after in a moment")
struct LinkWatchTests {
    /// The watch's answer when it is set for an event or looks at one: `starts`, `slow`, both, or nothing.
    private func say(_ watch: inout LinkWatch, set sequence: UInt64) -> String {
        watch.set(watching: sequence) ? "starts" : ""
    }

    private func say(_ watch: inout LinkWatch, look now: UInt64, isBusy: Bool = false) -> String {
        let (isSlow, starts) = watch.look(at: now, isBusy: isBusy)
        return (isSlow ? "slow" : "") + (starts ? "starts" : "")
    }

    @Test("the timer is started once, and again as long as handlers run")
    func timer() {
        var watch = LinkWatch()
        var said: [String] = []
        for sequence in UInt64(0)...2 { said.append(say(&watch, set: sequence)) }
        said.append(say(&watch, look: 0))
        said.append(say(&watch, set: 8))
        said.append(say(&watch, look: 9))
        // The watch goes on by itself.
        said.append(say(&watch, set: 10))
        said.append(say(&watch, look: 9))
        said.append(say(&watch, look: 0))
        said.append(say(&watch, set: 11))
        #expect(said == ["starts", "", "", "", "starts", "starts", "", "slowstarts", "", "starts"])
    }

    @Test("slow are the handlers of the event that was there when the timer began", arguments: 0...3)
    func slow(watched: Int) {
        for now in UInt64(0)...3 {
            var watch = LinkWatch()
            _ = watch.set(watching: UInt64(watched))
            let said = say(&watch, look: now)
            #expect(said == (now == 0 ? "" : now == watched ? "slowstarts" : "starts"))
        }
    }

    @Test("the timer runs on until the handlers of an event in hand begin, and finds them slow", arguments: 1...3)
    func late(looks: Int) {
        var watch = LinkWatch()
        var said = [say(&watch, set: 7)]
        for _ in 0..<looks { said.append(say(&watch, look: 0, isBusy: true)) }
        // The watch goes on by itself.
        said.append(say(&watch, set: 7))
        said.append(say(&watch, look: 7, isBusy: true))
        #expect(said == ["starts"] + Array(repeating: "starts", count: looks) + ["", "slowstarts"])
        // Nothing is in hand any more.
        #expect(say(&watch, look: 0) == "")
    }
}
