import Glibc
import NotifyClient
import NotifyRehearsal
import Testing

@testable import NotifyBridge

/// What a bridge keeps on disk.
struct BridgeStoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(
        limits: LetterLimits = LetterLimits(), now: @escaping @Sendable () -> Int64 = { 1 },
        onLetters: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws -> BridgeStore {
        try BridgeStore(folder: folder.path + "/a/b", limits: limits, clock: now, onLetters: onLetters)
    }

    private var file: String { folder.path + "/a/b/state.db" }

    // MARK: Records

    @Test func recordsSurviveARestart() async throws {
        do {
            let store = try open()
            try await store.write([.put("cursor", 7), .put("device/1", [1, 2]), .put("device/2", [])])
            try await store.write([.put("cursor", 8), .remove("device/1"), .remove("none")])
            await store.close()
        }
        let store = try open()
        #expect(store.begunAnew == nil)
        #expect(try await store.number("cursor") == 8)
        #expect(try await store.value("device/1") == nil)
        #expect(try await store.value("device/2") == [])
        #expect(try await store.number("none") == nil)
    }

    @Test func recordsAreListedByThePrefixOfTheirKeys() async throws {
        let store = try open()
        try await store.write([.put("b/2", [2]), .put("a", [0]), .put("b/1", [1]), .put("c", [3]), .put("b0", [4])])
        #expect(try await store.all(prefix: "b/").map(\.key) == ["b/1", "b/2"])
        #expect(try await store.all().map(\.value) == [[0], [1], [2], [4], [3]])
        #expect(try await store.all(prefix: "d").isEmpty)
    }

    @Test func writesAreDoneInTheirOrderHoweverManyWait() async throws {
        let store = try open()
        let done = Locked<[Int]>([])
        for number in 0..<500 {
            store.write([.put("cursor", UInt64(number)), .put("\(number)", [])]) { error in
                if error == nil { done.withLock { $0.append(number) } }
            }
        }
        #expect(try await store.number("cursor") == 499)
        #expect(done.withLock { $0 } == Array(0..<500))
        #expect(try await store.all().count == 501)
    }

    @Test func theFileIsPrivate() async throws {
        let store = try open()
        try await store.write([.put("a", [1])])
        for name in [file, file + "-wal"] {
            var status = stat()
            #expect(stat(name, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    // MARK: Damage

    @Test func aFileThatIsNoneIsSetAsideAndTheStoreBeginsAnew() async throws {
        try folder.folder("a/b")
        try folder.write(String(repeating: "rubbish ", count: 2000), to: "a/b/state.db")
        let store = try open()
        let aside = try #require(store.begunAnew)
        #expect(aside.hasPrefix(file + ".damaged-"))
        #expect(access(aside, F_OK) == 0)
        #expect(try await store.all().isEmpty)
        try await store.write([.put("a", [1])])
    }

    @Test func aDamagedPageIsFoundAtTheNextStart() async throws {
        do {
            let store = try open()
            try await store.write((0..<200).map { .put("key \($0)", Array(repeating: 7, count: 100)) })
            try await store.forgetLetters()
            await store.close()
        }
        let length = try #require(size(of: file))
        #expect(length > 8192)
        overwrite(file, at: 4096, with: Array(repeating: 0xAA, count: 2000))
        let store = try open()
        #expect(store.begunAnew != nil)
        #expect(try await store.all().isEmpty)
    }

    @Test func aFlippedBitInAValueIsReportedAndNotBelieved() async throws {
        do {
            let store = try open()
            try await store.write([.put("cursor", text: "needle 1")])
            try await store.forgetLetters()
            await store.close()
        }
        let bytes = try #require(contents(of: file))
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("needle 1".utf8)) })
        overwrite(file, at: place, with: Array("needle 3".utf8))
        let store = try open()
        let error = await #expect(throws: StoreError.self) { try await store.value("cursor") }
        #expect(error?.isDamage == true)
        #expect(error?.description.contains("needle") == false)
    }

    @Test(arguments: 0..<100)
    func whateverByteOfTheHeaderIsDamagedTheStoreOpens(_ offset: Int) async throws {
        do {
            let store = try open()
            try await store.write([.put("cursor", 7)])
            await store.close()
        }
        let byte = try #require(contents(of: file)?[offset])
        overwrite(file, at: offset, with: [byte ^ 0xFF])
        do {
            let store = try open()
            if store.begunAnew == nil { #expect(try await store.number("cursor") == 7) }
            try await store.write([.put("cursor", 8)])
            #expect(try await store.number("cursor") == 8)
            await store.close()
        } catch let error as StoreError {
            // The version of the tables may be that of a newer program.
            #expect(error.isTooNew && (60..<64).contains(offset), "\(offset): \(error)")
        }
    }

    @Test func theStateOfANewerVersionIsLeftAlone() async throws {
        do {
            let store = try open()
            try await store.forgetLetters()
            await store.close()
        }
        // The version of the tables, in the header of the file.
        overwrite(file, at: 60, with: [0, 0, 0, 9])
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error?.isTooNew == true)
        #expect(access(file, F_OK) == 0)
    }

    @Test func whatIsNoFileIsNotOpened() throws {
        try folder.folder("a/b/state.db")
        let error = #expect(throws: StoreError.self) { try open() }
        #expect(error?.description.contains("is a directory") == true)
    }

    // MARK: Dead letters

    @Test func deadLettersAreKeptCountedAndForgotten() async throws {
        let counts = Locked<[Int]>([])
        let letter = DeadLetter(topic: "/a/b", origin: "desk", reason: "too large", content: [1, 2, 3])
        do {
            let store = try open(now: { 5 })
            try await store.keep(letter)
            await store.close()
        }
        let store = try open(now: { 6 }, onLetters: { count in counts.withLock { $0.append(count) } })
        #expect(try await store.letters() == [KeptLetter(id: 1, at: 5, letter: letter)])
        try await store.keep(DeadLetter(topic: "/a/bc", origin: "desk", reason: "r"))
        try await store.keep(DeadLetter(topic: "/a", origin: "desk", reason: "r"))
        try await store.keep(DeadLetter(origin: "desk", reason: "r"))
        try await store.keep(DeadLetter(topic: "/a/b/c", origin: "desk", reason: "r"))
        #expect(try await store.forgetLetters(below: "/a/b") == 2)
        #expect(try await store.letters().map(\.letter.topic) == ["/a/bc", "/a", nil])
        #expect(try await store.forgetLetters(below: "/a") == 2)
        #expect(try await store.forgetLetters() == 1)
        await store.wait()
        #expect(counts.withLock { $0.first } == 1)
        #expect(counts.withLock { $0.max() } == 5)
        #expect(counts.withLock { $0.last } == 0)
    }

    @Test func forgottenLettersAreNoLongerInTheFile() async throws {
        let store = try open()
        let secret = Array("a secret that is nowhere else".utf8)
        try await store.keep(DeadLetter(topic: "/a", origin: "desk", reason: "r", content: secret))
        func isThere() -> Bool {
            [file, file + "-wal"].contains { name in
                guard let bytes = contents(of: name) else { return false }
                return bytes.indices.contains { bytes[$0...].starts(with: secret) }
            }
        }
        #expect(isThere())
        try await store.forgetLetters(below: "/a")
        #expect(!isThere())
    }

    /// A server sends it again after each reconnection.
    @Test func aMessageThatComesAgainIsOneLetter() async throws {
        let now = Locked<Int64>(1)
        let store = try open(now: { now.withLock { $0 } })
        let letter = DeadLetter(topic: "/a", origin: "server", reason: "r", content: [1, 2, 3])
        try await store.keep(letter)
        now.withLock { $0 = 2 }
        try await store.keep(letter)
        for content in [[1, 2, 4], [], []] as [[UInt8]] {
            try await store.keep(DeadLetter(topic: "/a", origin: "server", reason: "r", content: content))
        }
        let kept = try await store.letters()
        #expect(kept.map(\.letter.content) == [[1, 2, 3], [1, 2, 4], [], []])
        #expect(kept.first?.at == 2)
    }

    /// Two messages may have the same beginning.
    @Test func lettersThatAreKeptInPartAreNotTakenForOne() async throws {
        let store = try open()
        for last in [1, 2] as [UInt8] {
            let content = Array(repeating: 0, count: 300 << 10) + [last]
            try await store.keep(DeadLetter(origin: "server", reason: "r", content: content))
        }
        #expect(try await store.letters().count == 2)
    }

    @Test func theOldestLettersGiveWay() async throws {
        let store = try open(limits: LetterLimits(count: 10))
        for number in 0..<25 { try await store.keep(DeadLetter(origin: "\(number)", reason: "r")) }
        #expect(try await store.letters().map(\.letter.origin) == (15..<25).map(String.init))
    }

    @Test func allLettersTogetherHaveALimit() async throws {
        let store = try open(limits: LetterLimits(bytes: 10_000))
        for number in 0..<25 {
            try await store.keep(
                DeadLetter(origin: "\(number)", reason: "r", content: Array(repeating: 0, count: 3000)))
        }
        #expect(try await store.letters().map(\.letter.origin) == ["22", "23", "24"])
    }

    @Test func oldLettersAreDeleted() async throws {
        let week: Int64 = 7 * 86_400_000_000
        let now = Locked<Int64>(1000)
        let store = try open(now: { now.withLock { $0 } })
        try await store.keep(DeadLetter(origin: "first", reason: "r"))
        now.withLock { $0 += week - 1 }
        try await store.keep(DeadLetter(origin: "second", reason: "r"))
        #expect(try await store.letters().count == 2)
        now.withLock { $0 += 1 }
        #expect(try await store.letters().map(\.letter.origin) == ["second"])
    }

    @Test func ofALargeLetterTheBeginningIsKept() async throws {
        let store = try open()
        try await store.keep(DeadLetter(origin: "a", reason: "r", content: Array(repeating: 1, count: 1 << 20)))
        #expect(try await store.letters().first?.letter.content.count == 256 << 10)
    }
}

private func size(of path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
}

private func contents(of path: String) -> [UInt8]? {
    guard let count = size(of: path) else { return nil }
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: count)
    return read(file, &bytes, count) == count ? bytes : nil
}

private func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) {
    let file = open(path, O_WRONLY | O_CLOEXEC)
    defer { close(file) }
    #expect(pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count)
}
