import Foundation
import GRDB
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// Whose the file is, and of which age.
struct OpeningTests {
    private let folder = Fixture.folder

    @Test(.folder) func theFileOfAnEarlierBuildIsSetAside() throws {
        for name in ["events.db", "events.db-wal", "ballast"] {
            try Data(name.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        let journal = try Journal(directory: folder)
        let aside = Journal.SetAside(file: folder + "/events.db.earlier", reason: .earlier)
        #expect(journal.setAside == aside)
        #expect(try Data(contentsOf: URL(filePath: aside.file)) == Data("events.db".utf8))
        #expect(try Data(contentsOf: URL(filePath: aside.file + "-wal")) == Data("events.db-wal".utf8))
        #expect(try !files(in: folder).contains { ["events.db", "events.db-wal", "ballast"].contains($0) })
        try journal.commit([.accepted(try sample(1))])
        journal.close()
        let next = try Journal(directory: folder)
        #expect(next.setAside == nil)
        #expect(try next.undecided().count == 1)
    }

    @Test(.folder) func filesOfAnEarlierVersionAreSetAside() throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        try journal.write { db in try db.execute(sql: "PRAGMA user_version = 1") }
        journal.close()
        let next = try Journal(directory: folder)
        #expect(next.setAside == Journal.SetAside(file: folder + "/index.db.earlier", reason: .earlier))
        #expect(try files(in: folder).contains("log-0.earlier") && next.count == 0)
        try next.commit([.accepted(try sample(2))])
        next.close()
        let last = try Journal(directory: folder)
        #expect(try last.setAside == nil && last.undecided().map(\.id.rawValue) == [2])
    }

    @Test(.folder, arguments: ["index.db", "index.db-wal", "index.db.ready", "log-0"])
    func aLinkIsRefusedAndTheFileThatItLeadsToStaysAsItIs(_ name: String) throws {
        let (target, directory) = (folder + "/target", folder + "/notifyd")
        try Data("mine".utf8).write(to: URL(filePath: target))
        try #require(chmod(target, 0o644) == 0 && mkdir(directory, 0o700) == 0)
        try #require(symlink(target, "\(directory)/\(name)") == 0)
        let journal = Journal(in: directory, limits: Limits())
        if name == "index.db.ready" {
            #expect(journal.isOpen && journal.setAside == nil)
        } else {
            #expect(journal.failure == .obstacle("\(directory)/\(name) is a symbolic link, not a regular file"))
            #expect(!journal.isReadable)
        }
        var status = stat()
        #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o644)
        #expect(try Data(contentsOf: URL(filePath: target)) == Data("mine".utf8))
    }

    @Test(.folder) func filesThatWereDeletedAreBegunAfresh() throws {
        let directory = folder + "/notifyd"
        let journal = try Journal(directory: directory)
        try journal.commit([.accepted(try sample(1))])
        try journal.fold()
        #expect(journal.isInPlace)
        try FileManager.default.removeItem(atPath: directory)
        #expect(!journal.isInPlace)
        journal.abandon()
        #expect(!journal.isOpen && !journal.isReadable)
        #expect(try journal.reopen())
        #expect(journal.isOpen && journal.isInPlace && journal.count == 0)
        #expect(try journal.event(EventID(1)) == nil)
        try journal.commit([.accepted(try sample(2))])
        journal.close()
        #expect(try Journal(directory: directory).undecided().map(\.id.rawValue) == [2])
    }

    @Test(.folder, arguments: ["index.db", "log-0"]) func aFileOfAnotherNameIsNotInPlace(_ name: String) throws {
        let journal = try Journal(directory: folder)
        try journal.commit([.accepted(try sample(1))])
        try FileManager.default.moveItem(atPath: "\(folder)/\(name)", toPath: "\(folder)/moved")
        #expect(!journal.isInPlace)
        try Data().write(to: URL(filePath: "\(folder)/\(name)"))
        #expect(!journal.isInPlace)
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        try FileManager.default.moveItem(atPath: "\(folder)/moved", toPath: "\(folder)/\(name)")
        #expect(journal.isInPlace)
    }

    /// Some of it may have been acknowledged after the files were gone. If they are back, they have it.
    @Test(.folder, arguments: [true, false]) func whatTheIndexHadNotGotIsWrittenAgain(isBack: Bool) throws {
        let (directory, away) = (folder + "/notifyd", folder + "/away")
        let journal = try Journal(directory: directory)
        try journal.commit([.accepted(try sample(1))])
        try journal.fold()
        try FileManager.default.moveItem(atPath: directory, toPath: away)
        let claim = ClaimRecord(claimant: ":1.7", latency: nil, form: .claim, verdict: .recorded)
        try journal.commit([.accepted(try sample(2)), .claimed(EventID(1), claim), .claimed(EventID(2), claim)])
        journal.abandon()
        if isBack { try FileManager.default.moveItem(atPath: away, toPath: directory) }
        #expect(try journal.reopen())
        #expect(journal.count == (isBack ? 2 : 1))
        #expect(try journal.undecidedIDs() == (isBack ? [1, 2] : [2]).map { EventID($0) })
        #expect(try journal.state(of: EventID(1))?.claims == (isBack ? [claim] : nil))
        #expect(try journal.state(of: EventID(2))?.claims == [claim])
    }

    @Test(.folder) func aDirectoryThatWasMovedAwayIsCompleteWhereItIs() throws {
        let journal = try Journal(directory: folder + "/notifyd")
        try journal.commit([.accepted(try sample(1))])
        try journal.fold()
        try FileManager.default.moveItem(atPath: folder + "/notifyd", toPath: folder + "/away")
        journal.abandon()
        _ = try journal.reopen()
        #expect(journal.count == 0)
        #expect(try Journal(directory: folder + "/away").undecided().map(\.id.rawValue) == [1])
    }
}
