import Dispatch
import Foundation
import Testing

@testable import NATSGateway

@Suite(.timeLimit(.minutes(1))) struct MachineQueueTests {
    /// A machine that returns each input as an action.
    private struct Echo: Machine {
        enum Input: Sendable, Equatable {
            case number(Int, of: Int)
            case start(Duration?)
            case timeOver
        }

        static var timeOver: Input { .timeOver }

        mutating func handle(_ input: Input) -> [Input] { [input] }
    }

    private struct Log {
        var inputs: [Echo.Input] = []
        var threads: [UInt] = []
        var times: [DispatchTime] = []
        var finishes = 0
    }

    private let log = Changing(Log())
    private let queue = DispatchQueue(label: "test")

    /// - Parameter answer: returns the input that an input leads to, if any.
    private func begun(_ answer: @escaping @Sendable (Echo.Input) -> Echo.Input? = { _ in nil }) -> MachineQueue<Echo> {
        let machine = MachineQueue<Echo>(queue)
        machine.start(Echo()) { [log] input in
            log.change {
                $0.inputs.append(input)
                $0.threads.append(Self.thread)
                $0.times.append(.now())
            }
            if case .start(let time) = input { return .timer(time) }
            return answer(input).map { .input($0) } ?? .done
        } finish: { [log] in
            log.change { $0.finishes += 1 }
        }
        return machine
    }

    private static var thread: UInt { UInt(pthread_self()) }

    @Test func inputsOfManyThreadsAreHandledOnceAndInTheirOrder() async {
        let machine = begun()
        let count = 2_000
        for thread in 0..<4 {
            Thread.detachNewThread {
                for number in 0..<count {
                    if (number + thread) % 3 == 0 {
                        machine.run(.number(number, of: thread))
                    } else {
                        machine.put(.number(number, of: thread))
                    }
                }
            }
        }
        await log.wait { $0.inputs.count == 4 * count }
        for thread in 0..<4 {
            let numbers = log.value.inputs.compactMap {
                if case .number(let number, thread) = $0 { number } else { nil }
            }
            #expect(numbers == Array(0..<count))
        }
    }

    @Test func whatComesOfAnActionIsHandledBeforeWhatWaits() async {
        let machine = begun { $0 == .number(1, of: 0) ? .number(9, of: 0) : nil }
        queue.suspend()
        machine.put(.number(1, of: 0))
        machine.put(.number(2, of: 0))
        queue.resume()
        await log.wait { $0.finishes > 0 }
        #expect(log.value.inputs == [.number(1, of: 0), .number(9, of: 0), .number(2, of: 0)])
        // `finish` was called once for all inputs.
        queue.sync {}
        #expect(log.value.finishes == 1)
    }

    @Test func idleMachineRunsOnTheThreadThatHasTheInput() {
        let machine = begun()
        queue.sync {}
        machine.run(.number(1, of: 0))
        #expect(log.value.threads == [Self.thread])
    }

    @Test func timerRunsOutOnceForTheLastStartAndNotAfterItsStop() async {
        let machine = begun()
        for _ in 1...100 { machine.put(.start(.seconds(600))) }
        // This time is shorter than the one that the queue waits for.
        machine.put(.start(.milliseconds(5)))
        await log.wait { $0.inputs.last == .timeOver }
        // The machine handles all three inputs in one turn, however slow this computer is.
        queue.suspend()
        let start = DispatchTime.now()
        machine.put(.start(.milliseconds(5)))
        machine.put(.start(nil))
        machine.put(.start(.milliseconds(50)))
        queue.resume()
        await log.wait { $0.inputs.count { $0 == .timeOver } == 2 }
        // The timer of 50 ms ran out, not the one of 5 ms that it replaced, and none after it.
        #expect(log.value.times.last.map { $0 >= start + .milliseconds(50) } ?? false)
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        queue.asyncAfter(deadline: .now() + .milliseconds(100)) { continuation.finish() }
        for await _ in stream {}
        #expect(log.value.inputs.count { $0 == .timeOver } == 2)
    }

    @Test func stopEndsTheMachineBehindTheTurnThatRuns() async {
        let mayGoOn = DispatchSemaphore(value: 0)
        let machine = begun { input in
            if input == .number(1, of: 0) { mayGoOn.wait() }
            return nil
        }
        queue.suspend()
        machine.put(.number(1, of: 0))
        machine.put(.number(2, of: 0))
        queue.resume()
        await log.wait { $0.inputs == [.number(1, of: 0)] }
        machine.put(.number(3, of: 0))
        machine.stop()
        mayGoOn.signal()
        queue.sync {}
        #expect(log.value.inputs == [.number(1, of: 0), .number(2, of: 0)])
    }

    @Test func nothingIsHandledAfterTheStop() {
        let machine = begun()
        queue.sync {}
        machine.stop()
        machine.run(.number(1, of: 0))
        machine.put(.number(2, of: 0))
        queue.sync {}
        #expect(log.value.inputs.isEmpty)
    }
}
