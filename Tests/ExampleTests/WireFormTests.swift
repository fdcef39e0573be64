import CBOR
import DomainEvents
import ExampleDomain
import ExampleServices
import JSONText
import Testing

@Suite("What the example's events look like on the wire is fixed")
struct WireFormTests {
    @Test("Every event has the name that peers know it by")
    func namesArePinned() {
        let names: [(any DomainEvent.Type, String)] = [
            (BoxOrdered.self, "BoxOrdered"), (BoxProvisioned.self, "BoxProvisioned"),
            (BoxProvisioningFailed.self, "BoxProvisioningFailed"), (BoxRemovalRequested.self, "BoxRemovalRequested"),
            (BoxRemoved.self, "BoxRemoved"), (BoxRemovalFailed.self, "BoxRemovalFailed"),
            (BoxItemsRedistributionFailed.self, "BoxItemsRedistributionFailed"), (ItemReceived.self, "ItemReceived"),
            (ItemProvisioned.self, "ItemProvisioned"), (ItemDistributionFailed.self, "ItemDistributionFailed"),
            (ItemMoved.self, "ItemMoved"), (ItemRemovalRequested.self, "ItemRemovalRequested"),
            (ItemRemoved.self, "ItemRemoved"), (ItemRemovalFailed.self, "ItemRemovalFailed"),
            (CanvasSaveRequested.self, "CanvasSaveRequested"), (CanvasSaved.self, "CanvasSaved"),
            (SavingCanvasFailed.self, "SavingCanvasFailed"), (WorkRequested.self, "WorkRequested"),
            (WorkDone.self, "WorkDone"),
        ]
        for (type, name) in names { #expect(type.eventName == name) }
    }

    @Test("Keys and values are those that peers know; ids are bare numbers that keep every bit")
    func fieldsArePinned() throws {
        let id = Int64(1) << 53 + 1
        try expect(BoxOrdered(label: "L", capacity: 5), #"{"label":"L","capacity":5}"#)
        try expect(
            BoxOrdered(label: "L", capacity: 5, boxID: BoxID(.max)),
            #"{"label":"L","capacity":5,"boxID":9223372036854775807}"#
        )
        try expect(
            BoxProvisioned(boxID: BoxID(id), label: "L", capacity: 5),
            #"{"boxID":9007199254740993,"label":"L","capacity":5}"#
        )
        try expect(
            BoxProvisioningFailed(label: "L", capacity: -5, reason: "R"),
            #"{"label":"L","capacity":-5,"reason":"R"}"#
        )
        try expect(BoxRemovalRequested(boxID: BoxID(1)), #"{"boxID":1}"#)
        try expect(BoxRemoved(boxID: BoxID(1)), #"{"boxID":1}"#)
        try expect(BoxRemovalFailed(boxID: BoxID(1), reason: "R"), #"{"boxID":1,"reason":"R"}"#)
        try expect(BoxItemsRedistributionFailed(boxID: BoxID(1), reason: "R"), #"{"boxID":1,"reason":"R"}"#)
        try expect(ItemReceived(title: "T"), #"{"title":"T"}"#)
        try expect(ItemReceived(title: "T", itemID: ItemID(id)), #"{"title":"T","itemID":9007199254740993}"#)
        try expect(
            ItemProvisioned(itemID: ItemID(2), boxID: BoxID(1), title: "T"),
            #"{"itemID":2,"boxID":1,"title":"T"}"#
        )
        try expect(ItemDistributionFailed(title: "T", reason: "R"), #"{"title":"T","reason":"R"}"#)
        try expect(ItemMoved(itemID: ItemID(2), from: BoxID(1), to: BoxID(3)), #"{"itemID":2,"from":1,"to":3}"#)
        try expect(ItemRemovalRequested(itemID: ItemID(2), boxID: BoxID(1)), #"{"itemID":2,"boxID":1}"#)
        try expect(ItemRemoved(itemID: ItemID(2), boxID: BoxID(1)), #"{"itemID":2,"boxID":1}"#)
        try expect(
            ItemRemovalFailed(itemID: ItemID(2), boxID: BoxID(1), reason: "R"),
            #"{"itemID":2,"boxID":1,"reason":"R"}"#
        )
        try expect(
            CanvasSaved(canvasID: CanvasID(id), file: "F", byteCount: 7),
            #"{"canvasID":9007199254740993,"file":"F","byteCount":7}"#
        )
        try expect(
            SavingCanvasFailed(canvasID: CanvasID(4), file: "F", reason: "R"),
            #"{"canvasID":4,"file":"F","reason":"R"}"#
        )
        try expect(WorkRequested(number: .min, text: "T"), #"{"number":-9223372036854775808,"text":"T"}"#)
        try expect(WorkDone(number: 1, text: "T", attempt: 2), #"{"number":1,"text":"T","attempt":2}"#)
    }

    @Test("Shapes are spelled by their kind, and take whole numbers too")
    func shapesArePinned() throws {
        let event = CanvasSaveRequested(
            canvasID: CanvasID(4),
            file: "F",
            shapes: [
                .rectangle(x: 0.5, y: 0.5, width: 2.5, height: 3.5), .circle(x: 0.5, y: 0.5, radius: 1.5),
                .line(fromX: 0.5, fromY: 1.5, toX: 2.5, toY: 3.5), .text(x: 0.5, y: 0.5, text: "T"),
            ]
        )
        try expect(
            event,
            """
            {"canvasID":4,"file":"F","shapes":[{"rectangle":{"x":0.5,"y":0.5,"width":2.5,"height":3.5}},\
            {"circle":{"x":0.5,"y":0.5,"radius":1.5}},{"line":{"fromX":0.5,"fromY":1.5,"toX":2.5,"toY":3.5}},\
            {"text":{"x":0.5,"y":0.5,"text":"T"}}]}
            """
        )
        let whole = try JSONReader().read(#"{"circle":{"x":1,"y":-2,"radius":3}}"#).cborValue.encoded()
        #expect(try CBORDecoder().decode(Shape.self, from: whole) == .circle(x: 1, y: -2, radius: 3))
    }

    /// Whether the event says the same as the JSON text, in both directions.
    private func expect<E: DomainEvent>(
        _ event: E,
        _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let expected = try JSONReader().read(text).cborValue
        let bytes = try CBOREncoder().encode(event)
        #expect(try CBORValue(decoding: bytes) == expected, sourceLocation: sourceLocation)
        let decoded = try CBORDecoder().decode(E.self, from: expected.encoded())
        #expect(try CBOREncoder().encode(decoded) == bytes, sourceLocation: sourceLocation)
    }

    @Test("Numbers that cannot be drawn are invalid", arguments: [Double.nan, .infinity, -.infinity, 1_000_000_001])
    func refusesNumbers(number: Double) {
        let shapes: [Shape] = [
            .rectangle(x: number, y: 0, width: 1, height: 1), .rectangle(x: 0, y: number, width: 1, height: 1),
            .rectangle(x: 0, y: 0, width: number, height: 1), .rectangle(x: 0, y: 0, width: 1, height: number),
            .circle(x: number, y: 0, radius: 1), .circle(x: 0, y: number, radius: 1),
            .circle(x: 0, y: 0, radius: number),
            .line(fromX: number, fromY: 0, toX: 0, toY: 0), .line(fromX: 0, fromY: number, toX: 0, toY: 0),
            .line(fromX: 0, fromY: 0, toX: number, toY: 0), .line(fromX: 0, fromY: 0, toX: 0, toY: number),
            .text(x: number, y: 0, text: ""), .text(x: 0, y: number, text: ""),
        ]
        for shape in shapes {
            let event = CanvasSaveRequested(canvasID: CanvasID(1), file: "F", shapes: [shape])
            #expect(throws: InvalidEvent.self) { try event.validate() }
        }
    }

    @Test("Negative sizes and long texts are invalid; a negative capacity is not")
    func refusesWhatCannotBe() throws {
        let long = String(repeating: "é", count: 4097)
        for shape in [
            Shape.circle(x: 0, y: 0, radius: -1), .rectangle(x: 0, y: 0, width: -1, height: 1),
            .rectangle(x: 0, y: 0, width: 1, height: -1), .text(x: 0, y: 0, text: long),
        ] {
            let event = CanvasSaveRequested(canvasID: CanvasID(1), file: "F", shapes: [shape])
            #expect(throws: InvalidEvent.self) { try event.validate() }
        }
        #expect(throws: InvalidEvent.self) { try ItemReceived(title: long).validate() }
        #expect(throws: InvalidEvent.self) { try BoxOrdered(label: long, capacity: 5).validate() }
        try ItemReceived(title: String(long.dropLast())).validate()
        try BoxOrdered(label: "", capacity: -1).validate()
    }
}

@Suite("The workers' option is required, once, with a value")
struct WorkerOptionTests {
    private func parse(_ arguments: [String]) -> Result<String, WorkerOption.UsageError> {
        WorkerOption.parse(arguments, name: "--store", placeholder: "FILE")
    }

    @Test("The value is taken as it is")
    func takesValue() {
        #expect(parse(["--store", "boxes.json"]) == .success("boxes.json"))
    }

    @Test(
        "Anything else is one sentence that says what was expected and found",
        arguments: [
            ([], "no arguments were given"), (["--store"], "--store has no value"), (["--store", ""], "FILE is empty"),
            (["--stroe", "x"], "\"--stroe\" \"x\" was given"),
            (["--store", "a", "b"], "\"--store\" \"a\" \"b\" was given"),
        ] as [([String], String)]
    )
    func refuses(arguments: [String], found: String) {
        guard case .failure(let error) = parse(arguments) else {
            Issue.record("the arguments were taken")
            return
        }
        #expect(error.description == "this worker is started with `--store FILE`; \(found)")
    }
}
