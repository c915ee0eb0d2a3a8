extension String {
    /// Whether it has no letter, no digit and no symbol: white space and punctuation are what a template leaves of a
    /// message that has nothing of what it names.
    package var saysNothing: Bool {
        unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .connectorPunctuation,
                .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation,
                .otherPunctuation, .nonspacingMark, .enclosingMark, .spacingMark:
                true
            default: false
            }
        }
    }
}
