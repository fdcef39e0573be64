import Testing

@testable import CommandLineTests

// Compiled, and never run.
var workspace: Workspace { fatalError() }
