import Testing

@testable import CommandLineTests

// These declarations are compiled, and never run.
var workspace: Workspace { fatalError() }
