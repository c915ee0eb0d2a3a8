import FoundationEssentials
import Glibc
import NotifyBridge
import NotifyClient
import TOMLTables

/// A file in a folder is an event. When the event is claimed, the file is removed.
@main
struct FolderBridge: Bridge {
    static let name = "folder"
    static let abstract = "Publishes the files of a folder, and removes those that are claimed."
    let folder: String
    let services: BridgeServices

    static func settings(from table: inout TableReader) -> String? { table.required("folder") { $0.string($1) } }

    init(_ folder: String, _ services: BridgeServices) { (self.folder, self.services) = (folder, services) }

    func run() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await publishFiles() }
            group.addTask { try await removeClaimedFiles() }
            for try await _ in group {}
        }
    }

    private func publishFiles() async throws {
        var published: Set<String> = []
        while !Task.isCancelled {
            var problem: String?
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasPrefix(".") {
                guard let id = identity(of: name), !published.contains(id) else { continue }
                let text = (try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)) ?? ""
                let options = PublishOptions(source: "folder", eventID: id)
                let call = DaemonCall.publish("/files", title: name, body: text, options: options)
                switch try await services.deliver(call, orKeep: DeadLetter(topic: "/files", origin: name)) {
                case .delivered: published.insert(id)
                case .deadLettered: rename("\(folder)/\(name)", "\(folder)/.\(name)")
                case .refusedForNow(let error): problem = error.message
                }
            }
            services.status.set(problem == nil ? .connected : .waiting, problem ?? folder)
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func removeClaimedFiles() async throws {
        for try await rows in services.daemon.changes(after: try await services.store.number("cursor") ?? 0) {
            for row in rows where ["outcome", "read"].contains(row.kind) && row.details["source"]?.string == "folder" {
                guard let id = row.details["event-id"]?.string, let slash = id.firstIndex(of: "/") else { continue }
                let name = String(id[id.index(after: slash)...])
                let isClaimed = ["claimed", "retracted", "dismissed", nil].contains(row.details["outcome"]?.string)
                guard isClaimed, identity(of: name) == id else { continue }
                try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
            try await services.store.write([.put("cursor", rows.last!.number)])
        }
    }

    private func identity(of name: String) -> String? {
        var status = stat()
        guard stat("\(folder)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return "\(status.st_ino)-\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)/\(name)"
    }
}
