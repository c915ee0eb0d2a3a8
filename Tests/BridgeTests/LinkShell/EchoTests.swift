import Testing

@testable import LinkShell

/// What a device hears of itself.
struct EchoTests {
    @Test func onlyTheLastMessagesAreEchoes() {
        var echoes = Echoes()
        for number in 0..<100 as Range<UInt8> { echoes.said([number, 7]) }
        #expect((36..<100).allSatisfy { echoes.contains([$0, 7]) })
        #expect((0..<36).allSatisfy { !echoes.contains([$0, 7]) })
        #expect(!echoes.contains([99]) && !echoes.contains([99, 7, 0]))
    }
}
