import Journal
import Routing

/// What claimants are called, so that people can read it: kept with the claim where it is known by then, else added.
extension Daemon {
    /// - Returns: what the claimant of an event is called; where that is not known yet, it is written when it is.
    func program(of claimant: String?, claiming id: EventID) -> String? {
        guard let claimant else { return nil }
        switch host.findProgram(of: claimant) {
        case .named(let program): return program
        case .none: return nil
        case .awaited:
            unnamedClaims.note(id, by: claimant)
            return nil
        }
    }

    /// It has turned out what a claimant is called, or that nobody can say.
    func programFound(_ program: String?, of claimant: String) {
        let ids = unnamedClaims.take(claimant)
        guard let program, !ids.isEmpty else { return }
        storage.note(.named(claimant, program, ids))
        host.endTurnWhenIdle()
    }
}
