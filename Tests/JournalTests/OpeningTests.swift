import Foundation
import GRDB
import Routing
import Testing

@testable import Journal

/// Whose the file is, and of which age.
struct OpeningTests {
    @Test func theFileBelongsToItsUserAlone() throws {
        try withFolder { folder in
            let directory = folder + "/state/notifyd"
            let journal = try Journal(directory: directory)
            let file = try FileManager.default.attributesOfItem(atPath: journal.path)
            #expect((file[.posixPermissions] as? Int) == 0o600)
            let attributes = try FileManager.default.attributesOfItem(atPath: directory)
            #expect((attributes[.posixPermissions] as? Int) == 0o700)
        }
    }

    @Test func aSecondProcessIsTurnedAway() throws {
        try withFolder { folder in
            let journal = try Journal(directory: folder)
            try journal.commit([.accepted(try sample(1))])
            #expect(throws: JournalError.self) {
                let other = try Journal(directory: folder)
                try journal.write { db in
                    try other.commit([.accepted(try sample(2))])
                }
            }
        }
    }

    @Test func aFileThatIsNoJournalIsSetAside() throws {
        try withFolder { folder in
            try Data("this is no database, and it is longer than a header".utf8).write(
                to: URL(filePath: folder + "/events.db"))
            let journal = try Journal(directory: folder)
            let aside = try #require(journal.setAside)
            #expect(FileManager.default.fileExists(atPath: aside))
            try journal.commit([.accepted(try sample(1))])
            #expect(try journal.undecided().count == 1)
        }
    }

    @Test func aNewerFileIsRefusedAndLeftAlone() throws {
        try withFolder { folder in
            do {
                let journal = try Journal(directory: folder)
                try journal.write { db in try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
                journal.close()
            }
            #expect(throws: JournalError.tooNew) { try Journal(directory: folder) }
            #expect(FileManager.default.fileExists(atPath: folder + "/events.db"))
        }
    }

    @Test func anOlderFileIsBroughtUpToDate() throws {
        try withFolder { folder in
            do {
                let old = try DatabaseQueue(path: folder + "/events.db")
                try JournalSchema.migrator.migrate(old, upTo: "1")
                try old.write { db in
                    // A row as version 1 wrote it.
                    let event = try sample(7)
                    let fields = FieldCoding.encode(event.fields)
                    try db.execute(
                        sql: """
                            INSERT INTO event (id, topic, title, body, fields, published, sender, source, source_id,
                                urgency, retained, route, coalescing, window, accepted, expires, expires_uptime, boot,
                                checksum, outcome)
                            VALUES (7, '/post/27', 'Title', 'Mina has something to say 07', ?, 1000, ':1.5', 'test', '7',
                                1, 0, '/post/{id}', '/post/27', 100000, 1007, 9000000, 7000000, 'boot', ?, 0)
                            """,
                        arguments: [Data(fields), event.checksum(fields: fields, appearance: nil)])
                }
                try old.close()
            }
            let journal = try Journal(directory: folder)
            #expect(journal.setAside == nil)
            #expect(try journal.undecided() == [try sample(7)])
            let origin = Origin(source: "test", eventID: "gone")
            try journal.commit([removal(Topic("/post/27"), EventID(8), origin, accepted: 2_000)])
            #expect(
                try journal.named(after: EventID(0), limit: 10).map(\.id) == [
                    EventID(7), EventID(8),
                ])
            #expect(journal.damagedRows == 0)
        }
    }
}
