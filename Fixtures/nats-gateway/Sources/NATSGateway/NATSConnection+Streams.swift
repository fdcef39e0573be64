import CNATS

/// Requests to JetStream. Each waits for its answer, so only a thread that may wait calls them.
extension NATSConnection {
    /// The limits of a stream that this gateway makes.
    struct StreamLimits: Sendable, Equatable {
        var bytes: Int64
        /// In hours.
        var age: Int64
    }

    private static let nanosecondsPerSecond: Int64 = 1_000_000_000

    /// Looks at the end of a node's own stream, and makes the stream if there is none.
    func tail(of node: Node, withRecent: Bool, limits: StreamLimits) throws(NATSError) -> Tail {
        var tail: Tail
        do {
            tail = try info(of: node).tail
        } catch  where error.code == JSStreamNotFoundErr.rawValue {
            tail = try makeStream(of: node, limits).tail
        }
        if tail.sequence > 0 { tail.last = try identity(at: tail.sequence, of: node) }
        if withRecent, tail.sequence > 0 { tail.recent = try recent(of: node, upTo: tail.sequence) }
        return tail
    }

    /// Looks at another node's stream, at the consumers of a node there, and at one message.
    ///
    /// A broker in a cluster may omit consumers from the list of their descriptions, without telling this client. The
    /// list of names is what the cluster has agreed on, so each description is asked for by name.
    func look(at node: Node, by reader: Node, message: UInt64 = 0) throws(NATSError) -> ImportLook {
        var look = try info(of: node).look
        if message > 0, message <= look.last { look.identity = try identity(at: message, of: node) }
        var newest: UInt64 = 0
        for name in try consumerNames(of: node) {
            guard let number = reader.number(ofConsumer: name) else { continue }
            var consumer: UnsafeMutablePointer<jsConsumerInfo>?
            var code = jsErrCode(rawValue: 0)
            let status = js_GetConsumerInfo(&consumer, jetStream, node.stream, name, nil, &code)
            // The consumer may have been removed since.
            if status == NATS_NOT_FOUND { continue }
            try NATSError.check(status, code)
            defer { jsConsumerInfo_Destroy(consumer) }
            guard let consumer else { continue }
            look.consumers.append(number)
            // The floor of a consumer is 0 until its first acknowledgement, wherever it begins.
            let start = Self.count(consumer.pointee.Config?.pointee.OptStartSeq ?? 0)
            look.floor = max(look.floor, Self.count(consumer.pointee.AckFloor.Stream), start > 0 ? start - 1 : 0)
            look.delivered = max(look.delivered, Self.count(consumer.pointee.Delivered.Stream))
            if number >= newest {
                newest = number
                look.unkept = Self.unkept(consumer.pointee.Config?.pointee.Description)
            }
        }
        return look
    }

    /// The identity of one message of a node's stream, empty if it has none; nil if there is no such message.
    func identity(at sequence: UInt64, of node: Node) throws(NATSError) -> String? {
        var message: OpaquePointer?
        var code = jsErrCode(rawValue: 0)
        let status = js_GetMsg(&message, jetStream, node.stream, sequence, nil, &code)
        if code == JSNoMessageFoundErr { return nil }
        try NATSError.check(status, code)
        guard let message else { return nil }
        return NATSMessage(message).field(EventHeaders.identityField) ?? ""
    }

