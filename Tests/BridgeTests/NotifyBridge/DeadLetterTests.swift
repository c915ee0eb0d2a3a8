import Logging
import NotifyClient
import NotifyRehearsal
import Testing

@testable import NotifyBridge

/// Dead letters while the disk takes nothing.
struct DeadLetterTests {
    private let folder: TemporaryFolder
    private let status = BridgeStatus()
    private let loop: WorkLoop
    private let begin = ContinuousClock.now
    private static let full = StoreError(.unavailable, "database or disk is full")

    init() throws {
        folder = try TemporaryFolder()
        loop = try WorkLoop()
    }

    private func writer(_ store: BridgeStore, timeout: Duration) -> DeadLetterWriter {
        DeadLetterWriter(
            store, status, Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, loop,
            timeout: LetterTimeout(timeout))
    }

    private var problems: [String] {
        (status.properties["Problems"]?.elements ?? []).compactMap { $0.elements?.first?.string }
    }

    // MARK: Timeout

    @Test func theTimeCountsForTheDiskAndNotForEachLetter() {
        var timeout = LetterTimeout(.seconds(300))
        // The last one has not waited at all.
        let waits = [0, 299, 300, 301].map { timeout.failed(at: begin + .seconds($0)) }
        #expect(waits == [true, true, false, false])
        #expect(timeout.lost == 2 && timeout.isFailing)
    }

    @Test func whenTheDiskTakesOneTheTimeBeginsAnew() {
        var timeout = LetterTimeout(.seconds(300))
        var lost = [timeout.succeeded()]
        var waits = [0, 400].map { timeout.failed(at: begin + .seconds($0)) }
        lost.append(timeout.succeeded())
        #expect(!timeout.isFailing && timeout.lost == 0)
        waits.append(timeout.failed(at: begin + .seconds(500)))
        lost.append(timeout.succeeded())
        #expect(waits == [true, false, true] && lost == [nil, 1, 0])
    }

    // MARK: The writer

    @Test func aLetterIsKept() async throws {
        let store = try BridgeStore(folder: folder.path)
        try await writer(store, timeout: .seconds(300)).keep(DeadLetter(origin: "here", reason: "rubbish"))
        #expect(try await store.letters().count == 1)
        #expect(problems.isEmpty)
    }

    @Test func whileTheDiskTakesNothingALetterWaitsUntilItsTaskIsCancelled() async throws {
        let store = try BridgeStore(folder: folder.path)
        // A closed store takes nothing either.
        await store.close()
        let writer = writer(store, timeout: .seconds(300))
        let task = loop.task { try await writer.keep(DeadLetter(origin: "here", reason: "rubbish")) }
        while problems.isEmpty { await loop.sleep(for: .milliseconds(1)) }
        #expect(problems.first?.hasPrefix("1 message that can never be taken, not confirmed") == true, "\(problems)")
        task.cancel()
        // Who is told nothing says it again.
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(problems.isEmpty)
    }

    @Test func afterTooLongLettersAreGivenUpAndCounted() async throws {
        let store = try BridgeStore(folder: folder.path)
        await store.close()
        let writer = writer(store, timeout: .zero)
        for count in 1...3 {
            try await writer.keep(DeadLetter(origin: "here", reason: "rubbish"))
            #expect(problems.first?.hasPrefix("\(count) message") == true, "\(problems)")
            #expect(problems.first?.contains("takes nothing for too long") == true, "\(problems)")
        }
        #expect(writer.wrote(1, nil) == .kept)
        #expect(problems.isEmpty)
        #expect(writer.wrote(2, Self.full) == .givenUp)
        #expect(problems.first?.hasPrefix("2 messages") == true, "\(problems)")
    }

    @Test func aCursorIsNeverWrittenWithoutTheLetter() async throws {
        let store = try BridgeStore(folder: folder.path)
        let letter = DeadLetter(origin: "here", reason: "rubbish")
        await withCheckedContinuation { continuation in
            store.write([.put("cursor", 7)], keeping: [letter]) { _ in continuation.resume() }
        }
        #expect(try await store.letters().map(\.letter) == [letter])
        #expect(try await store.number("cursor") == 7)
    }
}
