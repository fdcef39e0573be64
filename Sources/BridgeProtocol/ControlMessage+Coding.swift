package import CBOR

extension ControlMessage {
    // MARK: - Encoding

    /// Appends the message as a whole frame.
    package func encode(into buffer: CBORBuffer) { buffer.appendFrame { encodeBody($0) } }

    private func encodeBody(_ writer: CBORWriter) {
        func begin(_ kind: FrameKind, _ elements: Int) {
            writer.arrayHead(elements + 1)
            writer.unsigned(kind.rawValue)
        }
        switch self {
        case .hello(let hello):
            begin(.hello, hello.features.isEmpty ? 9 : 10)
            writer.text(Hello.magic)
            writer.unsigned(hello.versions.lowerBound)
            writer.unsigned(hello.versions.upperBound)
            writer.text(hello.name)
            writer.text(hello.cookie)
            writer.text(hello.library)
            writer.unsigned(hello.windowBytes)
            writer.unsigned(hello.windowEvents)
            writer.unsigned(hello.frameBytes)
            if !hello.features.isEmpty { writer.unsigned(hello.features.rawValue) }
        case .welcome(let welcome):
            let (isNamed, isMarked) = (welcome.name != nil, welcome.bookmark != nil)
            begin(.welcome, isMarked ? 11 : isNamed ? 10 : welcome.features.isEmpty ? 8 : 9)
            writer.unsigned(welcome.version)
            writer.text(welcome.library)
            writer.unsigned(welcome.hostIncarnation)
            writer.unsigned(welcome.workerIncarnation)
            writer.unsigned(welcome.windowBytes)
            writer.unsigned(welcome.windowEvents)
            writer.unsigned(welcome.frameBytes)
            writer.unsigned(welcome.heartbeatMilliseconds)
            if !welcome.features.isEmpty || isNamed || isMarked { writer.unsigned(welcome.features.rawValue) }
            if let name = welcome.name { writer.text(name) } else if isMarked { writer.null() }
            if let bookmark = welcome.bookmark { writer.bytes(bookmark) }
        case .reject(let reject):
            begin(.reject, reject.report == nil ? 2 : 3)
            writer.unsigned(reject.reason)
            writer.text(reject.text)
            if let report = reject.report { writer.bytes(report) }
        case .interest(let interest):
            begin(.interest, 2)
            writer.arrayHead(interest.wanted.count)
            for wanted in interest.wanted {
                writer.arrayHead(2)
                writer.unsigned(wanted.number)
                writer.text(wanted.name)
            }
            writer.arrayHead(interest.unwanted.count)
            for number in interest.unwanted { writer.unsigned(number) }
        case .ready:
            begin(.ready, 0)
        case .moreTime(let milliseconds, let reason):
            begin(.moreTime, 2)
            writer.unsigned(milliseconds)
            writer.text(reason)
        case .acknowledge(let acknowledgement, let incarnation):
            acknowledgement.encodeBody(incarnation: incarnation, writer)
        case .refuse(let refusal):
            begin(.refuse, 3)
            writer.unsigned(refusal.sequence)
            writer.unsigned(refusal.reason)
            writer.text(refusal.text)
        case .receipt(let receipt):
            begin(.receipt, 6)
            EventFrame.encode(receipt.id, writer)
            writer.text(receipt.process)
            writer.unsigned(receipt.outcome)
            writer.unsigned(receipt.handlers)
            writer.text(receipt.text)
            writer.arrayHead(receipt.passedOnTo.count)
            for process in receipt.passedOnTo { writer.text(process) }
        case .heartbeat:
            begin(.heartbeat, 0)
        case .drain(let milliseconds):
            begin(.drain, 1)
            writer.unsigned(milliseconds)
        case .goodbye(let goodbye):
            begin(.goodbye, 4)
            writer.unsigned(goodbye.reason)
            writer.text(goodbye.text)
            writer.unsigned(goodbye.lastWritten)
            writer.unsigned(goodbye.handledMark)
        }
    }

    // MARK: - Decoding

