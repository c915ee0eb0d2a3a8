import Glibc
import NotifyClient
import Routing
import TOMLTables
import Testing

@testable import NotifyDaemon

/// Whatever is in a configuration, it is taken or refused with a place, within a second and without much of the stack.
struct ConfigurationLimitTests {
    struct Excess: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let place: String
        let word: String
        var testDescription: String { name }
    }

    private static func route(_ key: String, _ value: String) -> String {
        "[[route]]\ntopic = \"/a\"\n\(key) = \(value)\n"
    }
    private static func times(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static let excesses = [
        Excess(
            name: "5,000 nested sections", text: route("title", "\"\(times("{{#a}}", 5000))\(times("{{/a}}", 5000))\""),
            place: "3:1", word: "'title' must have at most 8192 bytes; it has 60000"),
        Excess(
            name: "300 nested sections", text: route("title", "\"\(times("{{#a}}", 300))\(times("{{/a}}", 300))\""),
            place: "3:1", word: "sections are at most 16 deep"),
        Excess(
            name: "20,000 tags", text: route("body", "\"\(times("{{a}}", 20_000))\""), place: "3:1",
            word: "'body' must have at most 8192 bytes; it has 100000"),
        Excess(name: "500 tags", text: route("body", "\"\(times("{{a}}", 500))\""), place: "3:1", word: "500 tags"),
        Excess(
            name: "a long tag", text: route("body", "\"{{\(times("a(", 1000))}}\""), place: "3:1",
            word: "a tag has 2000 bytes"),
        Excess(
            name: "other delimiters", text: route("body", "\"{{=< >=}}\(times("<#a>", 500))\""), place: "3:1",
            word: "cannot be changed"),
        Excess(
            name: "a dotted key of 1 MB", text: times("a.", 500_000) + "a = 1\n", place: "1:33",
            word: "at most 16 names"),
        Excess(
            name: "a header of 1 MB", text: "[" + times("a.", 500_000) + "a]\n", place: "1:34", word: "at most 16 names"
        ),
        Excess(name: "a long key", text: times("a", 1_000_000) + " = 1\n", place: "1:1", word: "at most 256 bytes"),
        Excess(name: "deep lists", text: "a = " + times("[", 1_000_000), place: "1:21", word: "at most 16 deep"),
        Excess(
            name: "deep tables", text: "a = " + times("{a=", 300_000), place: "1:53", word: "at most 16 deep"),
        Excess(
            name: "a long string", text: route("icon", "\"\(times("a", 1_000_000))\""), place: "3:1",
            word: "at most 8192"),
        Excess(
            name: "many routes", text: (0...2000).map { "[[route]]\ntopic = \"/a/\($0)\"\n" }.joined(), place: "4001:1",
            word: "at most 2000"),
        Excess(
            name: "many rules", text: times("[[policy]]\ndeny = [\"claim\"]\n", 50_000), place: "2001:1",
            word: "at most 1000"),
        Excess(
            name: "many schedules", text: times("[[quiet]]\nfrom = \"22:00\"\nto = \"07:00\"\n", 5000), place: "193:1",
            word: "at most 64"),
        Excess(
            name: "many topics of a schedule",
            text: "[[quiet]]\nfrom = \"22:00\"\nto = \"07:00\"\ntopics = [\"/a\",\n\(times("\"/a\",\n", 100))]\n",
            place: "68:1", word: "at most 64"),
        Excess(
            name: "tags of many routes",
            text: (0..<200).map { "[[route]]\ntopic = \"/a/\($0)\"\nbody = \"\(times("{{topic}}", 200))\"\n" }.joined(),
            place: "148:1", word: "at most 10000"),
        Excess(
            name: "many actions", text: route("actions", "[" + times("{key='a',label='a'},", 10_000) + "]"),
            place: "3:652", word: "at most 32"),
        Excess(
            name: "many words", text: route("actions", "[{key='a',label='a',exec=[" + times("'a',", 100_000) + "]}]"),
            place: "3:1061", word: "at most 256"),
        Excess(
            name: "many mistakes", text: times("a\n", 500_000), place: "1:2", word: "= is missing here"),
        Excess(
            name: "many unknown keys", text: (0..<80_000).map { "a\($0) = 1\n" }.joined(), place: "1:1",
            word: "no key 'a0'"),
        Excess(
            name: "many tables", text: (0..<80_000).map { "[a\($0)]\n" }.joined(), place: "1:1", word: "no key 'a0'"),
    ]

    @Test(arguments: excesses)
    func whatIsTooMuchIsRefusedWithItsPlaceInLessThanASecond(_ excess: Excess) {
        let start = Self.processorTime
        var reader = ConfigurationReader()
        reader.add(file: "test.toml", text: excess.text)
        let error = #expect(throws: ConfigurationError.self) { try reader.finish() }
        #expect(Self.processorTime - start < Self.limit * Double(Timeouts.factor))
        let found = error?.mistakes.first { $0.reason.contains(excess.word) }
        #expect(found.map { "\($0.line):\($0.column)" } == excess.place, "\(String(describing: error))")
        #expect((error?.description.utf8.count ?? 0) < 30_000)
    }

    #if DEBUG
        /// Without the optimizer everything takes many times as long.
        private static let limit = 5.0
    #else
        private static let limit = 1.0
    #endif

    /// Seconds of this thread, which do not depend on what else the machine does.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test func readingAThousandTimesTakesNoMemory() throws {
        func read(_ number: Int) {
            var reader = ConfigurationReader()
            let routes = (0..<20).map {
                "[[route]]\ntopic = \"/a/\($0)/\(number)\"\nicon = \"\(Self.times("x", 500))\"\n"
            }
            reader.add(file: "test.toml", text: routes.joined() + (number % 2 == 0 ? "" : "bad = \n"))
            _ = try? reader.finish()
        }
        for number in 0..<100 { read(number) }
        let before = try residentBytes()
        for number in 100..<1100 { read(number) }
        // Every text has 10 KB.
        #expect(try residentBytes() - before < 4 << 20)
    }

    private func residentBytes() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "re"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = fread(&bytes, 1, bytes.count, file)
        let pages = try #require(
            String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").dropFirst().first)
        return try #require(Int(pages)) * Int(getpagesize())
    }

    @Test func filesHaveALimitTogether() {
        var many = ConfigurationReader()
        for number in 0...256 { many.add(file: "\(number).toml", text: "") }
        #expect(throws: ConfigurationError.self) { try many.finish() }
        var large = ConfigurationReader()
        for number in 0...4 { large.add(file: "\(number).toml", text: Self.times("# a\n", 250_000)) }
        let error = #expect(throws: ConfigurationError.self) { try large.finish() }
        #expect(error?.mistakes.map(\.file) == ["4.toml"])
    }

    @Test func whatIsUsualIsFarFromTheLimits() throws {
        var reader = ConfigurationReader()
        let text = (0..<1000).map {
            "[[route]]\ntopic = \"/a/\($0)/{id}\"\ntitle = "
                + "\"{{#title}}{{title}}{{/title}}{{^title}}{{id}}{{/title}}\"\n"
        }.joined()
        reader.add(file: "test.toml", text: text)
        #expect(try reader.finish().routes.routes.count == 1007)
    }
}
