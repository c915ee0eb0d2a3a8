import Mapping
import Testing

@testable import notifyd_ntfy

struct ServerReplyTests {
    private static let message =
        #"{"id":"aVg4n1Jr5bPZ","time":1,"expires":2,"event":"message","topic":"t","message":"secret"}"#
    private static let clear = #"{"id":"aVg4n1Jr5bPZ","time":1,"event":"message_clear","topic":"t","sequence_id":"s"}"#

    private func mistake(
        _ body: String, _ type: String = "application/json", _ event: NtfyMessage.Event = .message
    ) -> String? {
        ServerReply.mistake(in: Array(body.utf8), type: type, to: event, of: "t")
    }

    @Test func theMessageThatTheServerHasMadeIsItsAnswer() {
        #expect(mistake(Self.message + "\n") == nil)
        #expect(mistake(Self.clear, "application/json", .clear) == nil)
    }

    @Test func whateverElseIsAnsweredIsNoneOfNtfy() {
        #expect(
            mistake("<html>\u{1b}[1mWelcome\n", "text/html")
                == "it answers with something else than ntfy does (text/html, "
                + #"it begins with "<html>\u{1b}[1mWelcome\n")"#
        )
        #expect(mistake("{}")?.contains("application/json, JSON without a message") == true)
        #expect(mistake(#"{"login":"http://hotel","id":7}"#)?.contains(#"JSON with "login", "id""#) == true)
        #expect(mistake("", "")?.contains("no Content-Type, empty") == true)
        #expect(mistake(Self.clear)?.contains("another message") == true)
        #expect(mistake(Self.message.replacing("\"t\"", with: "\"u\""))?.contains("another message") == true)
    }

    @Test func nothingOfAnEventIsTold() {
        let echo = #"{"topic":"t","message":"secret","title":"secret"}"#
        #expect(mistake(echo)?.contains("secret") == false)
        #expect(mistake(Self.message, "x", .clear)?.contains("secret") == false)
    }

    @Test func aLineOfALaterVersionIsOneOfNtfy() {
        #expect(ServerReply.isLine(Array(#"{"id":"a","event":"later","topic":"t"}"#.utf8)))
        #expect(!ServerReply.isLine(Array("<html>".utf8)))
        #expect(!ServerReply.isLine(Array(#"{"login":true}"#.utf8)))
    }

    @Test func theErrorsOfNtfyHaveANumber() {
        #expect(ServerReply.isError(Array(#"{"code":40401,"http":404,"error":"page not found"}"#.utf8)))
        #expect(!ServerReply.isError(Array("404 page not found".utf8)))
        #expect(!ServerReply.isError(Array("{}".utf8)))
    }
}

struct ServerFailureTests {
    @Test func whatOnlyTheUserCanMendComesWithAdvice() {
        #expect(ServerFailure.denied("").advice?.contains("~/.config/notifyd/ntfy.toml") == true)
        #expect(ServerFailure.forbidden("").advice?.hasPrefix("Allow it at the server") == true)
        #expect(ServerFailure.noSecret("").advice?.contains("--check-config") == true)
        #expect(ServerFailure.untrusted("").advice?.contains("authorities =") == true)
        #expect(ServerFailure.away("").advice == nil && ServerFailure.limited(nil).advice == nil)
    }
}