    /// Makes a durable consumer that brings a stream's messages to a subject, and removes the reader's earlier ones.
    ///
    /// - Parameter unkept: behind this place the host may not have kept any place; the consumer's description says so.
    func makeConsumer(
        _ number: UInt64,
        of reader: Node,
        at node: Node,
        start: UInt64,
        unkept: UInt64?,
        filter: String,
        window: Int,
        deliverTo subject: String,
        removing earlier: [UInt64]
    ) throws(NATSError) {
        let name = reader.consumer(number)
        let description = unkept.map { "\(Self.unkeptText)\($0)" } ?? ""
        try Self.withCStrings(name, filter, subject, description) { name, filter, subject, text throws(NATSError) in
            var configuration = Self.consumer(from: start, to: subject)
            configuration.Durable = name
            if unkept != nil { configuration.Description = text }
            configuration.FilterSubject = filter
            configuration.AckPolicy = js_AckAll
            // The time is so long that no consumer sends a message twice: the gateway makes a new consumer instead.
            configuration.AckWait = 3_600 * Self.nanosecondsPerSecond
            configuration.MaxAckPending = Int64(window)
            configuration.Heartbeat = 2 * Self.nanosecondsPerSecond
            var code = jsErrCode(rawValue: 0)
            try NATSError.check(js_AddConsumer(nil, jetStream, node.stream, &configuration, nil, &code), code)
        }
        // From now on the new consumer's floor counts. An earlier consumer that stays is removed the next time.
        for number in earlier { js_DeleteConsumer(jetStream, node.stream, reader.consumer(number), nil, nil) }
    }

    // MARK: - Steps

    /// Before the number in a consumer's description.
    private static let unkeptText = "no place kept behind "

    private static func unkept(_ description: UnsafePointer<CChar>?) -> UInt64? {
        guard let text = description.map({ String(cString: $0) }), text.utf8.starts(with: unkeptText.utf8) else {
            return nil
        }
        return UInt64(text.dropFirst(unkeptText.count))
    }

    private func info(of node: Node) throws(NATSError) -> StreamInfo {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(rawValue: 0)
        try NATSError.check(js_GetStreamInfo(&info, jetStream, node.stream, nil, &code), code)
        return try StreamInfo(taking: info)
    }

    private func makeStream(of node: Node, _ limits: StreamLimits) throws(NATSError) -> StreamInfo {
        try Self.withCStrings(node.stream, node.subjects) { stream, subjects, _, _ throws(NATSError) in
            var configuration = jsStreamConfig()
            jsStreamConfig_Init(&configuration)
            var list: [UnsafePointer<CChar>?] = [subjects]
            var info: UnsafeMutablePointer<jsStreamInfo>?
            var code = jsErrCode(rawValue: 0)
            let status = list.withUnsafeMutableBufferPointer { list in
                configuration.Name = stream
                configuration.Subjects = list.baseAddress
                configuration.SubjectsLen = 1
                configuration.Storage = js_FileStorage
                configuration.Discard = js_DiscardNew
                configuration.MaxBytes = limits.bytes
                configuration.MaxAge = limits.age * 3_600 * Self.nanosecondsPerSecond
                return js_AddStream(&info, jetStream, &configuration, nil, &code)
            }
            try NATSError.check(status, code)
            return try StreamInfo(taking: info)
        }
    }

    private func consumerNames(of node: Node) throws(NATSError) -> [String] {
        var list: UnsafeMutablePointer<jsConsumerNamesList>?
        var code = jsErrCode(rawValue: 0)
        let status = js_ConsumerNames(&list, jetStream, node.stream, nil, &code)
        // The stream has no consumers.
        if status == NATS_NOT_FOUND { return [] }
        try NATSError.check(status, code)
        defer { jsConsumerNamesList_Destroy(list) }
        guard let list else { return [] }
        return (0..<Int(list.pointee.Count)).compactMap { list.pointee.List[$0].map { String(cString: $0) } }
    }

