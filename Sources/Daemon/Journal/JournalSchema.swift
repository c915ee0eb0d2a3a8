import GRDB

/// The tables. There is a migration for each version of the schema, and migrations are never changed.
enum JournalSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE event (
                        id INTEGER PRIMARY KEY,
                        topic TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, fields BLOB NOT NULL,
                        published INTEGER NOT NULL, sender TEXT NOT NULL, source TEXT, source_id TEXT,
                        urgency INTEGER, retained INTEGER NOT NULL, route TEXT NOT NULL, coalescing TEXT NOT NULL,
                        window INTEGER NOT NULL, accepted INTEGER NOT NULL,
                        expires INTEGER NOT NULL, expires_uptime INTEGER NOT NULL, boot TEXT NOT NULL,
                        checksum INTEGER NOT NULL,
                        outcome INTEGER NOT NULL, resolved INTEGER, opened INTEGER, deadline INTEGER,
                        claimant TEXT, latency INTEGER, form TEXT, banner INTEGER, server TEXT, count INTEGER,
                        lateness INTEGER, cause TEXT, replayed INTEGER, decision_checksum INTEGER
                    );
                    -- What is at or below a topic, in order.
                    CREATE INDEX event_topic ON event(topic, id);
                    -- What a start has to look at, however long the history is.
                    CREATE INDEX event_undecided ON event(id) WHERE outcome = 0;
                    CREATE INDEX event_unread ON event(topic) WHERE outcome < 10;
                    CREATE INDEX event_origin ON event(accepted) WHERE source IS NOT NULL AND source_id IS NOT NULL;
                    CREATE TABLE claim (
                        event INTEGER NOT NULL, number INTEGER NOT NULL, claimant TEXT NOT NULL, latency INTEGER NOT NULL,
                        form TEXT NOT NULL, verdict TEXT NOT NULL, checksum INTEGER NOT NULL,
                        PRIMARY KEY (event, number)
                    ) WITHOUT ROWID;
                    -- The current values of topics.
                    CREATE TABLE value (topic TEXT PRIMARY KEY NOT NULL, event INTEGER NOT NULL) WITHOUT ROWID;
                    -- The highest id of a removal, which leaves no event behind.
                    CREATE TABLE last_removal (number INTEGER PRIMARY KEY CHECK (number = 1), id INTEGER NOT NULL);
                    """)
        }
        // An event that is claimed in time never enters the index of unread events.
        migrator.registerMigration("2") { db in
            try db.execute(
                sql: """
                    DROP INDEX event_undecided;
                    DROP INDEX event_unread;
                    CREATE INDEX event_undecided ON event(topic) WHERE outcome = 0;
                    CREATE INDEX event_unread ON event(topic) WHERE outcome BETWEEN 1 AND 9;
                    """)
        }
        migrator.registerMigration("3") { db in
            try db.execute(
                sql: """
                    -- Removals that their publishers gave a name, so that a repeat is recognised.
                    CREATE TABLE removal (
                        id INTEGER PRIMARY KEY, source TEXT NOT NULL, source_id TEXT NOT NULL,
                        accepted INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    CREATE INDEX removal_accepted ON removal(accepted);
                    """)
        }
        migrator.registerMigration("4") { db in
            try db.execute(
                sql: """
                    -- What is shown in the same banner, for a claim that comes long after.
                    CREATE INDEX event_banner ON event(banner) WHERE outcome = 1;
                    """)
        }
        migrator.registerMigration("5") { db in
            try db.execute(
                sql: """
                    -- The pause and the mutes. All rows are written together and read together.
                    CREATE TABLE quiet (
                        topic TEXT NOT NULL, cause TEXT NOT NULL,
                        ends INTEGER, ends_uptime INTEGER, boot TEXT, remaining INTEGER, checksum INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("6") { db in
            try db.execute(
                sql: """
                    -- Banners that are up, by the number that the notification server gave them; server is the bus and
                    -- the unique name there. The first event that a banner showed names it for good.
                    CREATE TABLE banner (
                        number INTEGER PRIMARY KEY, server TEXT NOT NULL, first INTEGER NOT NULL,
                        summary INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    CREATE INDEX banner_first ON banner(first);
                    -- The first event of the banner in which an event is shown.
                    ALTER TABLE event ADD COLUMN shown_with INTEGER;
                    CREATE INDEX event_shown_with ON event(shown_with) WHERE outcome = 1 AND shown_with IS NOT NULL;
                    """)
        }
        migrator.registerMigration("7") { db in
            try db.execute(
                sql: """
                    -- What the ages of events are reckoned by; see RetentionClock and RetentionMarks.
                    CREATE TABLE retention (
                        number INTEGER PRIMARY KEY CHECK (number = 1),
                        age INTEGER NOT NULL, uptime INTEGER NOT NULL, boot TEXT NOT NULL, lead INTEGER,
                        absence_counted INTEGER NOT NULL, events INTEGER NOT NULL, last INTEGER NOT NULL,
                        checksum INTEGER NOT NULL
                    );
                    CREATE TABLE retention_mark (
                        id INTEGER PRIMARY KEY, age INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    -- Names are read in the order of their ids.
                    DROP INDEX event_origin;
                    CREATE INDEX event_origin ON event(id) WHERE source IS NOT NULL AND source_id IS NOT NULL;
                    DROP INDEX removal_accepted;
                    """)
            // The age of existing events begins now.
            if let newest = try Int64.fetchOne(db, sql: "SELECT max(id) FROM event") {
                let mark = RetentionMarks.Mark(id: newest, age: 0)
                try db.execute(
                    sql: "INSERT INTO retention_mark (id, age, checksum) VALUES (?, ?, ?)",
                    arguments: [mark.id, mark.age, mark.checksum])
            }
        }
        migrator.registerMigration("8") { db in
            // The button that closed a banner.
            try db.execute(sql: "ALTER TABLE event ADD COLUMN action TEXT")
        }
        migrator.registerMigration("9") { db in
            // What people call a claimant.
            try db.execute(
                sql: """
                    ALTER TABLE event ADD COLUMN program TEXT;
                    ALTER TABLE claim ADD COLUMN program TEXT;
                    """)
        }
        migrator.registerMigration("10") { db in
            try db.execute(
                sql: """
                    ALTER TABLE event ADD COLUMN collapse TEXT;
                    -- What a later event with the same topic and collapse replaces.
                    CREATE INDEX event_collapse ON event(topic, collapse)
                        WHERE collapse IS NOT NULL AND outcome BETWEEN 0 AND 9;
                    """)
        }
        migrator.registerMigration("11") { db in
            try db.execute(
                sql: """
                    -- What the publisher said about the banner: its options, encoded as fields are.
                    ALTER TABLE event ADD COLUMN appearance BLOB;
                    """)
        }
        migrator.registerMigration("12") { db in
            // Of a schedule that was lifted: when it began.
            try db.execute(sql: "ALTER TABLE quiet ADD COLUMN began INTEGER")
        }
        migrator.registerMigration("13") { db in
            try db.execute(
                sql: """
                    -- A random number that no other journal has.
                    CREATE TABLE identity (
                        number INTEGER PRIMARY KEY CHECK (number = 1), seed TEXT NOT NULL, checksum INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("14") { db in
            // The line by which a bridge brought it.
            try db.execute(sql: "ALTER TABLE event ADD COLUMN via TEXT")
        }
        migrator.registerMigration("15") { db in
            try db.execute(
                sql: """
                    -- A repeat is recognised as long as the event is there.
                    CREATE INDEX event_name ON event(source, source_id)
                        WHERE source IS NOT NULL AND source_id IS NOT NULL;
                    """)
        }
        migrator.registerMigration("16") { db in
            try db.execute(
                sql: """
                    -- What Changes lists. The number of an event's acceptance: 0 in rows of earlier versions, none where the
                    -- table has it; and the number of its present outcome.
                    ALTER TABLE event ADD COLUMN number INTEGER DEFAULT 0;
                    ALTER TABLE event ADD COLUMN decided INTEGER;
                    CREATE INDEX event_decided ON event(decided) WHERE decided IS NOT NULL;
                    CREATE TABLE change (
                        number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, event INTEGER NOT NULL, topic TEXT,
                        claimant TEXT, moment INTEGER NOT NULL, published INTEGER, source TEXT, source_id TEXT, via TEXT,
                        checksum INTEGER NOT NULL
                    );
                    CREATE INDEX change_event ON change(event);
                    CREATE TABLE change_start (
                        number INTEGER PRIMARY KEY CHECK (number = 1), oldest INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("17") { db in
            try db.execute(
                sql: """
                    -- Snoozed events. All rows are written together and read together.
                    CREATE TABLE snooze (
                        event INTEGER PRIMARY KEY, ends INTEGER NOT NULL, ends_uptime INTEGER NOT NULL,
                        boot TEXT NOT NULL, remaining INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("18") { db in
            try db.execute(
                sql: """
                    -- Periods of schedules that owe a digest. All rows are written together and read together.
                    CREATE TABLE digest (
                        topic TEXT NOT NULL, began INTEGER NOT NULL, name INTEGER NOT NULL, event INTEGER NOT NULL,
                        checksum INTEGER NOT NULL, PRIMARY KEY (topic, began)
                    );
                    """)
        }
        migrator.registerMigration("19") { db in
            try db.execute(
                sql: """
                    -- Where the claim was made that decided an event, and the line by which it came in.
                    ALTER TABLE event ADD COLUMN device TEXT;
                    ALTER TABLE event ADD COLUMN claim_via TEXT;
                    ALTER TABLE change ADD COLUMN device TEXT;
                    -- Claims by name of events that have not come yet.
                    CREATE TABLE awaited (
                        number INTEGER PRIMARY KEY, source TEXT NOT NULL, source_id TEXT NOT NULL, kind TEXT NOT NULL,
                        claimant TEXT NOT NULL, device TEXT, via TEXT, identity BLOB,
                        ends INTEGER NOT NULL, ends_uptime INTEGER NOT NULL, boot TEXT NOT NULL,
                        remaining INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    CREATE INDEX awaited_name ON awaited(source, source_id);
                    """)
        }
        migrator.registerMigration("20") { db in
            try db.execute(
                sql: """
                    -- Removals of values, each with the version that a later value must exceed: when it was published, and the
                    -- event or the removal that it belongs to, by id and by global name.
                    CREATE TABLE tombstone (
                        removal INTEGER PRIMARY KEY, topic TEXT NOT NULL, published INTEGER NOT NULL,
                        event INTEGER NOT NULL, source TEXT, source_id TEXT, checksum INTEGER NOT NULL
                    );
                    CREATE INDEX tombstone_topic ON tombstone(topic);
                    -- The highest number of a change when events were last deleted: theirs may have been the highest.
                    CREATE TABLE change_last (
                        number INTEGER PRIMARY KEY CHECK (number = 1), last INTEGER NOT NULL, checksum INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("21") { db in
            // Every index costs time for each event. This one found only what was shown before there was the table of banners.
            try db.execute(sql: "DROP INDEX event_banner")
        }
        return migrator
    }

    /// Whether tables exist, and whether they are those of this version.
    ///
    /// - Throws: `JournalError.tooNew` if they are those of a later version.
    static func state(of queue: DatabaseQueue) throws -> (isThere: Bool, isComplete: Bool) {
        try queue.read { db in
            do {
                if try migrator.hasBeenSuperseded(db) { throw JournalError.tooNew }
                return (try !migrator.appliedIdentifiers(db).isEmpty, try migrator.hasCompletedMigrations(db))
            } catch {
                // The list of migrations is damaged.
                if case .other = JournalError(error) { throw JournalError.damaged }
                throw error
            }
        }
    }

    /// Verifies the definitions of the tables. A flipped bit in one would make every statement fail.
    ///
    /// - Throws: `JournalError.damaged` if the tables are not those that the migrations make.
    static func verify(_ queue: DatabaseQueue) throws {
        guard try description(queue) == model.get() else { throw JournalError.damaged }
    }

    private static let model = Result {
        try migrator.migrate(modelQueue.get())
        let tables = try description(modelQueue.get())
        try modelQueue.get().close()
        return tables
    }

    /// The connection stays allocated after it is closed: releasing a queue starts threads.
    private static let modelQueue = Result { try DatabaseQueue() }

    private static func description(_ queue: DatabaseQueue) throws -> Set<String> {
        try queue.read { db in
            let sql = "SELECT quote(type) || quote(name) || quote(tbl_name) || quote(sql) FROM sqlite_master"
            return try String.fetchSet(db, sql: sql)
        }
    }
}
