/// Whether the journal can be written, and is nobody else's.
struct JournalCheck {
    /// Why notifyd cannot write it, in its own words; empty while it can.
    var degradation = ""
    /// The folder notifyd uses, or would use.
    var folder = ""
    /// The permissions of `events.db`, or `nil` where it is not to be seen.
    var mode: UInt32?
    /// The bytes left on its disk.
    var room: UInt64?
    /// Files that were set aside because they were damaged.
    var damaged: [String] = []
    /// The only folders that the sandbox lets notifyd write to; `nil` where it may write anywhere.
    var writableFolders: [String]?

    private static let check = "journal"
    private static let enoughRoom: UInt64 = 64 << 20

    var findings: [Finding] {
        var findings = [finding]
        if !damaged.isEmpty {
            findings.append(
                .warning(
                    Self.check, "\(damaged.joined(separator: ", ")) in \(folder): set aside because it was damaged",
                    "A new journal was begun. Delete the old one when you do not need it: nothing reads it any more."))
        }
        return findings
    }

    private var finding: Finding {
        guard degradation.isEmpty else {
            return .problem(Self.check, "nothing is accepted, because \(degradation)", remedy)
        }
        if let room, room < Self.enoughRoom {
            return .warning(
                Self.check, "only \(room >> 20) MiB are left for \(folder)", "Make room on this disk.")
        }
        guard let mode else { return .ok(Self.check, "nothing in \(folder) yet") }
        guard mode & 0o077 == 0 else {
            return .warning(
                Self.check, "others may read \(folder)/events.db", "Take that away: chmod -R go= \(folder)")
        }
        let left = room.map { ", \($0 >> 20) MiB left" } ?? ""
        return .ok(Self.check, "\(folder)/events.db, mode \(String(mode, radix: 8))\(left)")
    }

    private var remedy: String {
        if let writableFolders, !writableFolders.contains(folder) {
            return "The sandbox lets notifyd write to \(writableFolders.joined(separator: ", ")) only. "
                + "systemctl --user edit notifyd, and there: [Service], ReadWritePaths=-\(folder)"
        }
        return "Once that is mended, notifyd goes on by itself within seconds."
    }
}
