import BridgeControl
import BridgePlatform
import BridgeProtocol
import CBOR
import DomainEvents
import EventBridge
import EventBridgeTesting
import EventRouting
import Locks
import TestSupport
import Testing

@testable import BridgeClient
@testable import BridgeTransport

private struct ParcelOrdered: DomainEvent, Equatable {
    let label: String
}

private struct ParcelPacked: DomainEvent, Equatable {
    let label: String
}

private struct CrateWeighed: DomainEvent {
    let number: Int
    var filler = ""
}

@Suite("Attached clients", .serialized, .timeLimit(.minutes(5)))
struct AttachTests {
    @Test("a refused change takes no name from clients, and a change with a client's name is refused")
    func refusedNames() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let worker = InMemoryWorker("client-1") { _ in [] }.specification
        let late = await #expect(throws: BridgeError.self) {
            try await bridge.apply([worker], finishingWithin: .seconds(-1))
        }
        #expect(late?.description.contains("the time to finish within is -1 s") == true)
        let client = try await home.attach(EventPublisher())
        #expect(client.name == "client-1")
        let taken = await #expect(throws: BridgeError.self) { try await bridge.apply([worker]) }
        #expect(taken?.description.contains("worker \"client-1\": a client has this name") == true)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a client publishes and subscribes as the host does, and has an interest of its own")
    func bothWays() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let (first, second) = (EventPublisher(), EventPublisher())
        let (provisioned, ordered) = (Collected<ParcelPacked>(), Collected<ParcelOrdered>())
        let causes = Collected<EventID?>()
        let subscriptions = [
            first.subscribe(to: ParcelPacked.self) {
                causes.add(EventContext.current?.cause)
                provisioned.add($0)
            },
            second.subscribe(to: ParcelOrdered.self) { ordered.add($0) },
        ]
        let one = try await home.attach(first)
        let two = try await home.attach(second)
        first.publish(ParcelOrdered(label: "Books"))
        #expect(await provisioned.wait { $0.count == 1 } == [ParcelPacked(label: "Books")])
        #expect(await ordered.wait { $0.count == 1 } == [ParcelOrdered(label: "Books")])
        // The cause is the event that this same publisher has published.
        #expect(causes.all.first??.incarnation == first.source.incarnation)
        home.publisher.publish(ParcelOrdered(label: "Plates"))
        await provisioned.wait { $0.count == 2 }
        await ordered.wait { $0.count == 2 }
        #expect(bridge.clients.map(\.client) == ["client-1", "client-2"])
        #expect(one.name == "client-1" && two.name == "client-2")
        await one.close()
        #expect(await home.detached.wait { $0.count == 1 }.first?.client == "client-1")
        await two.close()
        await bridge.shutdown()
        withExtendedLifetime((subscriptions, kept)) {}
    }

    @Test("a client's deliver and request reach the workers, and wait for no other client")
    func receipts() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let gate = Barrier()
        let (asking, stuck) = (EventPublisher(), EventPublisher())
        let held = stuck.subscribe(to: ParcelOrdered.self) { _ in gate.wait() }
        let one = try await home.attach(asking)
        let two = try await home.attach(stuck)
        let receipt = try await asking.deliver(ParcelOrdered(label: "Books"), within: .seconds(60))
        #expect(receipt.handlers["provisioning"] == 1)
        let fromHost = try await home.publisher.deliver(ParcelOrdered(label: "Plates"), within: .seconds(60))
        #expect(fromHost.handlers["provisioning"] == 1)
        await bridge.waitUntilIdle()
        gate.open()
        await one.close()
        await two.close()
        await bridge.shutdown()
        withExtendedLifetime((held, kept)) {}
    }

    @Test(
        "a client that watches some names gets those and no others, reports among them, though it subscribes to nothing"
    )
    func watchedNames() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let passed = Collected<String>()
        let watching = try await BridgeClient.connect(
            to: home.path,
            publisher: EventPublisher(origin: "watching"),
            name: "watching",
            wantsEverything: false,
            watchedNames: EventName.set(["ParcelPacked", ClientAttached.eventName]),
            tap: { passed.add($0.name) },
            gapTap: nil
        )
        await home.attached.wait { $0.count == 1 }
        let other = try await home.attach(EventPublisher())
        try await home.publisher.deliver(ParcelOrdered(label: "Books"), within: .seconds(60))
        await passed.wait { $0.contains("ParcelPacked") }
        #expect(Set(passed.all) == ["ParcelPacked", ClientAttached.eventName])
        await other.close()
        await watching.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test(
        "a client delivers an event whose type it does not know, and hears who has handled it, or that nothing wants it"
    )
    func deliversByName() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let orders = Collected<EventID?>()
        let subscription = home.publisher.subscribe(to: ParcelOrdered.self) { _ in
            orders.add(EventContext.current?.id)
        }
        let client = try await home.attach(EventPublisher(origin: "tool"))
        let payload = try CBORValue.map([.init(key: .text("label"), value: .text("Books"))]).encoded()
        let receipt = try await client.deliver(name: "ParcelOrdered", payload: payload, within: .seconds(60))
        #expect(receipt.handlers == ["host": 1, "provisioning": 1])
        #expect(orders.all == [client.idElsewhere(of: receipt.id)])
        #expect(client.namesWantedByHost.contains("ParcelOrdered"))
        for (name, payload, code) in [
            ("ParcelOrdred", payload, DeliveryError.Code.noSubscriber), ("ParcelOrdered", [0xA0], .refused),
            ("", payload, .notEncodable), ("*", payload, .notEncodable),
        ] {
            do {
                _ = try await client.deliver(name: name, payload: payload, within: .seconds(60))
                Issue.record("\(name) was delivered")
            } catch let error as DeliveryError {
                #expect(error.code == code, "\(error)")
            }
        }
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime((subscription, kept)) {}
    }

    @Test("no client gets a name that a worker has")
    func names() async throws {
        let home = try AttachHome()
        let worker = InMemoryWorker("client-1", subscribes: []) { _ in [] }
        let (bridge, kept) = try await home.start(workers: [worker])
        let client = try await home.attach(EventPublisher(), name: "a view")
        #expect(client.name == "client-2")
        #expect(home.attached.all.map(\.title) == ["a view"])
        #expect(home.attached.all.map(\.pid) == [CurrentProcess.identifier])
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("C4: a client that reads too slowly finds gaps, and slows no other")
    func slowClient() async throws {
        let home = try AttachHome()
        let count = 3_000
        let seenByWorker = Collected<Int>()
        let worker = InMemoryWorker("recorder", subscribes: [CrateWeighed.self]) { publisher in
            [publisher.subscribe(to: CrateWeighed.self) { seenByWorker.add($0.number) }]
        }
        let (bridge, kept) = try await home.start(workers: [worker]) { $0.outbox = 256 << 10 }
        let slow = EventPublisher()
        let gate = Collected<Void>()
        let seen = Collected<Int>()
        let items = slow.eventsAndGaps(of: CrateWeighed.self)
        let reading = Task {
            for await item in items {
                if !seen.all.isEmpty { await gate.wait { !$0.isEmpty } }
                switch item {
                case .event: seen.add(1)
                case .gap(let gap): seen.add(-gap.count)
                }
            }
        }
        let client = try await home.attach(slow)
        for number in 0..<count {
            try await home.publisher.send(CrateWeighed(number: number, filler: String(repeating: "x", count: 4_000)))
        }
        await bridge.waitUntilIdle()
        #expect(seenByWorker.all == Array(0..<count))
        let status = try #require(bridge.clients.first)
        #expect(status.dropped > 0)
        gate.add(())
        let all = await seen.wait { $0.reduce(0) { $0 + abs($1) } >= count }
        #expect(all.reduce(0) { $0 + abs($1) } == count)
        #expect(all.contains { $0 < 0 })
        #expect(bridge.deadLetters.isEmpty)
        reading.cancel()
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a client that dies in the middle of a frame is simply gone")
    func killed() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let raw = try RawClient(to: home.path)
        raw.send(.hello(RawClient.hello()))
        raw.send(.interest(Interest(wanted: [.init(number: 1, name: ParcelPacked.eventName)])))
        raw.send(.ready)
        await home.attached.wait { $0.count == 1 }
        // The event stays unacknowledged for ever.
        home.publisher.publish(ParcelOrdered(label: "Books"))
        await bridge.waitUntilIdle()
        raw.send([0, 0, 1, 0, 0x87, 8, 1])
        raw.close()
        let end = try #require(await home.detached.wait { $0.count == 1 }.first)
        #expect(end.client == "client-1" && end.reason.hasPrefix("has gone"))
        #expect(bridge.clients.isEmpty && bridge.deadLetters.isEmpty)
        let receipt = try await home.publisher.deliver(ParcelOrdered(label: "Plates"), within: .seconds(60))
        #expect(receipt.handlers["provisioning"] == 1)
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a client that does not go on with a frame is detached, and the reason says so")
    func stalledFrame() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start { $0.frameDeadline = .milliseconds(400) }
        let raw = try RawClient(to: home.path)
        raw.send(.hello(RawClient.hello()))
        raw.send(.ready)
        await home.attached.wait { $0.count == 1 }
        raw.send([0, 0, 1, 0, 0x87, 8, 1])
        let end = try #require(await home.detached.wait { $0.count == 1 }.first)
        #expect(
            end.reason
                == "broke the protocol: a frame that it has begun made no progress for 400 ms, which is the limit"
        )
        #expect(bridge.clients.isEmpty)
        raw.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("the outbox of a worker that takes nothing keeps its hard limit, however often a client comes back")
    func returningFlood() async throws {
        let home = try AttachHome()
        let (gate, dropped) = (Collected<Void>(), Collected<EventsDropped>())
        let worker = InMemoryWorker(
            "recorder",
            subscribes: [CrateWeighed.self],
            limits: WorkerLimits(outbox: 128 << 10, outboxHardLimit: 256 << 10)
        ) { publisher in
            [publisher.subscribe(to: CrateWeighed.self) { _ in await gate.wait { !$0.isEmpty } }]
        }
        let (bridge, kept) = try await home.start(workers: [worker])
        let drops = home.publisher.subscribe(to: EventsDropped.self) { dropped.add($0) }
        func isDropped() -> Bool {
            dropped.all.contains { $0.event == CrateWeighed.eventName && $0.link == "recorder" }
        }
        // Writes until there is no room, and once more, however slowly the host reads.
        var rounds = 0
        while rounds < 4 || !isDropped() {
            let publisher = EventPublisher()
            let client = try await home.attach(publisher)
            for number in 0..<100 {
                publisher.publish(CrateWeighed(number: number, filler: String(repeating: "x", count: 8_000)))
            }
            await client.close(drainingWithin: .milliseconds(50))
            rounds += 1
            let sent = try #require(bridge.statistics.first).sent
            try #require(sent.waitingBytes <= 256 << 10, "\(sent)")
        }
        gate.add(())
        await bridge.waitUntilIdle()
        await bridge.shutdown()
        withExtendedLifetime((kept, drops)) {}
    }

    @Test("a client that acknowledges nothing is not held up by that")
    func acknowledgesNothing() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let raw = try RawClient(to: home.path)
        var hello = RawClient.hello()
        hello.features = .acknowledgesNothing
        hello.windowEvents = 16
        raw.send(.hello(hello))
        raw.send(.interest(Interest(wanted: [.init(number: 1, name: ParcelPacked.eventName)])))
        raw.send(.ready)
        await home.attached.wait { $0.count == 1 }
        for number in 0..<200 { home.publisher.publish(ParcelPacked(label: "\(number)")) }
        var events = 0
        while events < 200, let frame = raw.receiveFrame() {
            let kind = frame.withUnsafeBytes { ControlMessage.kind(of: $0) }
            if kind == FrameKind.event.rawValue { events += 1 }
        }
        #expect(events == 200)
        raw.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a client that speaks lines is told that it may not")
    func lines() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let raw = try RawClient(to: home.path)
        raw.send(Array(#"{"bridge":"hello","name":"raw","cookie":""}"#.utf8) + [10])
        #expect(String(decoding: raw.receiveRest(), as: UTF8.self).contains("lines are for workers"))
        #expect(bridge.clients.isEmpty)
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("clients cannot use up the names that there is room for")
    func usedUpNames() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        for client in 1...5 {
            let raw = try RawClient(to: home.path)
            raw.send(.hello(RawClient.hello()))
            raw.send(.ready)
            await home.attached.wait { $0.count == client }
            let wanted = (0..<4_000).map { Interest.Name(number: UInt64($0 + 1), name: "n\(client).\($0)") }
            raw.send(.interest(Interest(wanted: wanted)))
            if client < 5 {
                raw.close()
            }
            let end = try #require(await home.detached.wait { $0.count == client }.last)
            let sentence = "the limit is 16384 names that no other process knows, for all clients together"
            #expect(end.reason.contains(sentence) == (client == 5), "\(end.reason)")
        }
        let receipt = try await home.publisher.deliver(ParcelOrdered(label: "Books"), within: .seconds(60))
        #expect(receipt.handlers["provisioning"] == 1)
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("what a client says of its own link reaches no other")
    func ownReports() async throws {
        let home = try AttachHome()
        let liar = InMemoryWorker("liar", subscribes: [ParcelOrdered.self]) { publisher in
            [
                publisher.subscribe(to: ParcelOrdered.self) { _ in
                    publisher.publish(HostLost(path: "x", reason: "lied", isFinal: true))
                }
            ]
        }
        let (bridge, kept) = try await home.start(workers: [liar])
        let (lost, ordered) = (Collected<HostLost>(), Collected<ParcelOrdered>())
        let publisher = EventPublisher()
        let subscriptions = [
            publisher.subscribe(to: HostLost.self) { lost.add($0) },
            publisher.subscribe(to: ParcelOrdered.self) { ordered.add($0) },
        ]
        let client = try await home.attach(publisher)
        #expect(try await publisher.deliver(ParcelOrdered(label: "Books"), within: .seconds(60)).handlers["liar"] == 1)
        // The answer comes after everything that the liar has caused.
        home.publisher.publish(ParcelOrdered(label: "Plates"))
        await ordered.wait { $0.contains { $0.label == "Plates" } }
        #expect(lost.all.isEmpty)
        await client.close()
        await bridge.shutdown()
        withExtendedLifetime((kept, subscriptions)) {}
    }

    @Test("a client that breaks the protocol is named and sent away, and workers go on")
    func violation() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let raw = try RawClient(to: home.path)
        raw.send(.hello(RawClient.hello()))
        raw.send(.ready)
        await home.attached.wait { $0.count == 1 }
        raw.send(.drain(graceMilliseconds: 1))
        let end = try #require(await home.detached.wait { $0.count == 1 }.first)
        #expect(end.reason == "broke the protocol: a drain frame is forbidden: only a host sends it")
        #expect(
            try await home.publisher.deliver(ParcelOrdered(label: "Books"), within: .seconds(60)).handlers[
                "provisioning"
            ]
                == 1
        )
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("F13: a client of another version is told both versions, and how the host is")
    func otherVersion() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let raw = try RawClient(to: home.path)
        raw.send(.hello(RawClient.hello(versions: 7...9)))
        guard case .reject(let reject)? = raw.receive() else {
            Issue.record("no reject")
            return
        }
        #expect(reject.reason == Reject.Reason.version.rawValue)
        #expect(reject.text == "the client speaks protocol version 7 to 9 (raw), the host speaks version 1")
        let report = try CBORDecoder().decode(BridgeReport.self, from: try #require(reject.report))
        #expect(report.pid == CurrentProcess.identifier && report.protocolVersion == 1)
        #expect(report.workers.map(\.name) == ["provisioning"] && report.workers.map(\.state) == ["ready"])
        #expect(bridge.clients.isEmpty && home.attached.all.isEmpty)
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("F13: what is too much to tell a client of another version is left out, the times first")
    func muchToTell() throws {
        var times = DurationHistogram()
        for exponent in 0..<40 { times.record(nanoseconds: 1 << exponent) }
        let workers = (0..<60).map { WorkerReport(name: "worker-\($0)", state: "ready", settling: times) }
        let report = BridgeReport(pid: 1, library: "1", protocolVersion: 1, uptimeMilliseconds: 0, workers: workers)
        let whole = try CBOREncoder().encode(report)
        #expect(report.encoded(within: whole.count) == whole)
        let shortened = try #require(report.encoded(within: whole.count - 1))
        #expect(shortened.count < whole.count)
        let told = try CBORDecoder().decode(BridgeReport.self, from: shortened)
        #expect(told.workers.map(\.name) == workers.map(\.name) && told.workers.allSatisfy { $0.settling == nil })
        #expect(report.encoded(within: shortened.count - 1) == nil)
    }

    @Test("a client beyond the limit is refused until another has gone")
    func tooMany() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start { $0.clients = 1 }
        let first = try await home.attach(EventPublisher())
        let error = await #expect(throws: BridgeClientError.self) {
            _ = try await BridgeClient.connect(to: home.path, publisher: EventPublisher())
        }
        #expect(error?.description.hasSuffix("the host has as many clients as it allows") == true)
        await first.close()
        await home.detached.wait { $0.count == 1 }
        let second = try await home.attach(EventPublisher())
        await second.close()
        await bridge.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("a client that has gone keeps its place and its name until the host's handlers are done with its events")
    func goneWhileHandled() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start { $0.clients = 1 }
        let (gate, begun) = (ErrandGate(), Collected<Int>())
        let subscription = home.publisher.subscribe(to: CrateWeighed.self) { parcel in
            begun.add(parcel.number)
            gate.block()
        }
        let publisher = EventPublisher()
        let client = try await home.attach(publisher)
        for number in 1...2 { publisher.publish(CrateWeighed(number: number)) }
        await begun.wait { $0 == [1] }
        await client.close(drainingWithin: .milliseconds(50))
        await home.detached.wait { $0.count == 1 }
        #expect(bridge.clients.isEmpty)
        let refused = await #expect(throws: BridgeClientError.self) {
            _ = try await BridgeClient.connect(to: home.path, publisher: EventPublisher())
        }
        #expect(refused?.code == .crowded)
        let taken = await #expect(throws: BridgeError.self) {
            try await bridge.apply([InMemoryWorker("client-1") { _ in [] }.specification])
        }
        #expect(taken?.description.contains("worker \"client-1\": a client") == true)
        gate.open()
        await begun.wait { $0 == [1, 2] }
        // The link ends some time after the last handler has returned.
        var next: BridgeClient?
        while next == nil {
            do {
                next = try await BridgeClient.connect(to: home.path, publisher: EventPublisher())
            } catch let error as BridgeClientError where error.code == .crowded {}
        }
        await next?.close()
        await bridge.shutdown()
        withExtendedLifetime((kept, subscription)) {}
    }

    @Test("closing a client ends the calls that wait for room")
    func closedWhileWaiting() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let gate = ErrandGate()
        let held = home.publisher.subscribe(to: CrateWeighed.self) { _ in gate.block() }
        let publisher = EventPublisher()
        let client = try await home.attach(publisher)
        publisher.fillOutbox()
        let sending = Task<Void, any Error> { try await publisher.send(CrateWeighed(number: -1)) }
        let watchdog = Task.cancelling([sending])
        await client.waitForSenders()
        await client.close(drainingWithin: .milliseconds(50))
        let error = await #expect(throws: DeliveryError.self) { try await sending.value }
        #expect(error?.code == .workerUnavailable)
        #expect(error?.description.hasSuffix("the host is unavailable: the client was closed") == true)
        watchdog.cancel()
        gate.open()
        await bridge.shutdown()
        withExtendedLifetime((kept, held)) {}
    }

    @Test(
        "a client that gives up ends the calls that wait, and events still pass within its process",
        arguments: [false, true]
    )
    func givenUpWhileWaiting(isDelivered: Bool) async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let (gate, handling) = (ErrandGate(), Collected<Int>())
        let held = home.publisher.subscribe(to: CrateWeighed.self) { crate in
            handling.add(crate.number)
            gate.block()
        }
        let publisher = EventPublisher()
        let (lost, packed) = (Collected<HostLost>(), Collected<ParcelPacked>())
        let subscriptions = [
            publisher.subscribe(to: HostLost.self) { lost.add($0) },
            publisher.subscribe(to: ParcelPacked.self) { packed.add($0) },
        ]
        let way = WayTrustedOnce(path: home.path)
        let client = try await BridgeClient.connect(
            to: home.path,
            publisher: publisher,
            name: "test",
            wantsEverything: false,
            way: way,
            tap: nil,
            gapTap: nil
        )
        let delivering = Task<Void, any Error> {
            try await publisher.deliver(CrateWeighed(number: 0), within: .seconds(600))
        }
        await handling.wait(for: 1)
        publisher.fillOutbox()
        let waiting = Task<Void, any Error> {
            if isDelivered {
                try await publisher.deliver(CrateWeighed(number: -1), within: .seconds(600))
            } else {
                try await publisher.send(CrateWeighed(number: -1))
            }
        }
        let watchdog = Task.cancelling([delivering, waiting])
        await client.waitForSenders()
        // The client gives up some time later, at its next attempt.
        way.endLink()
        for call in [delivering, waiting] {
            let error = await #expect(throws: DeliveryError.self) { try await call.value }
            #expect(error?.code == .workerUnavailable)
        }
        watchdog.cancel()
        await lost.wait { $0.last?.isFinal == true }
        #expect(lost.all.map(\.isFinal) == [false, true])
        publisher.publish(ParcelPacked(label: "Books"))
        #expect(packed.all == [ParcelPacked(label: "Books")])
        await client.close()
        gate.open()
        await bridge.shutdown()
        withExtendedLifetime((kept, held, subscriptions)) {}
    }

    @Test("where no host listens a client cannot attach, and says where")
    func unreachable() async throws {
        let directory = try TemporaryDirectory()
        let error = await #expect(throws: BridgeClientError.self) {
            _ = try await BridgeClient.connect(to: directory.path + "/s", publisher: EventPublisher())
        }
        #expect(error?.code == .unreachable)
        #expect(error?.description.contains(directory.path + "/s") == true)
    }

    @Test("a second host at the same path is refused with the number of the first")
    func secondHost() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start()
        let second = try BridgeHost(publisher: EventPublisher(), workers: [], control: ControlSocket(home.path))
        let error = await #expect(throws: BridgeError.self) { try await second.start() }
        #expect(error?.code == .control)
        #expect(error?.description.contains("process \(CurrentProcess.identifier)") == true)
        let client = try await home.attach(EventPublisher())
        await client.close()
        await bridge.shutdown()
        // When the first host has ended, the second may start.
        try await second.start()
        await second.shutdown()
        withExtendedLifetime(kept) {}
    }

    @Test("mistakes of the control socket's description are all named")
    func mistakes() {
        let control = ControlSocket("", clients: 0, outbox: 1, overflow: ["A": .wait])
        let error = #expect(throws: BridgeError.self) {
            _ = try BridgeHost(publisher: EventPublisher(), workers: [], control: control)
        }
        #expect(error?.description.split(separator: "\n").count == 4)
    }

    @Test(
        "a client whose host is started anew attaches by itself, says what it may have missed, and loses nothing of its own"
    )
    func restartedHost() async throws {
        let home = try AttachHome()
        let (bridge, kept) = try await home.start(workers: [AttachHome.provisioning])
        let publisher = EventPublisher()
        let (lost, regained) = (Collected<HostLost>(), Collected<HostRegained>())
        let provisioned = Collected<ParcelPacked>()
        let subscriptions = [
            publisher.subscribe(to: HostLost.self) { lost.add($0) },
            publisher.subscribe(to: HostRegained.self) { regained.add($0) },
            publisher.subscribe(to: ParcelPacked.self) { provisioned.add($0) },
        ]
        let client = try await home.attach(publisher)
        publisher.publish(ParcelOrdered(label: "before"))
        await provisioned.wait { $0.count == 1 }
        await bridge.shutdown()
        let loss = try #require(await lost.wait { $0.count == 1 }.first)
        #expect(loss.reason.hasSuffix("the host has ended") && !loss.isFinal)
        #expect(!client.isAttached)
        // The event waits in the outbox, because the host wanted its name before.
        publisher.publish(ParcelOrdered(label: "between"))
        let next = try AttachHome(at: home)
        let (second, keptToo) = try await next.start(workers: [AttachHome.provisioning])
        let gain = try #require(await regained.wait { $0.count == 1 }.first)
        #expect(!gain.isSameHost && gain.client == "client-1")
        #expect(gain.mayHaveMissed.contains(ParcelPacked.eventName))
        #expect(!gain.mayHaveMissed.contains(ParcelOrdered.eventName))
        #expect(gain.lastEvent?.hasPrefix("provisioning-") == true)
        // Events that the first host had not acknowledged when it ended come again, before this one.
        await provisioned.wait { $0.last == ParcelPacked(label: "between") }
        publisher.publish(ParcelOrdered(label: "after"))
        await provisioned.wait { $0.last == ParcelPacked(label: "after") }
        await client.close()
        await second.shutdown()
        withExtendedLifetime((subscriptions, kept, keptToo)) {}
    }
}

