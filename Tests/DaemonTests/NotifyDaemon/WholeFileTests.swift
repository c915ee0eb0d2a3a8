import Glibc
import NotifyClient
import NotifyRehearsal
import Testing
import UserFiles

@Suite struct WholeFileTests {
    private let folder: TemporaryFolder
    private var path: String { folder.path + "/focus.toml" }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func text(of path: String) throws -> String? {
        try FileKind.read(path, atMost: 100).map { String(decoding: $0, as: UTF8.self) }
    }

    private func facts(of path: String) -> stat {
        var facts = stat()
        lstat(path, &facts)
        return facts
    }

    @Test func aNewFileIsPrivateUnlessItIsToBeOtherwise() throws {
        try WholeFile.write("new", to: path)
        #expect(try text(of: path) == "new")
        #expect(facts(of: path).st_mode & 0o7777 == 0o600)
        try WholeFile.write("new", to: path + "2", mode: 0o644)
        #expect(facts(of: path + "2").st_mode & 0o7777 == 0o644)
    }

    @Test func theModeAndTheOwnerOfTheOldFileStay() throws {
        try folder.write("old", to: "focus.toml")
        chmod(path, 0o640)
        // Only root gives files away.
        if geteuid() == 0 { chown(path, 12, 34) }
        let before = facts(of: path)
        try WholeFile.write("new", to: path)
        let after = facts(of: path)
        #expect(try text(of: path) == "new")
        #expect(after.st_mode == before.st_mode && after.st_uid == before.st_uid && after.st_gid == before.st_gid)
        #expect(after.st_ino != before.st_ino)
    }

    @Test func aLinkStaysAndWhatItLeadsToIsReplaced() throws {
        try folder.write("old", to: "dotfiles/focus.toml")
        symlink("dotfiles/focus.toml", path)
        try WholeFile.write("new", to: path)
        #expect(facts(of: path).st_mode & S_IFMT == S_IFLNK)
        #expect(try text(of: folder.path + "/dotfiles/focus.toml") == "new")
    }

    @Test func aBrokenLinkIsToldAndStays() throws {
        symlink("nowhere.toml", path)
        let failure = #expect(throws: WholeFile.Failure.self) { try WholeFile.write("new", to: path) }
        #expect(failure?.description == "it is a symbolic link to nowhere.toml, which does not exist")
        #expect(facts(of: path).st_mode & S_IFMT == S_IFLNK)
    }

    private static let hasUnnamedFiles: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        let file = open(folder.path, O_DIRECTORY | 0o20_000_000 | O_WRONLY, 0o600)
        return file >= 0 && close(file) == 0
    }()

    /// So nothing is left of one whose writer is killed.
    @Test(.enabled(if: hasUnnamedFiles)) func aFileHasNoNameWhileItIsWritten() throws {
        let isOver = Locked(false)
        onOwnThread { [path] in
            try? WholeFile.write([UInt8](repeating: 97, count: 32 << 20), to: path)
            isOver.withLock { $0 = true }
        }
        var found = glob_t()
        while !isOver.withLock(\.self) {
            #expect(glob(path + ".*", 0, nil, &found) == GLOB_NOMATCH)
            globfree(&found)
        }
        #expect(facts(of: path).st_size == 32 << 20)
        try WholeFile.write("new", to: path)
        #expect(try text(of: path) == "new")
        #expect(glob(path + "*", 0, nil, &found) == 0 && found.gl_pathc == 1)
        globfree(&found)
    }

    @Test func whatMustBeNewIsNotReplaced() throws {
        try folder.write("old", to: "focus.toml")
        #expect(throws: WholeFile.Failure.self) { try WholeFile.write("new", to: path, isNew: true) }
        #expect(try text(of: path) == "old")
    }

    @Test func aFolderThatTakesNoNewFileIsToldAsTheReason() {
        // Not even root makes files there.
        let failure = #expect(throws: WholeFile.Failure.self) {
            try WholeFile.write("new", to: "/sys/kernel/notifyd-test")
        }
        #expect(failure?.description.contains("the folder /sys/kernel does not allow") == true)
    }

    @Test func whatIsNoFileIsToldAsTheReason() {
        let failure = #expect(throws: WholeFile.Failure.self) { try WholeFile.write("new", to: folder.path) }
        #expect(failure?.description == "it is a directory, not a regular file")
    }
}

struct NamedFileTests {
    private func advice(_ path: String, home: String, isService: Bool = true) -> String {
        let variables = ["HOME": home, "INVOCATION_ID": isService ? "1" : nil]
        return NamedFile.hidingAdvice(for: path) { variables[$0] ?? nil }
    }

    @Test(arguments: ["/home/mina/ca.pem", "/tmp/ca.pem", "/srv/homes/mina/ca.pem"])
    func aServiceIsToldThatItsUnitMayHideAFile(path: String) {
        #expect(advice(path, home: "/srv/homes/mina").contains("~/.config/notifyd"))
        #expect(advice(path, home: "/srv/homes/mina", isService: false).isEmpty)
    }

    @Test(arguments: ["/etc/ssl/ca.pem", "/homework/ca.pem", "/home/mina/.config/notifyd/ca.pem"])
    func otherFilesAreHiddenByNoUnit(path: String) {
        #expect(advice(path, home: "/home/mina").isEmpty)
    }

    @Test func whatIsNotThereIsNamed() {
        #expect(NamedFile.mistake(at: "/etc/passwd") == nil)
        #expect(
            NamedFile.mistake(at: "/nowhere/ca.pem")
                == "the file /nowhere/ca.pem cannot be read: No such file or directory")
    }
}
