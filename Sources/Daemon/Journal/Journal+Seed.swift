import GRDB

/// The random number that distinguishes this journal from every other. It is made with the file.
extension Journal {
    /// 32 lower-case hexadecimal digits.
    private static func randomSeed() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Loads the number. A damaged one is counted and left out.
    func loadSeed(_ db: Database) throws {
        let row = try Row.fetchOne(db, sql: "SELECT * FROM identity")
        seed = row.flatMap { try? RowReader($0).seed() }
        if row != nil, seed == nil { damagedRows += 1 }
    }

    /// Gives a number to a file that has none.
    ///
    /// - Parameter known: the number that the file had before; `nil`: a new one is made.
    func makeSeed(_ db: Database, known: String? = nil) throws { try setSeed(known ?? Self.randomSeed(), db) }

    func setSeed(_ seed: String, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO identity (number, seed, checksum) VALUES (1, ?, ?)",
            arguments: [seed, Self.checksum(ofSeed: seed)])
        self.seed = seed
    }

    fileprivate static func checksum(ofSeed seed: String) -> Int64 {
        var sum = Checksum()
        sum.add(seed)
        return sum.value
    }
}

extension RowReader {
    func seed() throws -> String {
        let seed = try text("seed")
        guard Journal.checksum(ofSeed: seed) == (try number("checksum")) else { throw Damaged() }
        return seed
    }
}
