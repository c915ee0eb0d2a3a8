import Foundation
import Glibc
import NotifyClient
import NotifyRehearsal
import NotifyTestSupport
import Testing

/// What has the name of a file and is none keeps no start waiting, and errors say what it is.
@Suite(.timeLimit(.minutes(2)))
struct FileKindTests {
    private let rig: FaultRig! = Fixture.current()

    enum Kind: String, CaseIterable {
        case pipe = "a named pipe"
        case socket = "a socket"
        case directory = "a directory"
        case link = "a symbolic link with too many levels, such as one that refers to itself"

        func make(at path: String) throws {
            switch self {
            case .pipe: try #require(mkfifo(path, 0o600) == 0)
            case .directory: try #require(mkdir(path, 0o700) == 0)
            case .link: try #require(symlink(path, path) == 0)
            case .socket: close(try listeningSocket(at: path))
            }
        }
    }

    @Test(.faultRig(isStarted: false), arguments: Kind.allCases, ["index.db", "index.db-wal"])
    func aJournalThatIsNoFileIsNamedAndTheDaemonGoesOnWithoutIt(_ kind: Kind, _ name: String) async throws {
        try FileManager.default.createDirectory(atPath: rig.state, withIntermediateDirectories: true)
        try kind.make(at: "\(rig.state)/\(name)")
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("/\(name) is \(kind.rawValue), not a regular file"))
        try await rig.expectRefused()
        try FileManager.default.removeItem(atPath: "\(rig.state)/\(name)")
        try await rig.until("there is a journal") { try await rig.degradation() == "" }
        _ = try await rig.send("/note/1")
    }

    @Test(.faultRig(isStarted: false)) func aStateDirectoryThatIsALinkToItselfIsNamed() async throws {
        try Kind.link.make(at: rig.state)
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("/notifyd is \(Kind.link.rawValue); move it away"))
        try FileManager.default.removeItem(atPath: rig.state)
        try await rig.until("there is a journal") { try await rig.degradation() == "" }
    }

    @Test(.faultRig(isStarted: false), arguments: [Kind.pipe, .directory, .link], ["index.db.new", "index.db.ready"])
    func whatHasTheNameOfAnotherFileOfOursKeepsNoStartWaiting(_ kind: Kind, _ name: String) async throws {
        try FileManager.default.createDirectory(atPath: rig.state, withIntermediateDirectories: true)
        try kind.make(at: "\(rig.state)/\(name)")
        try await rig.daemon.start()
        _ = try await rig.send("/note/1")
    }

    @Test(.faultRig(isStarted: false), arguments: Kind.allCases, ["config.toml", "config.d/1.toml"])
    func aConfigurationThatIsNoFileEndsTheStartWithAWord(_ kind: Kind, _ name: String) async throws {
        let folder = "\(rig.daemon.folder.path)/config/notifyd"
        try FileManager.default.createDirectory(atPath: folder + "/config.d", withIntermediateDirectories: true)
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        try kind.make(at: "\(folder)/\(name)")
        let failure = await #expect(throws: RehearsalError.self) { try await rig.daemon.start() }
        #expect(await rig.daemon.waitForExit() == .code(78))
        let words = "\(name): it cannot be read: it is \(kind.rawValue), not a regular file"
        #expect(failure?.description.contains(words) == true)
    }

    @Test(.faultRig(isStarted: false)) func aStateDirectoryThatIsALinkToNowhereIsNamed() async throws {
        let target = "\(rig.daemon.folder.path)/elsewhere"
        try #require(symlink(target, rig.state) == 0)
        try await rig.daemon.start()
        let words = "/notifyd is a symbolic link to \(target), which does not exist; make that directory, or"
        #expect(try await rig.degradation().contains(words))
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        try await rig.until("there is a journal") { try await rig.degradation() == "" }
        _ = try await rig.send("/note/1")
    }

    @Test(.faultRig(isStarted: false)) func aJournalThatIsALinkToNowhereIsNamed() async throws {
        try FileManager.default.createDirectory(atPath: rig.state, withIntermediateDirectories: true)
        try #require(symlink("/nowhere/x", rig.state + "/index.db") == 0)
        try await rig.daemon.start()
        #expect(try await rig.degradation().contains("/index.db is a symbolic link, not a regular file; move it away"))
        try FileManager.default.removeItem(atPath: rig.state + "/index.db")
        try await rig.until("there is a journal") { try await rig.degradation() == "" }
    }

    @Test(.faultRig(isStarted: false), arguments: ["", "/config.toml", "/config.d", "/config.d/1.toml"])
    func aConfigurationThatIsALinkToNowhereEndsTheStartWithAWord(_ name: String) async throws {
        let folder = "\(rig.daemon.folder.path)/config/notifyd"
        if name == "/config.d/1.toml" {
            try FileManager.default.createDirectory(atPath: folder + "/config.d", withIntermediateDirectories: true)
        }
        try? FileManager.default.removeItem(atPath: folder + name)
        try #require(symlink("../elsewhere", folder + name) == 0)
        let failure = await #expect(throws: RehearsalError.self) { try await rig.daemon.start() }
        #expect(await rig.daemon.waitForExit() == .code(78))
        let words =
            "/notifyd\(name): it cannot be read: it is a symbolic link to ../elsewhere, which does not exist"
        #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
        #expect(failure?.description.contains("more mistakes") == false)
    }

    @Test(.faultRig(isStarted: false)) func aDropInIsMaskedByTheNullDevice() async throws {
        let folder = "\(rig.daemon.folder.path)/config/notifyd/config.d"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try #require(symlink("/dev/null", folder + "/1.toml") == 0)
        try await rig.daemon.start()
    }

    @Test func allFilesAreTheirUsersAloneWhateverTheUmask() async throws {
        let anyMode = ["sh", "-c", "umask 0; exec \"$0\""]
        try await withFaultRig(through: anyMode) { rig in
            _ = try await rig.send("/note/1")
            let names = try FileManager.default.contentsOfDirectory(atPath: rig.state)
            #expect(names.contains("index.db-wal"))
            for name in names { #expect(try mode(of: "\(rig.state)/\(name)") == 0o600, "\(name)") }
            #expect(try mode(of: rig.state) == 0o700)
        }
    }

    @Test(.faultRig) func permissionsOfAnEarlierVersionAreMendedAtTheStart() async throws {
        let id = try await rig.send("/note/1")
        await rig.daemon.kill()
        let log = rig.state + "/index.db-wal"
        for path in [rig.state + "/index.db", log] { try #require(chmod(path, 0o644) == 0) }
        try await rig.daemon.start()
        #expect(try await rig.history().map(\.id) == [id])
        for path in [rig.state + "/index.db", log] { #expect(try mode(of: path) == 0o600) }
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }
}
