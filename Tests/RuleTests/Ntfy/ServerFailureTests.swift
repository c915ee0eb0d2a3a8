import Testing

@testable import notifyd_ntfy

struct ServerFailureTests {
    @Test func whatOnlyTheUserCanMendComesWithAdvice() {
        #expect(ServerFailure.denied("").advice?.contains("~/.config/notifyd/ntfy.toml") == true)
        #expect(ServerFailure.forbidden("").advice?.hasPrefix("Allow it at the server") == true)
        #expect(ServerFailure.noSecret("").advice?.contains("--check-config") == true)
        #expect(ServerFailure.untrusted("").advice?.contains("authorities =") == true)
        #expect(ServerFailure.away("").advice == nil && ServerFailure.limited(nil).advice == nil)
    }
}
