import NotifyClient

/// How long the claims on the last few hundred events took, all together and by claimant.
struct RecentClaims {
    private static let span: UInt64 = 500

    private let all: Latencies
    private let claimants: [(name: String, latencies: Latencies)]

    /// Empty when the daemon cannot read its journal: its status matters all the more then.
    init(_ client: NotifyClient) async {
        var found: [Explanation.Claim] = []
        do {
            // What was never published has no events: only the cursor is of interest.
            let cursor = try await client.snapshot("/-").cursor.rawValue
            let start = EventID(rawValue: cursor > Self.span ? cursor - Self.span : 0)
            let archive = Archive(client: client, topic: "/")
            let records = try await client.history("/", after: start)
            let awaited = records.filter { $0.outcome != nil && $0.outcome != .silent }
            found = try await archive.explanations(of: awaited.map(\.event.id)).flatMap(\.claims)
        } catch {}
        self.init(found.filter { $0.verdict != .recorded }.map { ($0.by, $0.after) })
    }

    init(_ claims: [(by: String, after: Duration)]) {
        all = Latencies(claims.map(\.after))
        claimants = Dictionary(grouping: claims, by: \.by)
            .map { ($0.key, Latencies($0.value.map(\.after))) }
            .sorted { ($1.1.count, $0.0) < ($0.1.count, $1.0) }
    }

    var rows: [(String, String)] {
        guard let line = all.line else { return [] }
        let some = claimants.prefix(5).compactMap { claimant in claimant.latencies.line.map { (claimant.name, $0) } }
        return [("all", line)] + (claimants.count > 1 ? some : [])
    }

    var json: JSON {
        .object([
            ("all", all.json),
            ("claimants", .object(claimants.map { ($0.name, $0.latencies.json) })),
        ])
    }
}
