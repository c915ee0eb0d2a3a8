import ArgumentParser
import NotifyVersion

@main
struct NotifyctlCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifyctl",
        abstract: "Send, hear and claim push notifications on the local event bus.",
        discussion: """
            Topics are paths such as /post/27; wherever topics are listened to, what is below them is meant as well, \
            and / means every topic. Times are written like 100ms, 5s, 10m or 2h.

            Exit codes: 0 done, 1 nothing matched or time ran out, 64 wrong usage, 65 bad data, 69 no bus or no daemon, \
            77 refused, 78 bad configuration.

            Examples:
              notifyctl send post 27 "Nice!" --wait
              notifyctl listen /post
              notifyctl screen /post/27
              notifyctl history -n 5
            The manual page notifyctl(1) says it all; “notifyctl demo” shows it.
            """,
        version: projectVersion,
        subcommands: [
            SendCommand.self, ListenCommand.self, ScreenCommand.self, ClaimCommand.self, ClaimTopicCommand.self,
            PassCommand.self, WatchCommand.self, HistoryCommand.self, ShowCommand.self, WhyCommand.self,
            ReplayCommand.self,
            MuteCommand.self, PauseCommand.self, ResumeCommand.self, StatusCommand.self, TopCommand.self,
            DoctorCommand.self, ConfigCommand.self, DemoCommand.self,
        ])
}
