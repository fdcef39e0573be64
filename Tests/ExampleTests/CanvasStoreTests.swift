import DomainEvents
import ExampleDomain
import ExampleServices
import FoundationEssentials
import Testing

@Suite("Drawings are saved within their directory, and nowhere else")
struct CanvasStoreTests {
    private let outside: TemporaryDirectory
    private let publisher = EventPublisher()
    private let recorder: Recorder
    private let subscriptions: [Subscription]

    private static let drawings = "drawings"

    init() throws {
        outside = try TemporaryDirectory()
        recorder = Recorder(publisher)
        subscriptions = try CanvasStore.start(publisher: publisher, directory: outside.path(Self.drawings))
    }

    private func save(_ file: String, _ shapes: [Shape] = []) -> [any DomainEvent] {
        publisher.publish(CanvasSaveRequested(canvasID: CanvasID(.max), file: file, shapes: shapes))
        return recorder.take()
    }

    @Test("The file holds the drawing, and the answer its length")
    func savesDrawing() throws {
        let shapes: [Shape] = [
            .rectangle(x: 0, y: 0, width: 400, height: 300), .circle(x: 1, y: 2, radius: 3.5),
            .line(fromX: 1, fromY: 2, toX: 3, toY: 4), .text(x: 5, y: 6, text: "<Tea & \u{1}cake>"),
        ]
        let answers = save("plan.svg", shapes)
        let content = try #require(outside.text("drawings/plan.svg"))
        let answer = try #require(answers.first as? CanvasSaved)
        #expect(answers.count == 1)
        #expect(answer.canvasID == CanvasID(.max))
        #expect(answer.file == "plan.svg")
        #expect(answer.byteCount == content.utf8.count)
        #expect(content.contains(#"viewBox="-12.5 -11.5 422.5 321.5""#))
        #expect(content.contains(#"<rect x="0.0" y="0.0" width="400.0" height="300.0"/>"#))
        #expect(content.contains(#"<circle cx="1.0" cy="2.0" r="3.5"/>"#))
        #expect(content.contains(#"<line x1="1.0" y1="2.0" x2="3.0" y2="4.0"/>"#))
        #expect(content.contains(">&lt;Tea &amp; \u{FFFD}cake&gt;</text>"))
    }

    @Test("Saving again replaces the file and leaves nothing else")
    func replacesFile() throws {
        #expect(save("plan.svg", [.circle(x: 0, y: 0, radius: 1)]).first is CanvasSaved)
        #expect(save("plan.svg").first is CanvasSaved)
        #expect(outside.text("drawings/plan.svg")?.contains("circle") == false)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path(Self.drawings)) == ["plan.svg"])
    }

    @Test("A name may lead into directories below, which are made")
    func makesSubdirectories() throws {
        #expect(save("house/first floor/plan.svg").first is CanvasSaved)
        #expect(outside.content("drawings/house/first floor/plan.svg") != nil)
    }

    @Test(
        "A name that leaves the directory, or is none, is refused",
        arguments: [
            "", "..", ".", "/etc/plan.svg", "../plan.svg", "a/../../plan.svg", "a//b", "a/", ".hidden", "a/.canvas.new",
            "plan\0.svg", "../\u{301}plan.svg", "/\u{301}plan.svg", "a/b/c/d/e/f/g/h/plan.svg", "./plan.svg",
            String(repeating: "n", count: 300),
        ]
    )
    func refusesName(file: String) throws {
        let before = try outside.names
        let answers = save(file)
        #expect(answers.count == 1)
        let answer = try #require(answers.first as? SavingCanvasFailed)
        #expect(answer.file == file)
        #expect(!answer.reason.isEmpty)
        #expect(try outside.names == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path(Self.drawings)).isEmpty)
    }

    @Test("A symbolic link on the way is refused; one in the place of the file is replaced, not followed")
    func doesNotFollowLinks() throws {
        try outside.write("precious", to: "precious.svg")
        let manager = FileManager.default
        try manager.createSymbolicLink(atPath: outside.path("drawings/way"), withDestinationPath: outside.path)
        try manager.createSymbolicLink(
            atPath: outside.path("drawings/plan.svg"),
            withDestinationPath: outside.path("precious.svg")
        )
        let refused = try #require(save("way/precious.svg").first as? SavingCanvasFailed)
        #expect(refused.reason.contains("\"way\""))
        #expect(refused.reason.contains("is a symbolic link or a file, not a directory"))
        // For Swift a slash with an accent after it is one character; for the system it is a slash.
        #expect(save("way/\u{301}plan.svg").first is SavingCanvasFailed)
        #expect(outside.content("\u{301}plan.svg") == nil)
        try manager.createSymbolicLink(
            atPath: outside.path("drawings/.canvas.new"),
            withDestinationPath: outside.path("precious.svg")
        )
        #expect(save("plan.svg").first is SavingCanvasFailed)
        try manager.removeItem(atPath: outside.path("drawings/.canvas.new"))
        #expect(save("plan.svg").first is CanvasSaved)
        #expect(outside.text("precious.svg") == "precious")
        #expect(outside.text("drawings/plan.svg")?.contains("<svg") == true)
    }

    @Test(
        "A directory that is gone, or is in the file's place, gives a failure with the reason; then saving works again"
    )
    func reportsFailedSave() throws {
        let manager = FileManager.default
        try manager.removeItem(atPath: outside.path(Self.drawings))
        #expect((save("plan.svg").first as? SavingCanvasFailed)?.reason.contains("No such file or directory") == true)
        try manager.createDirectory(atPath: outside.path("drawings/plan.svg"), withIntermediateDirectories: true)
        #expect((save("plan.svg").first as? SavingCanvasFailed)?.reason.contains("plan.svg") == true)
        #expect(try manager.contentsOfDirectory(atPath: outside.path(Self.drawings)) == ["plan.svg"])
        #expect(save("other.svg").first is CanvasSaved)
    }

    @Test("Shapes that cannot be drawn give a failure that names the field")
    func refusesShapes() throws {
        let answer = save("plan.svg", [.line(fromX: 0, fromY: 0, toX: 0, toY: 0), .circle(x: .nan, y: 0, radius: 1)])
        #expect((answer.first as? SavingCanvasFailed)?.reason.hasPrefix("shapes[1].circle.x is nan") == true)
        #expect(outside.content("drawings/plan.svg") == nil)
    }
}
