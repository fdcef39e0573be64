public import DomainEvents

/// A user wants a drawing saved.
///
/// The answer is ``CanvasSaved`` or ``SavingCanvasFailed``.
public struct CanvasSaveRequested: DomainEvent {
    /// The canvas that was drawn on.
    public let canvasID: CanvasID
    /// The file's name, below the directory of the drawings.
    public let file: String
    /// What is on the canvas, the undermost first.
    public let shapes: [Shape]

    /// Makes the event.
    public init(canvasID: CanvasID, file: String, shapes: [Shape]) {
        self.canvasID = canvasID
        self.file = file
        self.shapes = shapes
    }

    /// Refuses shapes that cannot be drawn.
    public func validate() throws {
        for (index, shape) in shapes.enumerated() { try shape.validate(named: "shapes[\(index)]") }
    }
}

/// A drawing was saved in its file.
public struct CanvasSaved: DomainEvent {
    /// The canvas.
    public let canvasID: CanvasID
    /// The file's name, as it was requested.
    public let file: String
    /// The file's length.
    public let byteCount: Int

    /// Makes the event.
    public init(canvasID: CanvasID, file: String, byteCount: Int) {
        self.canvasID = canvasID
        self.file = file
        self.byteCount = byteCount
    }
}

/// A drawing was not saved; an earlier file of this name is unchanged.
public struct SavingCanvasFailed: DomainEvent {
    /// The canvas.
    public let canvasID: CanvasID
    /// The file's name, as it was requested.
    public let file: String
    /// Why, in a sentence.
    public let reason: String

    /// Makes the event.
    public init(canvasID: CanvasID, file: String, reason: String) {
        self.canvasID = canvasID
        self.file = file
        self.reason = reason
    }
}
