import Testing

@testable import nats_gateway

@Suite struct GatewayOwnerTests {
    private func name(_ mark: String?, _ worker: String = "gateway") -> String {
        GatewayOwner.name { ["EVENT_BRIDGE_WORKER": mark, "EVENT_BRIDGE_NAME": worker][$0] ?? nil }
    }

    @Test func allStartsOfAWorkerOfOneHostHaveOneOwner() {
        #expect(name("00c0ffee00c0ffee.1") == name("00c0ffee00c0ffee.17"))
        #expect(name("00c0ffee00c0ffee.1") != name("00c0ffee00c0ffee.1", "other"))
    }

    /// Two containers may have equal host names, process numbers and worker names.
    @Test func workersOfTwoHostsHaveTwoOwners() {
        #expect(name("00c0ffee00c0ffee.1") != name("00c0ffee00c0fffe.1"))
    }

    @Test(arguments: [nil, "", ".1"]) func withoutAMarkNoTwoGatewaysHaveOneOwner(_ mark: String?) {
        #expect(name(mark) != name(mark))
    }
}
