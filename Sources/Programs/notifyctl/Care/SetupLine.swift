import ArgumentParser
import Glibc
import UserFiles

/// A line that “setup” has written into a file of the user's, such as `~/.bashrc`. The comment at its end says which
/// part it turns on, and what else has to be undone so that the file is afterwards as it was before, byte for byte.
enum MarkedText {
    private enum Note: String {
        case none = ""
        case unterminated = ", after a line without a newline"
        case newFile = ", in a new file"
    }

    private static let mark = " # notifyctl setup "
    private static let newline = UInt8(ascii: "\n")

    /// - Parameters:
    ///   - old: the bytes of the file, which need not be UTF-8; `nil` if there is none.
    /// - Returns: the bytes with the line, which takes the place of an older one of the part.
    static func adding(_ line: String, for part: String, to old: [UInt8]?) -> [UInt8] {
        func marked(_ note: Note) -> ArraySlice<UInt8> { Array((line + mark + part + note.rawValue).utf8)[...] }
        guard let old else { return marked(.newFile) + [newline] }
        var lines = lines(of: old)
        if let place = place(of: part, in: lines) {
            lines[place.index] = marked(place.note)
        } else if lines[lines.count - 1].isEmpty {
            lines.insert(marked(.none), at: lines.count - 1)
        } else {
            lines += [marked(.unterminated), []]
        }
        return joined(lines)
    }

    /// - Returns: the bytes without the line; `nil` if the file was made for it, and nothing else is in it.
    static func removing(_ part: String, from old: [UInt8]) -> [UInt8]? {
        var lines = lines(of: old)
        guard let (index, note) = place(of: part, in: lines) else { return old }
        // Somebody's editor may have left out the last newline.
        if index == lines.count - 1 { lines.append([]) }
        lines.remove(at: index)
        if note != .none, let next = Self.part(of: lines[index]), next.note == .none {
            // What is to be undone is left to the line of another part.
            lines[index] += Array(note.rawValue.utf8)
        } else if note == .newFile, lines.count == 1 {
            return nil
        } else if note == .unterminated, index == lines.count - 1, lines[index].isEmpty {
            lines.removeLast()
        }
        return joined(lines)
    }

    /// The line of a part without its comment; `nil` if there is none.
    static func line(of part: String, in old: [UInt8]) -> String? {
        let lines = lines(of: old)
        guard let index = place(of: part, in: lines)?.index else { return nil }
        let text = String(decoding: lines[index], as: UTF8.self)
        return text.ranges(of: mark).last.map { String(text[..<$0.lowerBound]) }
    }

    /// Whether somebody has written such a line by hand.
    static func hasByHand(_ words: String, in text: [UInt8]) -> Bool {
        lines(of: text).contains { line in
            let text = String(decoding: line, as: UTF8.self)
            return text.contains(words) && part(of: line) == nil && text.first { $0 != " " && $0 != "\t" } != "#"
        }
    }

    private static func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split(separator: newline, omittingEmptySubsequences: false)
    }

    private static func joined(_ lines: [ArraySlice<UInt8>]) -> [UInt8] { Array(lines.joined(separator: [newline])) }

    private static func place(of part: String, in lines: [ArraySlice<UInt8>]) -> (index: Int, note: Note)? {
        for (index, line) in lines.enumerated() {
            if let found = Self.part(of: line), found.name == part { return (index, found.note) }
        }
        return nil
    }

    private static func part(of line: ArraySlice<UInt8>) -> (name: Substring, note: Note)? {
        let text = String(decoding: line, as: UTF8.self)
        guard let words = text.ranges(of: mark).last.map({ text[$0.upperBound...] }) else { return nil }
        let name = words.prefix { $0 != "," }
        return Note(rawValue: String(words[name.endIndex...])).map { (name, $0) }
    }
}

/// The line of one part in one file.
struct SetupLine: Equatable {
    let part: String
    let path: String
    let text: String
    /// The path of the program, or its folder, as it stands in the text.
    let program: String
    /// What such a line has if somebody has written it by hand.
    var words: String?

    /// Below the user's configuration.
    static let environmentFile = "/environment.d/60-notifyd.conf"
    private static let longestFile = 4 << 20

    /// environment.d(5) has no comments at the end of a line, so nothing else is in that file.
    private var isAlone: Bool { path.hasSuffix(Self.environmentFile) }
    private var heading: String { "# notifyctl setup \(part)\n" }

    private func read() throws -> [UInt8]? {
        do throws(FileKind.Failure) {
            let text = try FileKind.read(path, atMost: Self.longestFile + 1)
            if text?.count ?? 0 <= Self.longestFile { return text }
        } catch {
            throw Complaint(.refused, "\(path) cannot be read: \(error).")
        }
        throw Complaint(.refused, "\(path) is longer than 4 MiB, and was left alone.")
    }

