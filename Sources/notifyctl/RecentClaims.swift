import NotifyClient

/// How long the claims that answered the newest events took, all together and by claimant. A screen that is opened a minute
/// after an event takes its banner down, and answers nothing.
struct RecentClaims {
    /// What is asked of the daemon for it, so that a status takes a blink and not a minute: so many events are looked
    /// through, and so many of them explained.
    private static let events = 5_000
    private static let explained = 2_000
    /// Who claims only once, as a command does, is one of many.
    private static let namedClaimants = 5

    private let all: Latencies
    /// The busiest come first.
    private let claimants: [(name: String, latencies: Latencies)]
    /// What claimants are called, by their unique names.
    private let programs: [String: String]

    /// Empty when the daemon cannot read its journal: its status matters all the more then.
    init(_ client: NotifyClient) async {
        var found: [Explanation.Claim] = []
        do {
            let archive = Archive(client: client, topic: "/")
            let claimed = try await archive.newest(Self.events).filter {
                $0.outcome == .claimed || $0.outcome == .retracted
            }
            let ids = claimed.suffix(Self.explained).map(\.event.id)
            found = try await archive.explanations(of: ids).flatMap(\.answers)
        } catch {}
        let named = found.compactMap { claim in claim.program.map { (claim.by, $0) } }
        self.init(found.map { ($0.by, $0.after) }, programs: Dictionary(named) { _, last in last })
    }

    init(_ claims: [(by: String, after: Duration)], programs: [String: String] = [:]) {
        self.programs = programs
        all = Latencies(claims.map(\.after))
        claimants = Dictionary(grouping: claims, by: \.by)
            .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
            .prefix(Self.namedClaimants).map { ($0.key, Latencies($0.value.map(\.after))) }
    }

    var rows: [(String, String)] {
        guard let line = all.line else { return [] }
        let some = claimants.compactMap { claimant in
            claimant.latencies.line.map { (Claimant.text(claimant.name, programs[claimant.name]), $0) }
        }
        return [("all", line)] + (claimants.count > 1 ? some : [])
            + [("window that would have sufficed", all.windowText)]
    }

    var json: JSON {
        .object(
            [
                ("all", all.json),
                ("claimants", .object(claimants.map { ($0.name, $0.latencies.json) })),
            ] + all.windows)
    }
}
