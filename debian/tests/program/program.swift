import NotifyClient

@main
struct Program {
    static func main() async throws {
        let client = try await NotifyClient()
        let id = try await client.publish("/post/27")
        print(
            "ok: a program made with the packaged library sends, and its claim is", try await client.claim(id).rawValue)
    }
}
