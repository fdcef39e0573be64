import BridgePlatform
import Testing

@Suite("A time limit that is counted in looks")
struct LookBudgetTests {
    @Test("is used up by looks that come in time, and no more by one that comes late")
    func spending() {
        var budget = LookBudget(100, longestLook: 10, from: 1_000)
        budget.looked(at: 1_004)
        #expect(budget.spent == 4)
        budget.looked(at: 9_000)
        #expect(budget.spent == 14 && !budget.isSpent)
        for look in 1...8 { budget.looked(at: 9_000 + 10 * UInt64(look)) }
        #expect(budget.spent == 94 && !budget.isSpent)
        budget.looked(at: 9_086)
        #expect(budget.spent == 100 && budget.isSpent)
        budget.refill()
        #expect(budget.spent == 0 && !budget.isSpent)
    }
}
