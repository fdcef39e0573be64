import Supervision
import Testing

@Suite("A child is watched by looks, and a look that comes late proves nothing")
struct WatchTests {
    /// Looks at the moments that a watch asks for, or late.
    private final class SilenceScene {
        private var watch: SilenceWatch

        init(every: Duration = .seconds(1), tolerance: Int = 3) throws {
            let heartbeat = Heartbeat(every: every, tolerance: tolerance)
            watch = try #require(SilenceWatch(heartbeat, from: .seconds(1_000)))
        }

        func look(late: Duration = .zero, silence: Duration?, heartbeats: UInt64? = nil) -> Duration? {
            watch.looked(at: watch.nextLook + late, silence: silence, heartbeats: heartbeats)
        }
    }

    private final class HandlerScene {
        private var watch: HandlerWatch

        init(_ deadline: Duration) {
            watch = HandlerWatch(deadline: deadline, from: .seconds(1_000))
        }

        func look(late: Duration = .zero, inline: UInt64? = nil, oldest: UInt64? = nil) -> [HandlerWatch.Overdue] {
            watch.looked(at: watch.nextLook + late, work: .init(inline: inline, oldest: oldest))
        }

        func lookInVain() -> [HandlerWatch.Overdue] { watch.looked(at: watch.nextLook, work: nil) }

        var nextLook: Duration { watch.nextLook }
    }

    /// A watch over frames with a deadline of 4 s; the scene looks at the times that the watch asks for.
    private final class FrameScene {
        private var watch = ProgressWatch(deadline: .seconds(4), from: .seconds(1_000))

        func look(late: Duration = .zero, progress: UInt64?) -> Bool {
            watch.looked(at: watch.nextLook + late, progress: progress)
        }
    }

    // MARK: - Frames

