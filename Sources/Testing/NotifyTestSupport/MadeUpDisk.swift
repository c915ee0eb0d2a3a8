import Glibc
package import Journal

/// A disk in memory, with everything that can go wrong with one: it loses what was not synced when the power goes,
/// sector by sector, refuses calls, has an end, and flips bits.
///
/// It knows nothing of the log, and needs no test to run in. SQLite has files on it too, if it stands in for a
/// directory (`MadeUpFiles`).
package final class MadeUpDisk: LogDisk {
    package enum Call: Equatable, Sendable {
        case open, remove, syncDirectory, size, read, write, truncate, sync
    }

    /// What the disk does when a call fails. A part of what was to be written is written, unless it is read-only.
    package var fault: (Call) -> JournalError? = { _ in nil }
    /// The file that the present call is about; empty: the directory.
    package private(set) var file = ""
    /// The calls so far.
    package private(set) var calls = 0
    /// The calls that `fault` made fail.
    package private(set) var failures = 0
    /// From this call on, nothing has an effect: the process is dead. The call itself may have part of its effect.
    package var lastCall = Int.max
    /// Called when that happens.
    package var onDeath: () -> Void = {}
    /// What all files may have together, in bytes.
    package var space = Int.max
    /// Pages of 4,096 bytes of files that cannot be read.
    package var unreadable: [String: Set<Int>] = [:]
    package var segmentBytes = Journal.usualSegment
    /// Whether somebody looks who is not the process: nothing fails, and no call is counted.
    private var isObserved = false
    /// Grows when something changes.
    package private(set) var version = 0
    private var state: UInt64

    fileprivate final class Node {
        /// What is read.
        var bytes: [UInt8]
        /// What is on the disk for certain.
        var synced: [UInt8]
        /// What was done since.
        var pieces: [Piece] = []

        init(_ bytes: [UInt8] = []) {
            self.bytes = bytes
            synced = bytes
        }
    }

    /// A write, or a new size.
    fileprivate struct Piece {
        let offset: Int
        /// `nil`: the file ends at `offset`, or has zeros up to there.
        let bytes: [UInt8]?

        func apply(to file: inout [UInt8]) {
            let end = offset + (bytes?.count ?? 0)
            while file.count < end {
                Self.zeros.withUnsafeBytes { file.append(contentsOf: $0.prefix(end - file.count)) }
            }
            guard let bytes else { return file.removeLast(file.count - end) }
            file.withUnsafeMutableBytes { file in
                _ = bytes.withUnsafeBytes { memcpy(file.baseAddress! + offset, $0.baseAddress!, $0.count) }
            }
        }

        private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

        /// The power cut takes or leaves each sector.
        var sectors: [Piece] {
            guard let bytes else { return [self] }
            var sectors: [Piece] = []
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, (offset + start) / 512 * 512 + 512 - offset)
                sectors.append(Piece(offset: offset + start, bytes: Array(bytes[start..<end])))
                start = end
            }
            return sectors
        }
    }

    private var names: [String: Node] = [:]
    private var syncedNames: [String: Node] = [:]

    package init(seed: UInt64 = 1) {
        state = seed
    }

    /// A disk with the same files, all of them synced.
    package func copy() -> MadeUpDisk {
        let copy = MadeUpDisk(seed: state)
        copy.segmentBytes = segmentBytes
        for (name, node) in names { copy[name] = node.bytes }
        return copy
    }

    /// The contents of a file; `nil` if there is none.
    package subscript(name: String) -> [UInt8]? {
        get { names[name]?.bytes }
        set {
            names[name] = newValue.map { Node($0) }
            syncedNames[name] = names[name]
        }
    }

    package var files: [String] { names.keys.sorted() }

    /// What is not synced, in pieces that the power cut takes or leaves.
    package var unsynced: Int {
        ordered.reduce(0) { $0 + $1.pieces.reduce(0) { $0 + $1.sectors.count } } + changedNames.count
    }

    private var ordered: [Node] {
        var seen: Set<ObjectIdentifier> = []
        let nodes = names.sorted { $0.key < $1.key } + syncedNames.sorted { $0.key < $1.key }
        return nodes.map(\.value).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    private var changedNames: [String] {
        Set(names.keys).union(syncedNames.keys).filter { names[$0] !== syncedNames[$0] }.sorted()
    }

    /// Cuts the power, and puts it on again. Of what was not synced, only those pieces are on the disk for which
    /// `isKept` is true; it is asked for each one in turn.
    package func cutPower(_ isKept: (_ piece: Int) -> Bool) {
        var piece = 0
        func take() -> Bool {
            defer { piece += 1 }
            return isKept(piece)
        }
        for node in ordered {
            for sector in node.pieces.flatMap(\.sectors) where take() { sector.apply(to: &node.synced) }
            node.pieces = []
        }
        for name in changedNames where take() { syncedNames[name] = names[name] }
        names = syncedNames
        for node in names.values { node.bytes = node.synced }
        version += 1
        live()
    }

    /// The process ends. No later call of it has an effect.
    package func end() { lastCall = min(lastCall, calls) }

    /// Begins another life after a kill: nothing is lost that was written.
    package func live() {
        lastCall = .max
        fault = { _ in nil }
    }

    /// Somebody deletes all files. Those that are open can still be used.
    package func deleteFiles() {
        (names, syncedNames) = ([:], [:])
        version += 1
    }

    /// Runs something that is not a part of the process's life.
    package func observe<Result>(_ body: () throws -> Result) rethrows -> Result {
        let before = isObserved
        isObserved = true
        defer { isObserved = before }
        return try body()
    }

    /// - Returns: whether the call has an effect, or part of one.
    private func begin(_ call: Call, _ name: String) throws(JournalError) -> (isDead: Bool, error: JournalError?) {
        if isObserved { return (false, nil) }
        calls += 1
        file = name
        if calls >= lastCall {
            guard calls == lastCall else { throw .inputOutput }
            onDeath()
            return (true, .inputOutput)
        }
        let error = fault(call)
        if error != nil { failures += 1 }
        return (false, error)
    }

    private func check(_ call: Call, _ name: String) throws(JournalError) {
        if let error = try begin(call, name).error { throw error }
    }

    package func open(_ name: String, _ purpose: LogFilePurpose) throws(JournalError) -> (any LogFile)? {
        try openFile(name, purpose)
    }

    func openFile(_ name: String, _ purpose: LogFilePurpose) throws(JournalError) -> File? {
        try check(.open, name)
        if let node = names[name] {
            let file = File(self, name, node)
            if purpose == .making, !node.bytes.isEmpty { try file.truncate(to: 0) }
            return file
        }
        guard purpose == .making else { return nil }
        let node = Node()
        names[name] = node
        version += 1
        return File(self, name, node)
    }

    package func remove(_ name: String) throws(JournalError) {
        try check(.remove, name)
        names[name] = nil
        version += 1
    }

    package func syncDirectory() throws(JournalError) {
        try check(.syncDirectory, "")
        syncedNames = names
    }

    package func isInPlace(_ file: any LogFile, as name: String) -> Bool { names[name] === (file as? File)?.node }

    package func random() -> UInt32 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt32(truncatingIfNeeded: state >> 32)
    }

    package var used: Int { names.values.reduce(0) { $0 + $1.bytes.count } }
    package var freeSpace: Int? { space == .max || isObserved ? nil : max(0, space - used) }

    final class File: LogFile {
        let disk: MadeUpDisk
        let name: String
        fileprivate let node: Node
        private var isOpen = true

        fileprivate init(_ disk: MadeUpDisk, _ name: String, _ node: Node) {
            self.disk = disk
            self.name = name
            self.node = node
        }

        func size() throws(JournalError) -> Int {
            try disk.check(.size, name)
            return node.bytes.count
        }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int {
            precondition(isOpen)
            try disk.check(.read, name)
            if let pages = disk.unreadable[name], !buffer.isEmpty {
                let touched = offset / 4096...(offset + buffer.count - 1) / 4096
                if pages.contains(where: touched.contains) { throw .inputOutput }
            }
            let count = min(buffer.count, max(0, node.bytes.count - offset))
            if count > 0, let base = buffer.baseAddress {
                _ = node.bytes.withUnsafeBytes { memcpy(base, $0.baseAddress! + offset, count) }
            }
            return count
        }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(JournalError) {
            precondition(isOpen)
            var error = try disk.begin(.write, name).error
            var count = bytes.count
            // The first half is written, in whole sectors or not.
            if let error { count = error == .readOnly ? 0 : count / 2 }
            let room = disk.freeSpace.map { $0 + node.bytes.count - offset } ?? .max
            if count > room, offset + count > node.bytes.count {
                count = max(0, room)
                error = error ?? .diskFull
            }
            if count > 0 { put(Piece(offset: offset, bytes: Array(bytes.prefix(count)))) }
            if let error { throw error }
        }

        private func put(_ piece: Piece) {
            piece.apply(to: &node.bytes)
            node.pieces.append(piece)
            disk.version += 1
        }

        func truncate(to size: Int) throws(JournalError) {
            precondition(isOpen)
            try disk.check(.truncate, name)
            put(Piece(offset: size, bytes: nil))
        }

        func sync() throws(JournalError) {
            precondition(isOpen)
            let (isDead, error) = try disk.begin(.sync, name)
            if let error {
                // The kernel takes for written what it could not write.
                guard !isDead else { throw error }
                // Half of it never reaches the disk.
                let sectors = node.pieces.flatMap(\.sectors)
                node.pieces = sectors.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
                throw error
            }
            for piece in node.pieces { piece.apply(to: &node.synced) }
            node.pieces = []
        }

        func close() { isOpen = false }
    }
}
