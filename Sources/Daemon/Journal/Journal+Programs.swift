import GRDB
import Routing

/// The programs of claimants, if they became known after the claims were written.
extension Journal {
    func name(
        _ claimant: String, _ program: String, on id: EventID, _ update: inout FastStatement, _ db: Database
    ) throws {
        if var decision = try events(db, "SELECT * FROM event WHERE id = ?", [Self.number(id)]).first?.decision,
            decision.claimant == claimant
        {
            decision.program = program
            try self.update(id, decision, &update)
        }
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT * FROM claim WHERE event = ? AND claimant = ?"),
            arguments: [Self.number(id), claimant])
        let claims = try first(.max, of: rows) { row in
            (number: try RowReader(row).number("number"), claim: try RowReader(row).claim(of: id))
        }
        for (number, var claim) in claims {
            claim.program = program
            try db.cachedStatement(sql: "UPDATE claim SET program = ?, checksum = ? WHERE event = ? AND number = ?")
                .execute(arguments: [program, claim.checksum(of: id), Self.number(id), number])
        }
    }
}