    /// The identities of the last messages, read through a consumer that brings no payloads.
    private func recent(of node: Node, upTo last: UInt64) throws(NATSError) -> Set<String> {
        let subject = "\(inbox).recent"
        var subscription: OpaquePointer?
        try NATSError.check(natsConnection_SubscribeSync(&subscription, client, subject))
        defer { natsSubscription_Destroy(subscription) }
        let start = last > Tail.remembered ? last - Tail.remembered + 1 : 1
        return try Self.withCStrings(subject) { subject, _, _, _ throws(NATSError) in
            var configuration = Self.consumer(from: start, to: subject)
            configuration.AckPolicy = js_AckNone
            configuration.HeadersOnly = true
            configuration.InactiveThreshold = Self.nanosecondsPerSecond
            var made: UnsafeMutablePointer<jsConsumerInfo>?
            var code = jsErrCode(rawValue: 0)
            try NATSError.check(js_AddConsumer(&made, jetStream, node.stream, &configuration, nil, &code), code)
            defer {
                js_DeleteConsumer(jetStream, node.stream, made?.pointee.Name, nil, nil)
                jsConsumerInfo_Destroy(made)
            }
            // All messages may have been removed.
            guard let made, made.pointee.NumPending > 0 || made.pointee.Delivered.Consumer > 0 else { return [] }
            var recent = RecentIdentities(from: made.pointee.Name.map { String(cString: $0) } ?? "")
            while !recent.isComplete {
                var received: OpaquePointer?
                try NATSError.check(natsSubscription_NextMsg(&received, subscription, 2_000))
                guard let received else { break }
                let message = NATSMessage(received)
                recent.take(reply: message.reply, identity: message.field(EventHeaders.identityField))
            }
            return recent.identities
        }
    }

    private static func consumer(from start: UInt64, to subject: UnsafePointer<CChar>) -> jsConsumerConfig {
        var configuration = jsConsumerConfig()
        jsConsumerConfig_Init(&configuration)
        configuration.DeliverPolicy = js_DeliverByStartSequence
        configuration.OptStartSeq = start
        configuration.DeliverSubject = subject
        return configuration
    }

    /// A count from the broker, clamped so that additions to it cannot overflow.
    fileprivate static func count(_ number: UInt64) -> UInt64 { min(number, UInt64(Int64.max)) }

    private typealias CString = UnsafePointer<CChar>

    /// Calls `body` with C strings, which live until `body` returns: a configuration of the client points to them.
    private static func withCStrings<Result>(
        _ one: String,
        _ two: String = "",
        _ three: String = "",
        _ four: String = "",
        _ body: (CString, CString, CString, CString) throws(NATSError) -> Result
    ) throws(NATSError) -> Result {
        var places: [Int] = []
        var bytes: [CChar] = []
        for text in [one, two, three, four] {
            places.append(bytes.count)
            bytes += text.utf8CString
        }
        let result = bytes.withUnsafeBufferPointer { bytes -> Swift.Result<Result, NATSError> in
            guard let base = bytes.baseAddress else {
                // A C string has at least its zero.
                preconditionFailure("a C string has no address")
            }
            do throws(NATSError) {
                let texts = places.map { base + $0 }
                return .success(try body(texts[0], texts[1], texts[2], texts[3]))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

/// What this gateway reads of a stream's description.
private struct StreamInfo {
    let created: Int64
    let first: UInt64
    let last: UInt64

    /// Reads and releases the client's description.
    ///
    /// - Throws: If the broker is still making the stream. nats-server 2.9.10 lists a stream before it sets the
    ///   stream's time (`addStreamWithAssignment`). Until then a description has Go's zero time, which the client
    ///   makes a 0.
    init(taking info: UnsafeMutablePointer<jsStreamInfo>?) throws(NATSError) {
        defer { jsStreamInfo_Destroy(info) }
        created = info?.pointee.Created ?? 0
        guard created != 0 else {
            throw NATSError(status: NATS_NOT_FOUND, code: 0, description: "the broker is still making the stream")
        }
        first = NATSConnection.count(info?.pointee.State.FirstSeq ?? 0)
        last = NATSConnection.count(info?.pointee.State.LastSeq ?? 0)
    }

    var tail: Tail { Tail(created: created, sequence: last) }

    var look: ImportLook { ImportLook(created: created, first: first, last: last) }
}
