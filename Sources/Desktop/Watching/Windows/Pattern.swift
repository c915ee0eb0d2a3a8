import CPCRE2

/// A regular expression in the syntax of Perl, compiled and matched by PCRE2 as sway and i3 do: in UTF mode, and with
/// `\w`, `\d` and `\b` as Unicode has them. `.` stands for a line feed too, and `$` for nothing but the end.
///
/// Others choose the texts that are matched, and PCRE2 backtracks: with a pattern such as `(a+)+b`, a text could keep
/// it busy for ever. So it is given up after a number of steps, which takes some 20 milliseconds at most with patterns
/// people write.
public struct Pattern: Sendable {
    /// Unicode scalars of a text that are looked at, unless more are asked for. What is behind them is not seen, also
    /// not by `$`.
    public static let longestSubject = 512
    /// Bytes of a pattern.
    static let longestText = 4096

    /// What came of matching a text.
    public enum Outcome: Equatable, Sendable {
        /// What each named capture has taken, without those that took no part.
        case match([String: String])
        case noMatch
        /// The text would take too many steps. It counts as no match, and is worth a line in the log, once for a
        /// pattern.
        case gaveUp
    }

    /// The pattern as text.
    public let description: String
    /// The names of the captures, from the left.
    public let captureNames: [String]
    private let code: Code
    private let captures: [(name: String, number: Int)]

    /// - Throws: what is wrong, and where.
    public init(_ text: String) throws(PatternError) {
        guard text.utf8.count <= Self.longestText else {
            throw PatternError(reason: "a pattern has at most \(Self.longestText) bytes", position: 0)
        }
        description = text
        code = try Code(text)
        captures = code.captures()
        var names: [String] = []
        for (name, _) in captures where !names.contains(name) { names.append(name) }
        captureNames = names
    }

    /// Finds the pattern anywhere in a text, and as far left as it is.
    ///
    /// - Parameter longest: Unicode scalars of the text that are looked at.
    public func match(_ subject: String, upTo longest: Int = longestSubject) -> Outcome {
        guard let data = pcre2_match_data_create_from_pattern_8(code.code, nil) else { return .gaveUp }
        defer { pcre2_match_data_free_8(data) }
        var subject = subject
        return subject.withUTF8 { bytes in
            let length = Self.length(bytes, longest)
            // A string of Swift is valid.
            let count = pcre2_match_8(
                code.code, bytes.baseAddress, length, 0, PCRE2_NO_UTF_CHECK, data, code.limits)
            guard count >= 0 else { return count == PCRE2_ERROR_NOMATCH ? .noMatch : .gaveUp }
            guard let offsets = pcre2_get_ovector_pointer_8(data) else { return .gaveUp }
            var found: [String: String] = [:]
            // With (?J), two captures may have one name; the one that took part counts.
            for (name, number) in captures where found[name] == nil {
                // Both are PCRE2_UNSET, which is -1 here, if it took no part.
                let (start, end) = (offsets[2 * number], offsets[2 * number + 1])
                guard start >= 0, start <= end, end <= length else { continue }
                found[name] = String(decoding: bytes[start..<end], as: UTF8.self)
            }
            return .match(found)
        }
    }

    /// Bytes of a text that are looked at.
    private static func length(_ bytes: UnsafeBufferPointer<UInt8>, _ longest: Int) -> Int {
        guard bytes.count > longest else { return bytes.count }
        var scalars = 0
        return bytes.firstIndex { byte in
            scalars += byte & 0xC0 == 0x80 ? 0 : 1
            return scalars > longest
        } ?? bytes.count
    }
}

extension Pattern: CustomStringConvertible, Equatable {
    public static func == (left: Pattern, right: Pattern) -> Bool {
        left.description.utf8.elementsEqual(right.description.utf8)
    }
}

/// Why a text is not a pattern.
public struct PatternError: Error, Equatable, CustomStringConvertible {
    /// What is wrong, mostly in the words of PCRE2.
    public let reason: String
    /// Unicode scalars of the pattern that were read when it was noticed.
    public let position: Int

    public var description: String {
        let place = position == 0 ? "at the beginning" : "after character \(position)"
        return "\(reason) (\(place) of the regular expression)"
    }
}

/// A compiled pattern.
///
/// It is `Sendable` because nothing is changed after `init`: PCRE2 only reads both in a match.
private final class Code: @unchecked Sendable {
    /// Steps of a match, at each place of the text where it may begin. A text of 512 scalars and a pattern that fits it
    /// by trying two repetitions take fewer.
    private static let mostSteps: UInt32 = 10_000
    /// Memory of a match, in KiB.
    private static let mostMemory: UInt32 = 4096

    let code: OpaquePointer
    let limits: OpaquePointer

    init(_ text: String) throws(PatternError) {
        var (number, offset) = (CInt(0), 0)
        var copy = text
        let options = PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C
        let compiled = copy.withUTF8 { pcre2_compile_8($0.baseAddress, $0.count, options, &number, &offset, nil) }
        guard let compiled else { throw Self.error(number, after: text.utf8.prefix(offset)) }
        guard let context = pcre2_match_context_create_8(nil) else {
            pcre2_code_free_8(compiled)
            throw PatternError(reason: "there is not enough memory for it", position: 0)
        }
        pcre2_set_match_limit_8(context, Self.mostSteps)
        pcre2_set_depth_limit_8(context, Self.mostSteps)
        pcre2_set_heap_limit_8(context, Self.mostMemory)
        code = compiled
        limits = context
    }

    deinit {
        pcre2_match_context_free_8(limits)
        pcre2_code_free_8(code)
    }

    private static func error(_ number: CInt, after text: Substring.UTF8View) -> PatternError {
        // PCRE2's longest message has 119 characters.
        var buffer = [UInt8](repeating: 0, count: 256)
        pcre2_get_error_message_8(number, &buffer, buffer.count)
        var reason = String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
        if number == PCRE2_ERROR_UNSUPPORTED_ESCAPE_SEQUENCE {
            reason += "; a character by its number is written \\x{20AC}"
        }
        return PatternError(reason: reason, position: text.count { $0 & 0xC0 != 0x80 })
    }

    /// The names of captures and their numbers, from the left.
    func captures() -> [(name: String, number: Int)] {
        var (count, size) = (UInt32(0), UInt32(0))
        var table: UnsafePointer<UInt8>?
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMECOUNT), &count)
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMEENTRYSIZE), &size)
        pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_NAMETABLE), &table)
        guard let table else { return [] }
        // An entry has the number in two bytes, and the name, which ends with a zero.
        let entries = (0..<Int(count)).map { UnsafeBufferPointer(start: table + $0 * Int(size), count: Int(size)) }
        return
            entries.map {
                (String(decoding: $0.dropFirst(2).prefix { $0 != 0 }, as: UTF8.self), Int($0[0]) << 8 | Int($0[1]))
            }
            .sorted { $0.1 < $1.1 }
    }
}
