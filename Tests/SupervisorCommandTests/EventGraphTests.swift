import Testing

@testable import SupervisorConfiguration
@testable import supervisor

@Suite("The graph of a configuration")
struct EventGraphTests {
    private func graph(_ workers: String, _ rest: String = "") throws -> EventGraph {
        EventGraph(try SupervisorConfiguration.parse(Array("{ workers: [\(workers)], \(rest) }".utf8), file: "f"))
    }

    @Test("events go from who publishes them to who subscribes; what has no other end goes from or to the supervisor")
    func edges() throws {
        let graph = try graph(
            """
            { name: "a", executable: "x", subscribes: ["In"], publishes: ["Z", "M", "Out"] },
            { name: "b", executable: "x", subscribes: ["M", "Z", "In"], publishes: ["In"] },
            { name: "c", executable: "x", subscribes: ["Other"] },
            """
        )
        #expect(graph.nodes.map(\.name) == ["supervisor", "a", "b", "c"])
        #expect(graph.nodes[3].remarks == ["may publish anything"])
        #expect(
            graph.edges == [
                EventGraph.Edge(from: 0, to: 3, events: ["Other"]),
                EventGraph.Edge(from: 1, to: 0, events: ["Out"]),
                EventGraph.Edge(from: 1, to: 2, events: ["M", "Z"]),
                EventGraph.Edge(from: 2, to: 1, events: ["In"]),
                EventGraph.Edge(from: 2, to: 2, events: ["In"]),
            ]
        )
    }

    @Test("a worker that subscribes to all events gets those of each other worker that names its events")
    func allEvents() throws {
        let graph = try graph(
            """
            { name: "a", executable: "x", publishes: ["Out", "In"] },
            { name: "log", executable: "x", subscribes: ["*"], publishes: ["Logged"] },
            { name: "b", executable: "x", subscribes: ["In"], publishes: [] },
            { name: "c", executable: "x" },
            """
        )
        #expect(
            graph.edges == [
                EventGraph.Edge(from: 0, to: 2, events: ["*"]),
                EventGraph.Edge(from: 1, to: 0, events: ["Out"]),
                EventGraph.Edge(from: 1, to: 2, events: ["In", "Out"]),
                EventGraph.Edge(from: 1, to: 3, events: ["In"]),
                EventGraph.Edge(from: 2, to: 0, events: ["Logged"]),
            ]
        )
    }

    @Test("is written in Mermaid and in Graphviz's language, whatever the names are")
    func drawing() throws {
        let graph = try graph(
            """
            { name: "a", executable: "x", publishes: ["E\\"|\\\\"], significant: true, restart: "transient" },
            { name: "b", executable: "x", subscribes: ["E\\"|\\\\", "F"], publishes: [], pool: 3, onDemand: true },
            """,
            "automaticShutdown: \"any-significant\""
        )
        #expect(
            graph.text(as: .mermaid) == """
                flowchart LR
                    n0(["supervisor"])
                    n1["a<br/>significant"]
                    n2["b<br/>3 members<br/>on demand"]
                    n0 -->|"F"| n2
                    n1 -->|"E#34;#124;\\"| n2
                """
        )
        #expect(
            graph.text(as: .dot) == #"""
                digraph events {
                    rankdir=LR;
                    node [shape=box];
                    n0 [label="supervisor", shape=oval];
                    n1 [label="a\nsignificant"];
                    n2 [label="b\n3 members\non demand"];
                    n0 -> n2 [label="F"];
                    n1 -> n2 [label="E\"|\\"];
                }
                """#
        )
    }

    @Test("in Graphviz's language a quote is escaped also where an accent follows it")
    func quoteWithAccent() throws {
        let graph = try graph(#"{ name: "a", executable: "x", subscribes: ["E\"\u0301"], publishes: [] }"#)
        let lines = graph.text(as: .dot).split(separator: "\n").map(String.init)
        #expect(lines.contains("    n0 -> n1 [label=\"E\\\"\u{301}\"];"), "\(lines)")
    }
}