    /// Decodes the body of a control frame; nil for an unknown kind that may be skipped.
    ///
    /// Elements beyond the known ones are ignored, so that later versions can add some.
    package init?(decoding body: UnsafeRawBufferPointer, limits: LinkLimits) throws {
        var reader = CBORReader(body)
        guard let count = try reader.readArrayHead(), count > 0 else {
            throw LinkViolation("a frame is an array with a count, and begins with its kind")
        }
        let number = try reader.readUnsigned()
        guard let kind = FrameKind(rawValue: number) else {
            if number >= FrameKind.firstSkippable {
                // The frame may be skipped, but it must still be well-formed.
                for _ in 1..<count { try reader.skipItem() }
                try Self.expectEnd(of: reader)
                return nil
            }
            throw LinkViolation("frame kind \(number) is unknown and may not be skipped")
        }
        let known = try Self.knownElements(of: kind)
        guard count > known else {
            throw LinkViolation("a \(kind) frame has \(known + 1) elements; this one has \(count)")
        }
        var rest = count - known - 1
        self = try Self.decode(kind, &reader, &rest, limits: limits)
        for _ in 0..<rest { try reader.skipItem() }
        try Self.expectEnd(of: reader)
    }

    private static func knownElements(of kind: FrameKind) throws(LinkViolation) -> Int {
        switch kind {
        case .hello: 9
        case .welcome: 8
        case .reject, .interest, .moreTime: 2
        case .ready, .heartbeat: 0
        case .acknowledge, .goodbye: 4
        case .refuse: 3
        case .receipt: 6
        case .drain: 1
        case .event, .gap, .placed: throw LinkViolation("an event is no control message")
        }
    }

    private static func expectEnd(of reader: CBORReader) throws(LinkViolation) {
        guard reader.isAtEnd else { throw LinkViolation("\(reader.bytesLeft) bytes follow the message in its frame") }
    }

    private static func decode(
        _ kind: FrameKind,
        _ reader: inout CBORReader,
        _ rest: inout Int,
        limits: LinkLimits
    ) throws -> ControlMessage {
        switch kind {
        case .hello: .hello(try decodeHello(&reader, &rest))
        case .welcome: .welcome(try decodeWelcome(&reader, &rest, limits: limits))
        case .reject: .reject(try decodeReject(&reader, &rest))
        case .interest: .interest(try decodeInterest(&reader, limits: limits))
        case .ready: .ready
        case .moreTime: .moreTime(milliseconds: try reader.readNumber(), reason: try reader.readShortText())
        case .acknowledge: try Acknowledgement.decodeRest(&reader, &rest)
        case .refuse:
            .refuse(
                Refusal(
                    sequence: try reader.readUnsigned(),
                    reason: try reader.readUnsigned(),
                    text: try reader.readShortText()
                )
            )
        case .receipt: .receipt(try decodeReceipt(&reader, limits: limits))
        case .heartbeat: .heartbeat
        case .drain: .drain(graceMilliseconds: try reader.readNumber())
        case .goodbye:
            .goodbye(
                Goodbye(
                    reason: try reader.readUnsigned(),
                    text: try reader.readShortText(),
                    lastWritten: try reader.readUnsigned(),
                    handledMark: try reader.readUnsigned()
                )
            )
        case .event, .gap, .placed: throw LinkViolation("an event is no control message")
        }
    }

    private static func decodeHello(_ reader: inout CBORReader, _ rest: inout Int) throws -> Hello {
        let magic = try reader.readText()
        guard magic == Hello.magic else {
            throw LinkViolation(
                "a hello begins with \"\(Hello.magic)\"; this one begins with \"\(magic.shortened(toScalars: 32))\""
            )
        }
        let lowest = try reader.readUnsigned()
        let highest = try reader.readUnsigned()
        guard lowest <= highest else { throw LinkViolation("versions \(lowest) to \(highest) are no range") }
        return Hello(
            versions: lowest...highest,
            name: try reader.readText(),
            cookie: try reader.readText(),
            library: try reader.readText(),
            windowBytes: try reader.readUnsigned(),
            windowEvents: try reader.readUnsigned(),
            frameBytes: try reader.readUnsigned(),
            features: try decodeFeatures(&reader, &rest)
        )
    }

    private static func decodeWelcome(
        _ reader: inout CBORReader,
        _ rest: inout Int,
        limits: LinkLimits
    ) throws -> Welcome {
        Welcome(
            version: try reader.readUnsigned(),
            library: try reader.readText(),
            hostIncarnation: try reader.readUnsigned(),
            workerIncarnation: try reader.readUnsigned(),
            windowBytes: try reader.readUnsigned(),
            windowEvents: try reader.readUnsigned(),
            frameBytes: try reader.readUnsigned(),
            heartbeatMilliseconds: try reader.readUnsigned(),
            features: try decodeFeatures(&reader, &rest),
            name: try decodeName(&reader, &rest, limits: limits),
            bookmark: try decodeBookmark(&reader, &rest)
        )
    }