    /// The lines before the one that “setup” has written, that one, and those after it; `nil` if it has written none.
    private func parts(of old: [UInt8]) -> (before: [UInt8], line: String, after: [UInt8])? {
        guard let heading = old.firstRange(of: heading.utf8) else { return nil }
        let line = old[heading.upperBound...].prefix { $0 != UInt8(ascii: "\n") }
        return (
            Array(old[..<heading.lowerBound]), String(decoding: line, as: UTF8.self),
            Array(old[line.endIndex...].dropFirst())
        )
    }

    /// What “setup” has written, and perhaps somebody has edited.
    private func written(in old: [UInt8]) -> String? {
        isAlone ? parts(of: old)?.line : MarkedText.line(of: part, in: old)
    }

    private func isOwn(_ line: String) -> Bool { line.utf8.elementsEqual(text.utf8) }

    /// Whether a line is one that a notifyctl in another folder writes.
    private func isOfAnotherFolder(_ line: String) -> Bool {
        let pieces = text.split(separator: program, omittingEmptySubsequences: false).map { Array($0.utf8) }
        let line = Array(line.utf8)
        let (places, rest) = (pieces.count - 1, line.count - pieces.reduce(0) { $0 + $1.count })
        guard places > 0, rest > 0, rest % places == 0 else { return false }
        let other = line.dropFirst(pieces[0].count).prefix(rest / places)
        return [UInt8(ascii: "/"), UInt8(ascii: "'")].contains(other.first) && !other.contains(UInt8(ascii: ":"))
            && Array(pieces.joined(separator: other)) == line
    }

    private func added(to old: [UInt8]?) -> [UInt8] {
        guard isAlone else { return MarkedText.adding(text, for: part, to: old) }
        let parts = old.flatMap(parts)
        return (parts?.before ?? []) + Array((heading + text + "\n").utf8) + (parts?.after ?? [])
    }

    /// Whether the line is in the file, or one like it that somebody has written.
    func isThere() throws -> Bool {
        guard let old = try read() else { return false }
        guard let line = written(in: old) else { return words.map { MarkedText.hasByHand($0, in: old) } ?? false }
        return isOwn(line)
            || !isOfAnotherFolder(line) && words.map { MarkedText.hasByHand($0, in: Array(line.utf8)) } ?? false
    }

    private func isEdited(_ line: String) -> Complaint {
        Complaint(.refused, "The line of “setup \(part)” in \(path) was edited, and was left alone: \(line)")
    }

    /// Why the line cannot be written into a file, as words that follow its path; `nil` if it can.
    private func obstacle(in old: [UInt8]?) -> String? {
        var status = stat()
        if stat(path, &status) == 0, status.st_nlink > 1 {
            return "has another name as well (a hard link), which would keep the old text"
        }
        guard let old, !old.isEmpty, written(in: old) == nil else { return nil }
        if isAlone { return "is not a file of “setup”" }
        let end = old.last == UInt8(ascii: "\n") ? old.dropLast() : old[...]
        // An even number of them stands for itself.
        let backslashes = end.reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        return backslashes % 2 == 0 ? nil : "ends with a ‘\\’, which would join the next line to the last one"
    }

    /// - Throws: `Complaint`, also if somebody has edited the line.
    func write() throws {
        let old = try read()
        if let line = old.flatMap(written), !isOwn(line), !isOfAnotherFolder(line) { throw isEdited(line) }
        do {
            if let obstacle = obstacle(in: old) { throw Complaint(.refused, "\(path) \(obstacle).") }
            try WholeFile.replace(path, with: added(to: old), mode: 0o644)
        } catch let error as Complaint {
            throw Complaint(error.code, lines: error.lines + ["Write this line into it yourself: \(text)"])
        }
    }

    /// Takes the line of this notifyctl out. That of one in another folder stays, and so do folders that are empty
    /// then: they may have been there before.
    ///
    /// - Returns: whether it was there.
    /// - Throws: `Complaint`, also if somebody has edited the line.
    func remove() throws -> Bool {
        guard let old = try read(), let line = written(in: old) else { return false }
        guard isOwn(line) else {
            if isOfAnotherFolder(line) { return false }
            throw isEdited(line)
        }
        let others = isAlone ? parts(of: old).map { $0.before + $0.after } : MarkedText.removing(part, from: old)
        let rest = isAlone && others?.isEmpty == true ? nil : others
        // A link stays, and so does what it leads to.
        guard let rest = rest ?? (FileFacts.link(at: path) == nil ? nil : []) else {
            guard unlink(path) == 0 else {
                throw Complaint(.refused, "\(path) cannot be removed: \(String(cString: strerror(errno))).")
            }
            return true
        }
        try WholeFile.replace(path, with: rest)
        return true
    }
}
