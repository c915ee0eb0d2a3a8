import Foundation
import NotifyRehearsal
import NotifyTestSupport
import Routing
import Testing

@testable import Journal

/// GRDB has a class of this name.
typealias JournalRecord = Record

func sample(_ id: UInt64, topic: String = "/post/27", retained: Bool = false) throws -> StoredEvent {
    StoredEvent(
        id: EventID(id), topic: try Topic(topic), title: "Title",
        body: "Mina has something to say \(id < 10 ? "0" : "")\(id)",
        fields: [Field(name: "from", value: .string("Mina"))], published: 1_000, sender: ":1.5",
        origin: Origin(source: "test", eventID: "\(id)"), urgency: .normal, retained: retained, route: "/post/{id}",
        key: topic, window: 100_000, accepted: 1_000 + Int64(id),
        expires: Expiry(wall: 9_000_000, uptime: 7_000_000, boot: "boot"))
}

/// A folder in memory if possible, which is gone afterwards.
func withFolder(_ body: (String) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try body(folder.path)
    folder.remove()
}

extension Trait where Self == Fixture {
    /// A folder for journals.
    static var folder: Self {
        Fixture { (body: (String) async throws -> Void) in
            let folder = try TemporaryFolder()
            try await body(folder.path)
            folder.remove()
        }
    }
}

extension Fixture {
    /// The folder of the present test.
    static var folder: String { current() ?? "/nonexistent" }
}

/// A removal that takes the value away; without `published`, because its lifetime ended.
func removal(
    _ topic: Topic, _ id: EventID, _ origin: Origin, accepted: Int64, published: Int64? = nil
) -> Record {
    .removed(
        StoredRemoval(
            id: id, topic: topic, origin: origin, published: published, removed: accepted,
            cause: published == nil ? .expired : .publisher),
        leaving: ValueVersion(published: published ?? accepted, id: id, origin: origin))
}

/// The names of the files of a journal that is open.
func files(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
}

/// The directory as a kill leaves it, in a new place.
func copyOfJournal(in folder: String, to copy: String) throws {
    try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
    // SQLite makes the index of its log again, and holds the file in memory.
    for name in try files(in: folder) where name.hasPrefix("index.db") || name.hasPrefix("log-") {
        try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy)/\(name)")
    }
}

extension Journal {
    /// Opens a journal for reading only.
    convenience init(readingIn directory: String) throws {
        self.init(directory, Limits(), checkedWhenOpened: 0, Journal.now, DirectoryDisk(directory))
        failure = .readOnly
        try openForReading()
    }

    /// The number of unread events at or below a topic.
    func unread(_ topic: TopicPrefix) throws(JournalError) -> Int {
        var count = 0
        var position: UnreadPosition? = UnreadPosition(before: topic)
        while let start = position {
            let portion = try unread(topic, after: start, limit: 2)
            count += portion.count
            position = portion.position
        }
        return count
    }
}
