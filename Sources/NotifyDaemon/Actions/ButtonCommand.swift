import Logging

/// The command of a pressed button, with all that it is to know.
struct ButtonCommand {
    /// The program, which is found in `PATH`, and its arguments, which are passed as they are.
    let vector: [String]
    /// For people who look at what runs.
    let description: String
    /// Added to the environment it would have anyway.
    let environment: [(name: String, value: String)]
    /// What belongs to every record about it.
    let data: Logger.Metadata
}
