import Journal

/// A disk in memory, with everything that can go wrong with one: it loses what was not synced when the power goes,
/// sector by sector, refuses calls, has an end, and flips bits.
///
/// It knows nothing of the log, and needs no test to run in.
final class MadeUpDisk: LogDisk {
    enum Call: Equatable {
        case open, remove, syncDirectory, size, read, write, truncate, sync
    }

    /// What the disk does when a call fails. A part of what was to be written is written.
    var fault: (Call) -> JournalError? = { _ in nil }
    /// The calls so far.
    private(set) var calls = 0
    /// The calls that `fault` made fail.
    private(set) var failures = 0
    /// From this call on, nothing has an effect: the process is dead. The call itself may have part of its effect.
    var lastCall = Int.max
    /// What all files may have together, in bytes.
    var space = Int.max
    /// Pages of 4,096 bytes of files that cannot be read.
    var unreadable: [String: Set<Int>] = [:]
    private var state: UInt64

    fileprivate final class Node {
        /// What is read.
        var bytes: [UInt8]
        /// What is on the disk for certain.
        var synced: [UInt8]
        /// What was written since.
        var pieces: [Piece] = []

        init(_ bytes: [UInt8] = []) {
            self.bytes = bytes
            synced = bytes
        }
    }

    /// A write of at most a sector, or a new size.
    fileprivate struct Piece {
        let offset: Int
        /// `nil`: the file ends at `offset`, or has zeros up to there.
        let bytes: [UInt8]?

        func apply(to file: inout [UInt8]) {
            let end = offset + (bytes?.count ?? 0)
            if file.count < end { file.append(contentsOf: repeatElement(0, count: end - file.count)) }
            if let bytes {
                file.replaceSubrange(offset..<end, with: bytes)
            } else {
                file.removeLast(file.count - end)
            }
        }
    }

    private var names: [String: Node] = [:]
    private var syncedNames: [String: Node] = [:]

    init(seed: UInt64 = 1) {
        state = seed
    }

    /// A disk with the same files, all of them synced.
    func copy() -> MadeUpDisk {
        let copy = MadeUpDisk(seed: state)
        for (name, node) in names { copy[name] = node.bytes }
        return copy
    }

    /// The contents of a file; `nil` if there is none.
    subscript(name: String) -> [UInt8]? {
        get { names[name]?.bytes }
        set {
            names[name] = newValue.map { Node($0) }
            syncedNames[name] = names[name]
        }
    }

    var files: [String] { names.keys.sorted() }

    /// What is not synced, in pieces that the power cut takes or leaves.
    var unsynced: Int { ordered.reduce(0) { $0 + $1.pieces.count } + changedNames.count }

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
    func cutPower(_ isKept: (_ piece: Int) -> Bool) {
        var piece = 0
        func take() -> Bool {
            defer { piece += 1 }
            return isKept(piece)
        }
        for node in ordered {
            for piece in node.pieces where take() { piece.apply(to: &node.synced) }
            node.pieces = []
        }
        for name in changedNames where take() { syncedNames[name] = names[name] }
        names = syncedNames
        for node in names.values { node.bytes = node.synced }
        live()
    }

    /// Begins another life after a kill: nothing is lost that was written.
    func live() {
        lastCall = .max
        fault = { _ in nil }
    }

    /// - Returns: whether the call has an effect, or part of one.
    private func begin(_ call: Call) throws(JournalError) -> (isDead: Bool, error: JournalError?) {
        calls += 1
        if calls >= lastCall {
            guard calls == lastCall else { throw .inputOutput }
            return (true, .inputOutput)
        }
        let error = fault(call)
        if error != nil { failures += 1 }
        return (false, error)
    }

    private func check(_ call: Call) throws(JournalError) {
        if let error = try begin(call).error { throw error }
    }

    func open(_ name: String, _ purpose: LogFilePurpose) throws(JournalError) -> (any LogFile)? {
        try check(.open)
        if let node = names[name] {
            let file = File(self, name, node)
            if purpose == .making, !node.bytes.isEmpty { try file.truncate(to: 0) }
            return file
        }
        guard purpose == .making else { return nil }
        let node = Node()
        names[name] = node
        return File(self, name, node)
    }

    func remove(_ name: String) throws(JournalError) {
        try check(.remove)
        names[name] = nil
    }

    func syncDirectory() throws(JournalError) {
        try check(.syncDirectory)
        syncedNames = names
    }

    func random() -> UInt32 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt32(truncatingIfNeeded: state >> 32)
    }

    private var used: Int { names.values.reduce(0) { $0 + $1.bytes.count } }

    private final class File: LogFile {
        private let disk: MadeUpDisk
        private let name: String
        private let node: Node
        private var isOpen = true

        init(_ disk: MadeUpDisk, _ name: String, _ node: Node) {
            self.disk = disk
            self.name = name
            self.node = node
        }

        func size() throws(JournalError) -> Int {
            try disk.check(.size)
            return node.bytes.count
        }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(JournalError) -> Int {
            precondition(isOpen)
            try disk.check(.read)
            if let pages = disk.unreadable[name], !buffer.isEmpty {
                let touched = offset / 4096...(offset + buffer.count - 1) / 4096
                if pages.contains(where: touched.contains) { throw .inputOutput }
            }
            let part = node.bytes[min(offset, node.bytes.count)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            return part.count
        }

        func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(JournalError) {
            precondition(isOpen)
            var error = try disk.begin(.write).error
            var bytes = Array(bytes)
            // The first half is written, in whole sectors or not.
            if error != nil { bytes.removeLast(bytes.count - bytes.count / 2) }
            let room = disk.space == .max ? Int.max : disk.space - disk.used + node.bytes.count - offset
            if bytes.count > room, offset + bytes.count > node.bytes.count {
                bytes.removeLast(bytes.count - max(0, room))
                error = error ?? .diskFull
            }
            put(bytes, at: offset)
            if let error { throw error }
        }

        private func put(_ bytes: [UInt8], at offset: Int) {
            guard !bytes.isEmpty else { return }
            Piece(offset: offset, bytes: bytes).apply(to: &node.bytes)
            var start = 0
            while start < bytes.count {
                let end = min(bytes.count, (offset + start) / 512 * 512 + 512 - offset)
                node.pieces.append(Piece(offset: offset + start, bytes: Array(bytes[start..<end])))
                start = end
            }
        }

        func truncate(to size: Int) throws(JournalError) {
            precondition(isOpen)
            try disk.check(.truncate)
            let piece = Piece(offset: size, bytes: nil)
            piece.apply(to: &node.bytes)
            node.pieces.append(piece)
        }

        func sync() throws(JournalError) {
            precondition(isOpen)
            let (isDead, error) = try disk.begin(.sync)
            if let error {
                // The kernel takes what it could not write for written: half of it never reaches the disk.
                if !isDead { node.pieces = node.pieces.enumerated().filter { $0.offset % 2 == 1 }.map(\.element) }
                throw error
            }
            for piece in node.pieces { piece.apply(to: &node.synced) }
            node.pieces = []
        }

        func close() { isOpen = false }
    }
}
