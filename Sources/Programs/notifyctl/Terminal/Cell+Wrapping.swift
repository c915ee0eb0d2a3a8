extension Cell {
    /// Lines, wrapped between words. A word longer than a line is not broken.
    func wrapped(to width: Int) -> [Cell] {
        if columns <= width { return [self] }
        var lines: [Cell] = []
        for word in words {
            if let last = lines.last, last.columns + 1 + word.columns <= width {
                lines[lines.count - 1] = last + Cell(" ") + word
            } else {
                lines.append(word)
            }
        }
        return lines.isEmpty ? [self] : lines
    }

    /// Lines, wrapped between words; a word longer than a line is broken.
    func folded(to width: Int) -> [Cell] {
        wrapped(to: width).flatMap { $0.columns <= width ? [$0] : $0.broken(at: width) }
    }
}

extension Columns {
    /// Lines in two columns without cutting: the second column wraps, below the first one if there is little room
    /// beside it.
    ///
    /// - Parameter limit: the width of a line; `nil`: each row is one line.
    static func wrapped(_ rows: [[Cell]], indentation: String = "", within limit: Int?) -> [String] {
        guard let limit else { return lines(rows, indentation: indentation, within: nil) }
        let first = rows.map { $0[0].columns }.max() ?? 0
        let beside = limit - indentation.columns - first - 2
        let isBeside = beside >= 20 || rows.allSatisfy { $0[1].columns <= beside }
        return rows.flatMap { row in
            guard isBeside || row[1].columns <= beside else {
                return lines([[row[0]]], indentation: indentation, within: nil)
                    + row[1].wrapped(to: limit - indentation.columns - 2).flatMap {
                        lines([[$0]], indentation: indentation + "  ", within: nil)
                    }
            }
            let texts = row[1].wrapped(to: beside)
            let labels = [row[0]] + Array(repeating: Cell(""), count: texts.count - 1)
            let filler = String(repeating: " ", count: first)
            return zip(labels, texts).map { label, text in
                indentation + label.written().text + String(filler.dropFirst(label.columns)) + "  "
                    + text.written().text
            }
        }
    }
}