    private static func decodeBookmark(_ reader: inout CBORReader, _ rest: inout Int) throws -> [UInt8]? {
        guard rest > 0, reader.nextMajorType == .bytes else { return nil }
        rest -= 1
        return try EventFrame.decodeBookmark(&reader)
    }

    private static func decodeName(
        _ reader: inout CBORReader,
        _ rest: inout Int,
        limits: LinkLimits
    ) throws -> String? {
        guard rest > 0 else { return nil }
        if try reader.readNull() {
            rest -= 1
            return nil
        }
        guard reader.nextMajorType == .text else { return nil }
        rest -= 1
        let name = try reader.readText()
        try EventFrame.checkName(name, limits: limits)
        return name
    }

    /// - Parameter rest: how many optional elements of the frame are unread; reading one lowers it.
    private static func decodeReject(_ reader: inout CBORReader, _ rest: inout Int) throws -> Reject {
        var reject = Reject(reason: try reader.readUnsigned(), text: try reader.readShortText())
        if rest > 0, reader.nextMajorType == .bytes {
            rest -= 1
            reject.report = Array(try reader.readBytes())
        }
        return reject
    }

    /// - Parameter rest: how many optional elements of the frame are unread; reading one lowers it.
    private static func decodeFeatures(_ reader: inout CBORReader, _ rest: inout Int) throws -> LinkFeatures {
        guard rest > 0, reader.nextMajorType == .unsigned else { return [] }
        rest -= 1
        return LinkFeatures(rawValue: try reader.readUnsigned())
    }

    private static func decodeInterest(_ reader: inout CBORReader, limits: LinkLimits) throws -> Interest {
        guard let wantedCount = try reader.readArrayHead() else { throw LinkViolation("a list has a count") }
        guard wantedCount <= limits.interestNames else {
            throw LinkViolation("interest in \(wantedCount) names; the limit is \(limits.interestNames)")
        }
        var interest = Interest()
        interest.wanted.reserveCapacity(wantedCount)
        for _ in 0..<wantedCount {
            let parts = try reader.readArrayHead()
            guard parts == 2 else { throw LinkViolation("a wanted name is a pair of number and name") }
            let number = try reader.readUnsigned()
            let name = try reader.readText()
            try EventFrame.checkName(name, limits: limits)
            interest.wanted.append(Interest.Name(number: number, name: name))
        }
        guard let unwantedCount = try reader.readArrayHead() else { throw LinkViolation("a list has a count") }
        guard unwantedCount <= limits.interestNames else {
            throw LinkViolation("\(unwantedCount) names are no longer wanted; the limit is \(limits.interestNames)")
        }
        interest.unwanted.reserveCapacity(unwantedCount)
        for _ in 0..<unwantedCount { interest.unwanted.append(try reader.readUnsigned()) }
        return interest
    }

    private static func decodeReceipt(_ reader: inout CBORReader, limits: LinkLimits) throws -> Receipt {
        var receipt = Receipt(
            id: try EventFrame.decodeID(&reader, limits: limits),
            process: try reader.readText(),
            outcome: try reader.readUnsigned(),
            handlers: try reader.readUnsigned(),
            text: try reader.readShortText()
        )
        try EventFrame.checkName(receipt.process, limits: limits)
        guard let count = try reader.readArrayHead(), count <= limits.processNames else {
            throw LinkViolation("a receipt names at most \(limits.processNames) further processes")
        }
        for _ in 0..<count {
            let process = try reader.readText()
            try EventFrame.checkName(process, limits: limits)
            receipt.passedOnTo.append(process)
        }
        return receipt
    }

    /// The kind of a frame, read without decoding the rest; nil if no known frame begins like this frame.
    package static func kind(of body: UnsafeRawBufferPointer) -> UInt64? {
        // Every known frame begins with an array head of one byte, which holds the count, and a kind of one byte.
        guard body.count >= 2, body[0] & 0xE0 == 0x80, body[0] & 0x1F < 24, body[1] < 24 else { return nil }
        return UInt64(body[1])
    }
}
