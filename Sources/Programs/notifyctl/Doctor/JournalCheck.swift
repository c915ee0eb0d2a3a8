/// Whether the journal can be written, and is private.
struct JournalCheck {
    /// The reason why notifyd cannot write it; empty if it can.
    var degradation = ""
    /// The folder notifyd uses, or would use.
    var folder = ""
    /// The permissions of `index.db`, or `nil` if it cannot be read.
    var mode: UInt32?
    var room: UInt64?
    var damaged: [String] = []
    /// The files of earlier builds that were set aside.
    var earlier: [String] = []
    /// `nil` if notifyd does not run, or tells nothing about it.
    var log: JournalLog?
    /// The folders that the sandbox lets notifyd write to; `nil` if it may write anywhere.
    var writableFolders: [String]?

    static let check = "journal"
    private static let enoughRoom: UInt64 = 64 << 20

    var findings: [Finding] {
        var findings = [finding]
        if let log { findings.append(log.finding()) }
        if !damaged.isEmpty {
            findings.append(
                .warning(
                    Self.check, "\(damaged.joined(separator: ", ")) in \(folder): set aside because it was damaged",
                    "A new index has what could be read. The old one is not used: delete it if you do not need it."))
        }
        if !earlier.isEmpty {
            findings.append(
                .warning(
                    Self.check,
                    "\(earlier.joined(separator: ", ")) in \(folder): of an earlier build, which this one does not read",
                    "Nothing of it is in the present journal: delete these files if you do not need them."))
        }
        return findings
    }

    private var finding: Finding {
        guard degradation.isEmpty else {
            return .problem(Self.check, "nothing is accepted, because \(degradation)", remedy)
        }
        if let room, room < Self.enoughRoom {
            return .warning(
                Self.check, "only \(room >> 20) MiB are left for \(folder)", "Free space on this disk.")
        }
        guard let mode else { return .ok(Self.check, "nothing in \(folder) yet") }
        guard mode & 0o077 == 0 else {
            return .warning(
                Self.check, "others may read \(folder)/index.db", "Remove these permissions: chmod -R go= \(folder)")
        }
        let left = room.map { ", \($0 >> 20) MiB left" } ?? ""
        return .ok(Self.check, "\(folder)/index.db, mode \(String(mode, radix: 8))\(left)")
    }

    private var remedy: String {
        if let writableFolders, !writableFolders.contains(folder) {
            return "The sandbox lets notifyd write to \(writableFolders.joined(separator: ", ")) only. "
                + "systemctl --user edit notifyd, and there: [Service], ReadWritePaths=-\(folder)"
        }
        if writableFolders != nil, degradation.contains("mounted read-only") {
            return "The state directory was deleted, replaced or mounted anew, and the sandbox still shows the old "
                + "one: systemctl --user restart notifyd"
        }
        if degradation.contains("in a moment") { return "There is nothing to do: notifyd mends that itself." }
        return "Correct that, and notifyd continues within seconds."
    }
}