    @Test("D5: a frame that makes no progress is found when its deadline is over, and not before")
    func unfinishedFrame() {
        let scene = FrameScene()
        for look in 1...4 { #expect(!scene.look(progress: 7), "\(look)") }
        #expect(scene.look(progress: 7))
    }

    @Test("D5: progress gives a frame all of its time again, and so does a moment without an unfinished one")
    func frameGoesOn() {
        let scene = FrameScene()
        for round: UInt64 in 1...100 {
            for _ in 0..<4 { #expect(!scene.look(progress: round % 5 == 0 ? nil : round)) }
        }
    }

    @Test("A11: after this process was stopped a frame has all of its time again")
    func stoppedHostWithFrame() {
        let scene = FrameScene()
        #expect(!scene.look(progress: 7))
        #expect(!scene.look(late: .seconds(60), progress: 7))
        for _ in 1...3 { #expect(!scene.look(progress: 7)) }
        #expect(scene.look(progress: 7))
    }

    // MARK: - Silence

    @Test("silence is found when it is longer than the heartbeats that may be missed", arguments: [1, 3, 10])
    func silenceIsFound(tolerance: Int) throws {
        let scene = try SilenceScene(tolerance: tolerance)
        for look in 1...tolerance { #expect(scene.look(silence: .seconds(look)) == nil) }
        #expect(scene.look(silence: .seconds(tolerance + 1)) == .seconds(tolerance + 1))
    }

    @Test("a child that shows itself, or of which something has yet to be read, is not silent")
    func signsOfLife() throws {
        let scene = try SilenceScene()
        for look in 1...100 { #expect(scene.look(silence: look % 2 == 0 ? nil : .seconds(3)) == nil) }
    }

    @Test("a child that changes a number is not silent, however long ago it sent something")
    func countedHeartbeats() throws {
        let scene = try SilenceScene()
        for look: UInt64 in 1...100 {
            let silence = Duration.seconds(Int64(look))
            #expect(scene.look(silence: silence, heartbeats: look % 3 == 0 ? .max : look) == nil)
        }
        for look in 1...2 { #expect(scene.look(silence: .seconds(100 + look), heartbeats: 100) == nil) }
        #expect(scene.look(silence: .seconds(103), heartbeats: 100) == .milliseconds(3_500))
        // What it sends counts as well.
        #expect(scene.look(silence: .milliseconds(10), heartbeats: 100) == nil)
    }

    @Test("looks that are always late by the same find a silent child all the same", arguments: [100, 250, 450])
    func alwaysLate(milliseconds: Int) throws {
        let heartbeat = Heartbeat(every: .seconds(1), tolerance: 3)
        var watch = try #require(SilenceWatch(heartbeat, from: .seconds(1_000)))
        var (now, found) = (Duration.seconds(1_000), false)
        // A look comes as long after the one before, or when it is due, whichever is later.
        for _ in 1...8 {
            now = max(watch.nextLook, now + .milliseconds(1_000 + milliseconds))
            found = found || watch.looked(at: now, silence: now - .seconds(1_000)) != nil
        }
        #expect(found)
    }

    @Test("a number that never changes is no sign of life")
    func unchangedNumber() throws {
        let scene = try SilenceScene()
        for look in 1...3 { #expect(scene.look(silence: .seconds(look), heartbeats: 0) == nil) }
        #expect(scene.look(silence: .seconds(4), heartbeats: 0) == .seconds(4))
    }

    @Test("all children with one interval are checked at the same moments, whenever each of them has come")
    func sameMoments() throws {
        let heartbeat = Heartbeat(every: .milliseconds(700), tolerance: 3)
        for begin in stride(from: 7_000, through: 7_699, by: 23) {
            var watch = try #require(SilenceWatch(heartbeat, from: .milliseconds(begin)))
            #expect(watch.nextLook == .milliseconds(7_700))
            _ = watch.looked(at: watch.nextLook + .milliseconds(begin % 175), silence: .zero)
            #expect(watch.nextLook == .milliseconds(8_400))
        }
    }

    @Test("frames, handlers and idle times are checked at the same moments for all children, too")
    func sameMomentsOfOtherWatches() {
        for begin in stride(from: 7_000, through: 7_999, by: 37) {
            let (now, late) = (Duration.milliseconds(begin), Duration.milliseconds(begin % 250))
            var frames = ProgressWatch(deadline: .seconds(4), from: now)
            var handlers = HandlerWatch(deadline: .seconds(4), from: now)
            var idleness = IdleWatch(OnDemand(idleTime: .seconds(4)), from: now)
            for look in 8...12 {
                let due = Duration.seconds(look)
                #expect([frames.nextLook, handlers.nextLook, idleness.nextLook] == [due, due, due], "from \(now)")
                _ = frames.looked(at: due + late, progress: nil)
                _ = handlers.looked(at: due + late, work: nil)
                _ = idleness.looked(at: due + late, activity: nil)
            }
        }
    }

    @Test("A11: a check that came late shifts one further check; the check after that is at the common moment again")
    func backInStep() throws {
        for milliseconds in stride(from: 251, through: 5_000, by: 73) {
            var watch = try #require(SilenceWatch(Heartbeat(), from: .seconds(1_000)))
            let late = watch.nextLook + .milliseconds(milliseconds)
            _ = watch.looked(at: late, silence: .zero)
            #expect(watch.nextLook == late + .seconds(1))
            _ = watch.looked(at: watch.nextLook, silence: .zero)
            let next = watch.nextLook
            #expect(next == .seconds(next.components.seconds), "late by \(milliseconds) ms")
            #expect(next >= late + .seconds(2) && next < late + .seconds(3), "late by \(milliseconds) ms")
        }
    }

    @Test("A11: after this process was stopped every child has its time again, however silent it seems to have been")
    func stoppedHost() throws {
        let scene = try SilenceScene()
        #expect(scene.look(silence: .milliseconds(500)) == nil)
        #expect(scene.look(late: .seconds(30), silence: .seconds(31)) == nil)
        for look in 1...3 { #expect(scene.look(silence: .seconds(31 + look)) == nil) }
        // The child had its whole time again and did not use it.
        #expect(scene.look(silence: .seconds(35)) == .seconds(35))
    }

    @Test("A11: a process that is stopped again and again takes no child for dead")
    func stoppedAgainAndAgain() throws {
        let scene = try SilenceScene()
        for round in 1...100 {
            #expect(scene.look(late: round % 3 == 0 ? .seconds(10) : .zero, silence: .seconds(100)) == nil)
        }
    }

    @Test("looks that are a little late count, so that a busy machine finds a child that is stopped")
    func busyMachine() throws {
        let scene = try SilenceScene()
        let late = Duration.milliseconds(400)
        #expect(scene.look(late: late, silence: .milliseconds(1_400)) == nil)
        #expect(scene.look(late: late, silence: .milliseconds(2_800)) == nil)
        #expect(scene.look(late: late, silence: .milliseconds(4_200)) == .milliseconds(4_200))
    }

    @Test("unchecked numbers do not overflow")
    func wildNumbers() throws {
        #expect(SilenceWatch(Heartbeat(every: .zero, tolerance: 3), from: .zero) == nil)
        #expect(SilenceWatch(Heartbeat(every: .seconds(-1), tolerance: 3), from: .zero) == nil)
        let endless = try SilenceScene(every: .seconds(Int64.max), tolerance: .max)
        #expect(endless.look(silence: .seconds(Int64.max)) == nil)
        let impatient = try SilenceScene(tolerance: .min)
        #expect(impatient.look(silence: .seconds(1)) == nil)
        #expect(impatient.look(silence: .seconds(2)) == .seconds(2))
    }

    // MARK: - Handlers

    @Test("C10: an event is overdue when the deadline has passed since it was found in its handlers, not before")
    func overdue() {
        let scene = HandlerScene(.seconds(1))
        for _ in 0..<4 { #expect(scene.look(inline: 7, oldest: 7) == []) }
        #expect(scene.nextLook == .milliseconds(1_001_250))
        #expect(scene.look(inline: 7, oldest: 7) == [.inline(7)])
    }

    @Test("C10: a handler that returns in time is never overdue, however many there are one after the other")
    func inTime() {
        let scene = HandlerScene(.seconds(1))
        for look: UInt64 in 0..<400 { #expect(scene.look(inline: look / 4, oldest: look / 4) == []) }
    }

    @Test("C10: events that wait their turn behind others begin to count when they are the oldest")
    func waitingEvents() {
        let scene = HandlerScene(.seconds(1))
        for look: UInt64 in 0..<40 { #expect(scene.look(oldest: 1 + look / 4) == []) }
        for _ in 0..<4 { #expect(scene.look(oldest: 11) == []) }
        #expect(scene.look(oldest: 11) == [.oldest(11)])
    }

    @Test("C10: a slow event on a queue and one on the reading thread are told apart")
    func both() {
        let scene = HandlerScene(.seconds(1))
        #expect(scene.look(oldest: 3) == [])
        for _ in 0..<3 { #expect(scene.look(inline: 5, oldest: 3) == []) }
        #expect(scene.look(inline: 5, oldest: 3) == [.oldest(3)])
        #expect(scene.look(inline: 5, oldest: 3) == [.inline(5), .oldest(3)])
        #expect(scene.lookInVain() == [])
    }

    @Test("A11: after this process was stopped every event has its time again")
    func stoppedHostAndHandlers() {
        let scene = HandlerScene(.seconds(1))
        for _ in 0..<3 { #expect(scene.look(inline: 1, oldest: 1) == []) }
        #expect(scene.look(late: .seconds(30), inline: 1, oldest: 1) == [])
        for _ in 0..<3 { #expect(scene.look(inline: 1, oldest: 1) == []) }
        #expect(scene.look(inline: 1, oldest: 1) == [.inline(1)])
    }

    @Test("the shortest and the longest deadline are looked after")
    func extremes() {
        let short = HandlerScene(.nanoseconds(1))
        #expect(short.look(inline: 1) == [])
        #expect(short.look(inline: 1) == [.inline(1)])
        let long = HandlerScene(.seconds(Int64.max))
        for _ in 0..<3 { #expect(long.look(inline: 1) == []) }
    }
}