extension EventPublisher {
    /// Publishes more than what lies in an outbox, on the way and with the host when callers begin to wait.
    fileprivate func fillOutbox() {
        for number in 1...256 { publish(CrateWeighed(number: number, filler: String(repeating: "x", count: 64 << 10))) }
    }
}

extension Task where Success == Void, Failure == any Error {
    /// Cancels calls that do not end in time, so that they fail and do not hang.
    fileprivate static func cancelling(_ calls: [Task]) -> Task {
        Task {
            try await Task<Never, Never>.sleep(for: .seconds(60))
            for call in calls { call.cancel() }
        }
    }
}

/// A way to a host whose socket another user serves from the second attempt on.
private final class WayTrustedOnce: WayToHost, Sendable {
    private let path: String
    private let streams = Collected<any ByteStream>()

    init(path: String) { self.path = path }

    func connect(on poller: Poller) throws(BridgeClientError) -> any ByteStream {
        guard streams.all.isEmpty else { throw BridgeClientError(.notTrusted, "another user serves the socket") }
        let stream = try HostSocket(path: path).connect(on: poller)
        streams.add(stream)
        return stream
    }

    func endLink() { streams.all.first?.close() }
}

extension BridgeClient {
    /// Returns once a call waits for room in the outbox of the client's link.
    fileprivate func waitForSenders() async {
        let link = core.peer.link
        while !link.lock.withLock({ link.waiters.areSendersWaiting }) { await Task.yield() }
    }
}

extension AttachHome {
    /// Another host in the place of one that has ended.
    fileprivate init(at other: AttachHome) throws {
        directory = other.directory
    }

    /// A worker that provides each box that is ordered.
    fileprivate static let provisioning = InMemoryWorker("provisioning", subscribes: [ParcelOrdered.self]) {
        publisher in
        [publisher.subscribe(to: ParcelOrdered.self) { publisher.publish(ParcelPacked(label: $0.label)) }]
    }
}
