import NotifyClient

/// Has the portal of the desktop open an address, and says what became of it. The call is answered when the request
/// begins, and the signal `Response` says how it has ended. It has a connection to the bus of its own, for that one
/// signal.
///
/// [org.freedesktop.portal.Request](https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Request.html)
struct PortalOpening {
    /// What has become of the request.
    enum Result {
        case opened
        /// The user was asked for a program, and did not want one.
        case cancelled
        /// It has ended in some other way: nothing was opened.
        case failed
        /// It has not ended in time, or the portal has: whether something was opened is not known.
        case unknown
        /// There is no portal, or it does not take the request.
        case noPortal
    }

    /// Of the bus.
    let bus: String

    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let requests = "org.freedesktop.portal.Request"

    private struct Response {
        let sender: String?
        let path: String?
        let code: UInt32?
    }

    /// - Parameter patience: how long the user may take for an answer, if the portal asks for a program.
    func open(_ address: String, patience: Duration) async -> Result {
        let (responses, continuation) = AsyncStream.makeStream(
            of: Response.self, bufferingPolicy: .bufferingNewest(64))
        let connection: Connection
        do throws(NotifyError) {
            connection = try await Connection.open(
                bus,
                onSignal: { signal in
                    if signal.interface == Self.requests, signal.member == "Response" {
                        continuation.yield(
                            Response(
                                sender: signal.sender, path: signal.path,
                                code: signal.arguments.first?.integer(as: UInt32.self)))
                    } else if signal.sender == Bus.name, signal.member == "NameOwnerChanged",
                        signal.arguments.first?.string == Self.name
                    {
                        continuation.finish()
                    }
                }, onClose: { continuation.finish() })
        } catch {
            return .noPortal
        }
        let alarm = connection.loop.perform(after: patience) { continuation.finish() }
        defer {
            alarm.cancel()
            connection.close()
        }
        // The request may end before the call is answered.
        connection.requestMatch(MatchRule(sender: Self.name, interface: Self.requests, member: "Response"))
        let call = Message.call(
            "OpenURI", of: "org.freedesktop.portal.OpenURI", at: Self.path, on: Self.name,
            [.string(""), .string(address), .variants([:])])
        guard let reply = try? await connection.call(call), case .objectPath(let request)? = reply.arguments.first
        else { return .noPortal }
        // Only now: to start the portal changes the owner of its name, too.
        connection.requestMatch(.ownerChanged(of: Self.name))
        for await response in responses where response.sender == reply.sender && response.path == request {
            switch response.code {
            case 0: return .opened
            case 1: return .cancelled
            default: return .failed
            }
        }
        return .unknown
    }
}
