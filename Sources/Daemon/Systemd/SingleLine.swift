extension String {
    /// This text as one line: each character that ends a line or controls a terminal becomes a space.
    ///
    /// Line-based protocols, such as sd_notify(3) and a log on standard error, would read the rest as another
    /// statement.
    public var asSingleLine: String {
        guard unicodeScalars.contains(where: \.breaksLine) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.breaksLine ? " " : $0 }))
    }

    /// The longest beginning of this text that takes at most so many bytes.
    ///
    /// - Parameter bytes: counted as UTF-8; an ellipsis stands for what is left out.
    func shortened(toBytes bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        var kept = ""
        var count = "…".utf8.count
        for character in self {
            count += character.utf8.count
            guard count <= bytes else { break }
            kept.append(character)
        }
        return kept + "…"
    }
}

extension Unicode.Scalar {
    fileprivate var breaksLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
