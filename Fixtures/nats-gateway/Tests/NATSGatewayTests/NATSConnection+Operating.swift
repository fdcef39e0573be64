import CNATS
import Dispatch

@testable import NATSGateway

/// What operators do to streams.
extension NATSConnection {
    /// A client of a test, once it is connected.
    static func connected(to url: String) async throws -> NATSConnection {
        let client = try NATSConnection(.test(url), writesAtOnce: true)
        let isConnected = Changing(false)
        client.open(on: DispatchQueue(label: "test")) { change in
            if case .connected = change { isConnected.change { $0 = true } }
        }
        await isConnected.wait { $0 }
        return client
    }

    /// Publishes a message and waits until it is stored.
    func store(_ subject: String, _ headers: [String: String], _ payload: [UInt8]) throws {
        var message: OpaquePointer?
        try payload.withUnsafeBytes { bytes in
            let data = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            try NATSError.check(natsMsg_Create(&message, subject, nil, data, Int32(bytes.count)))
        }
        defer { natsMsg_Destroy(message) }
        for (name, value) in headers { try NATSError.check(natsMsgHeader_Set(message, name, value)) }
        var code = jsErrCode(rawValue: 0)
        try NATSError.check(js_PublishMsg(nil, jetStream, message, nil, &code), code)
    }

    func purge(_ stream: String) throws {
        var code = jsErrCode(rawValue: 0)
        try NATSError.check(js_PurgeStream(jetStream, stream, nil, &code), code)
    }

    func removeConsumer(_ name: String, of node: Node) throws {
        var code = jsErrCode(rawValue: 0)
        try NATSError.check(js_DeleteConsumer(jetStream, node.stream, name, nil, &code), code)
    }

    /// Makes a consumer that sends a stream's messages from `start` on to a subject as soon as a client listens there.
    func makeConsumer(_ name: String, of node: Node, start: UInt64, deliverTo subject: String) throws {
        var code = jsErrCode(rawValue: 0)
        let status = name.withCString { name in
            subject.withCString { subject in
                var configuration = jsConsumerConfig()
                jsConsumerConfig_Init(&configuration)
                configuration.Durable = name
                configuration.DeliverPolicy = js_DeliverByStartSequence
                configuration.OptStartSeq = start
                configuration.DeliverSubject = subject
                configuration.AckPolicy = js_AckNone
                return js_AddConsumer(nil, jetStream, node.stream, &configuration, nil, &code)
            }
        }
        try NATSError.check(status, code)
    }

    func setDuplicateWindow(of stream: String, milliseconds: Int64) throws {
        try change(stream) { $0.Duplicates = milliseconds * 1_000_000 }
    }

    private func change(_ stream: String, _ body: (inout jsStreamConfig) -> Void) throws {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(rawValue: 0)
        try NATSError.check(js_GetStreamInfo(&info, jetStream, stream, nil, &code), code)
        defer { jsStreamInfo_Destroy(info) }
        guard let configuration = info?.pointee.Config else { return }
        body(&configuration.pointee)
        try NATSError.check(js_UpdateStream(nil, jetStream, configuration, nil, &code), code)
    }
}

extension NATSSettings {
    /// The settings of a test's client.
    static func test(_ url: String) -> NATSSettings {
        NATSSettings(url: url, credentials: nil, name: "test", answerTime: usualAnswerTime)
    }
}
