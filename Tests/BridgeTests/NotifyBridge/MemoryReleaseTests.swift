import NotifyClient
import Testing

@testable import NotifyBridge

/// Memory is returned once after a flood, and never for a few messages.
struct MemoryReleaseTests {
    @Test(.timeLimit(.minutes(1)))
    func onceAfterAFlood() async throws {
        let loop = try WorkLoop()
        let (releases, release) = AsyncStream.makeStream(of: Void.self)
        let memory = MemoryRelease(loop) { release.yield() }
        for _ in 0..<1000 { memory.noteWork() }
        var iterator = releases.makeAsyncIterator()
        #expect(await iterator.next() != nil)
        // A few more do not count; the next flood does.
        for _ in 0..<10 { memory.noteWork() }
        await loop.sleep(for: .zero)
        for _ in 0..<200 { memory.noteWork() }
        #expect(await iterator.next() != nil)
        release.finish()
        #expect(await iterator.next() == nil)
    }
}
