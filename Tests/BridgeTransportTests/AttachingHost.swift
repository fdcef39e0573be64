import BridgePlatform
import BridgeProtocol
import BridgeTransport
import DomainEvents
import NamedSockets
import TestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A directory for this user alone, removed with this object.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/event-bridge-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError.current("making a temporary directory") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// A listener whose arrivals become links as a host's do.
final class AttachingHost: Sendable {
    let poller: Poller
    let socket: any ListeningSocket
    let listener: SocketListener
    let reports = Shared<[SocketReport]>([])
    let books = Shared(Books())

    struct Books: Sendable {
        var arrived = 0
        var introduced = 0
        var events = 0
        var ends: [LinkEnd] = []
        var live: [Guest] = []
    }

    /// A client that has attached.
    final class Guest: PartialSink, @unchecked Sendable {
        // Sendable: constant.
        private let link: Link
        private let arrival: Arrival
        private let books: Shared<Books>

        init(_ arrival: Arrival, _ poller: Poller, _ books: Shared<Books>) {
            self.arrival = arrival
            self.books = books
            link = Link(
                peerName: "guest",
                role: .host,
                ownSource: LinkPair.hostSource,
                limits: LinkLimits(),
                poller: poller
            )
        }

        func begin() {
            books.change {
                $0.arrived += 1
                $0.live.append(self)
            }
            do {
                try link.start(over: arrival.stream, delegate: self)
            } catch {
                Issue.record(error)
            }
        }

        func close() { link.close() }

        func link(_ link: Link, received run: inout EventRun) -> EventDisposition {
            books.change { $0.events += 1 }
            return .handled
        }

        func link(_ link: Link, received message: ControlMessage) {
            guard case .hello = message else { return }
            // Before the welcome is sent: a client that has it may do what an arrival is cut off for.
            arrival.introduced()
            LinkPair.hostReceived(message, link, LinkLimits())
            books.change { $0.introduced += 1 }
        }

        func linkEnded(_ link: Link, _ end: LinkEnd) {
            arrival.ended()
            books.change {
                $0.ends.append(end)
                $0.live.removeAll { $0 === self }
            }
        }
    }

    /// Reports come at once.
    convenience init(at path: String, _ change: (inout SocketListener.Limits) -> Void = { _ in }) throws {
        try self.init(on: NamedSocket(at: path), change)
    }

    init(on socket: any ListeningSocket, _ change: (inout SocketListener.Limits) -> Void = { _ in }) throws {
        var limits = SocketListener.Limits()
        limits.reportInterval = 1_000_000
        // Unless a test sets its own limits, no arrival is cut off and no file is looked at.
        limits.timeout = 600_000_000_000
        limits.lookInterval = 600_000_000_000
        change(&limits)
        let poller = try Poller(name: "host")
        self.poller = poller
        self.socket = socket
        listener = SocketListener(
            socket,
            limits: limits,
            poller: poller,
            report: { [reports] report in reports.change { $0.append(report) } },
            arrived: { [books] arrival in Guest(arrival, poller, books).begin() }
        )
        try listener.start()
    }

    func waitForReport(_ matter: SocketReport.Matter) {
        reports.wait { $0.contains { $0.matter == matter } }
    }

    func stop() {
        listener.stop()
        for guest in books.value.live { guest.close() }
        books.wait { $0.live.isEmpty }
        poller.stop()
    }
}

/// The other end: a link of a process that has connected.
final class AttachingClient: Sendable {
    let link: Link
    let delegate = RecordingDelegate(onMessage: { link, message in LinkPair.workerReceived(message, link) })
    let poller: Poller

    init(to path: String) throws {
        poller = try Poller(name: "client")
        link = Link(
            peerName: "host",
            role: .worker,
            ownSource: EventSource(origin: "canvas", incarnation: 0),
            limits: LinkLimits(),
            poller: poller
        )
        link.queue(.hello(LinkPair.hello()))
        let socket = SharedDescriptor(try UnixSocket.connect(to: path))
        try link.start(over: UnixStream(untrusted: socket, poller: poller), delegate: delegate)
    }

    /// Returns once the host has welcomed it.
    func waitForWelcome() { delegate.messages.wait { !$0.isEmpty } }

    func stop() {
        link.close()
        delegate.end.wait { $0 != nil }
        poller.stop()
    }
}

/// Checks that `body` leaves no descriptor behind; only for exit tests, where nothing else runs.
func leavingNoDescriptor(_ body: () throws -> Void) throws {
    waitForStartedRuntime()
    let before = try CurrentProcess.openDescriptorCount()
    try body()
    // A thread that has made its last call still holds its stream for a moment.
    waitUntil { (try? CurrentProcess.openDescriptorCount()) ?? .max <= before }
}
