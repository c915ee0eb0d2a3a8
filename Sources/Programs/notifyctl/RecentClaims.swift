import NotifyClient
import NotifyJSON

/// The latencies of the claims that answered the newest events, in total and by claimant. A screen that is opened a
/// minute after an event, or a claim in the inbox by then, closes its banner, but does not answer it.
struct RecentClaims: Sendable {
    struct Answer: Sendable {
        let id: EventID
        let by: String
        let after: Duration
        let program: String?
    }

    /// Limits that keep `status` fast: the number of events that are read, and the number of them that are explained.
    private static let events = 5_000
    static let explained = 2_000
    /// Claimants with a single claim, such as commands, are counted together.
    private static let namedClaimants = 5

    private let all: Latencies
    /// Those with the most claims come first.
    private let claimants: [(name: String, latencies: Latencies)]
    private let rest: Int
    /// The programs of claimants, by unique name.
    private let programs: [String: String]

    /// Reads the answers to the newest events. Empty if the daemon cannot read its journal, so that `status` still
    /// works.
    static func answers(_ client: NotifyClient) async -> [Answer] {
        do {
            let history = HistoryReader(client: client, topic: "/")
            let claimed = try await history.newest(events).filter { $0.outcome == .claimed || $0.outcome == .retracted }
            let ids = claimed.suffix(explained).map(\.event.id)
            return try await history.explanations(of: ids).flatMap { explanation in
                explanation.answers.compactMap { claim in
                    claim.after.map { Answer(id: explanation.id, by: claim.by, after: $0, program: claim.program) }
                }
            }
        } catch {
            return []
        }
    }

    init(_ answers: [Answer]) {
        let named = answers.compactMap { answer in answer.program.map { (answer.by, $0) } }
        self.init(answers.map { ($0.by, $0.after) }, programs: Dictionary(named) { _, last in last })
    }

    init(_ claims: [(by: String, after: Duration)], programs: [String: String] = [:]) {
        self.programs = programs
        all = Latencies(claims.map(\.after))
        let groups = Dictionary(grouping: claims, by: \.by).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        claimants = groups.prefix(Self.namedClaimants).map { ($0.key, Latencies($0.value.map(\.after))) }
        rest = groups.count - claimants.count
    }

    var rows: [(String, String)] {
        guard let line = all.line else { return [] }
        let some = claimants.compactMap { claimant in
            claimant.latencies.line.map { (Claimant.text(claimant.name, programs[claimant.name]), $0) }
        }
        return [("all", line)] + (claimants.count > 1 ? some : []) + (rest > 0 ? [("and \(rest) more", "")] : [])
            + [("window that would have sufficed", all.windowText)]
    }

    var json: JSON { .object(members) }

    /// With the members of all claims once more, as earlier versions of `top` have them.
    var flatJSON: JSON { .object(all.members + members) }

    private var members: [(String, JSON)] {
        [
            ("all", all.json), ("claimants", .object(claimants.map { ($0.name, $0.latencies.json) })),
            ("more-claimants", .integer(rest)),
        ] + all.windows
    }
}
