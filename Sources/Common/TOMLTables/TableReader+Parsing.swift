package import Routing

/// Texts that stand for something else.
extension TableReader {
    /// What a text stands for. The error of parsing it is the mistake.
    package mutating func parsed<Content, Failure: Error>(
        _ key: String, _ parse: (String) throws(Failure) -> Content
    ) -> Content? {
        guard let text = string(key) else { return nil }
        do throws(Failure) {
            return try parse(text)
        } catch {
            note(key, "'\(key)': \(error)")
            return nil
        }
    }

    /// Topics, or `/`.
    package mutating func prefixes(_ key: String) -> [TopicPrefix]? {
        strings(key)?.compactMap { text, offset in
            do throws(TopicError) {
                return try TopicPrefix(text)
            } catch {
                note(at: offset, "\(error)")
                return nil
            }
        }
    }
}
