/// The rounds of a work with a journal; in each round its peers take turns, every other time in reverse order.
struct JournalRounds {
    /// How many rounds there are; each printed figure is the median over the rounds.
    static let count = 5

    /// One of the compared programs or ways: its name in the measurements, and what it does in a round.
    struct Peer {
        let name: String
        /// Does the peer's part, and returns its figures, always the same ones in the same order.
        let measure: (_ round: Int) async throws -> [Figure]
    }

    typealias Figure = (name: String, value: Double)

    private let work: String
    private var peers: [Peer] = []

    init(_ work: String) {
        self.work = work
    }

    mutating func add(_ name: String, _ measure: @escaping (_ round: Int) async throws -> [Figure]) {
        peers.append(Peer(name: name, measure: measure))
    }

    /// Adds another program as a peer, or says why it is not measured.
    mutating func add<Program>(
        _ name: String,
        _ program: () throws -> Program,
        _ measure: @escaping (Program) throws -> [Figure]
    ) {
        do {
            let program = try program()
            add(name) { _ in try measure(program) }
        } catch {
            Report.notMeasured(work, peer: name, "\(error)")
        }
    }

    /// Does the rounds, and prints the medians of each peer.
    ///
    /// - Parameters:
    ///   - counts: further whole numbers that each printed line shows.
    ///   - base: the name of a peer; in each round, the first peer's first figure is divided by that peer's.
    func run(counts: [(String, Int)], ratioTo base: String? = nil) async throws {
        var rounds: [String: [[Figure]]] = [:]
        for round in 0..<Self.count {
            for peer in round.isMultiple(of: 2) ? peers : peers.reversed() {
                rounds[peer.name, default: []].append(try await peer.measure(round))
            }
        }
        for peer in peers {
            let own = rounds[peer.name] ?? []
            var figures = Self.medians(own)
            if let base, peer.name == peers.first?.name, let others = rounds[base] {
                let ratios = zip(own, others).map { $0[0].value / $1[0].value }
                if let median = ratios.median { figures.append(("ratio_in_round", median)) }
            }
            Report.medians(work, peer: peer.name, figures, counts + [("rounds", Self.count)])
        }
    }

    private static func medians(_ rounds: [[Figure]]) -> [Figure] {
        guard let first = rounds.first else { return [] }
        return first.indices.compactMap { index in
            rounds.map { $0[index].value }.median.map { (first[index].name, $0) }
        }
    }
}
