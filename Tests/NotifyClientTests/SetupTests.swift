import ArgumentParser
import Glibc
import NotifyRehearsal
import Testing

@testable import notifyctl

/// What “setup” writes into the files of a user, and takes back.
struct SetupTests {
    private static let texts: [[UInt8]] = [
        [], Array("\n".utf8), Array("a\n".utf8), Array("a".utf8), Array("a\n\n".utf8), Array("é\r\nb\r\n".utf8),
        // Not UTF-8.
        [0xE9, 10, 0xFF], [0xE9, 0, 10],
    ]

    private func text(_ bytes: [UInt8]?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }

    private func isRefused(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return false
        } catch {
            return (error as? Complaint)?.code == .refused
        }
    }

    // MARK: One line

    @Test(arguments: texts) func aLineIsAtTheEndOnceAndIsTakenBackToTheByte(_ old: [UInt8]) {
        let new = MarkedText.adding("hook", for: "shell", to: old)
        #expect(new.starts(with: old) && text(new)?.hasSuffix("\n") == true)
        #expect(text(new)?.contains("hook # notifyctl setup shell") == true)
        #expect(MarkedText.adding("hook", for: "shell", to: new) == new)
        #expect(MarkedText.removing("shell", from: new) == old)
        #expect(MarkedText.removing("path", from: new) == new)
    }

    @Test(arguments: texts.map(Optional.some) + [nil], [["path", "shell"], ["shell", "path"]])
    func twoLinesAreTakenBackInEitherOrder(_ old: [UInt8]?, _ order: [String]) {
        var text = MarkedText.adding("one", for: "path", to: old)
        text = MarkedText.adding("two", for: "shell", to: text)
        let rest = MarkedText.removing(order[0], from: text)
        #expect(rest != nil && rest != text)
        #expect(MarkedText.removing(order[1], from: rest ?? []) == old)
    }

    @Test func aFileThatWasMadeForALineGoesWithItUnlessSomethingElseIsInIt() {
        let new = MarkedText.adding("hook", for: "tmux", to: nil)
        #expect(text(new) == "hook # notifyctl setup tmux, in a new file\n")
        #expect(MarkedText.removing("tmux", from: new) == nil)
        #expect(MarkedText.removing("tmux", from: new + Array("mine\n".utf8)) == Array("mine\n".utf8))
        // Somebody's editor has left out the last newline.
        #expect(MarkedText.removing("tmux", from: new.dropLast()) == nil)
    }

    @Test func aNewLineTakesThePlaceOfTheOldOne() {
        let old = MarkedText.adding("/old/hook", for: "shell", to: Array("a".utf8)) + Array("b\n".utf8)
        let new = MarkedText.adding("/new/hook", for: "shell", to: old)
        #expect(text(new) == "a\n/new/hook # notifyctl setup shell, after a line without a newline\nb\n")
        // What somebody has added since then needs the newline.
        #expect(text(MarkedText.removing("shell", from: new)) == "a\nb\n")
    }

    @Test func aLineThatSomebodyHasWrittenCounts() {
        func isThere(_ text: String) -> Bool { MarkedText.hasByHand("shell init bash", in: Array(text.utf8)) }
        #expect(isThere("a\n  eval \"$(notifyctl shell init bash)\"\n"))
        #expect(!isThere("  # eval \"$(notifyctl shell init bash)\"\nx # notifyctl setup shell\n"))
        #expect(!isThere("eval x shell init bash # notifyctl setup shell\n"))
    }

    // MARK: Files

    private func places(_ home: TemporaryFolder, _ shell: String, _ more: [String: String] = [:]) -> SetupPlaces {
        let environment = ["HOME": home.path, "SHELL": shell, "PATH": "/usr/bin:/bin"].merging(more) { $1 }
        return SetupPlaces(environment: environment, program: "/o/bin/notifyctl")
    }

    private func lines(_ places: SetupPlaces, _ part: SetupPart) -> [String] {
        places.lines(of: part).map { "\(places.shown($0.path)): \($0.text)" }
    }

    @Test func eachShellAndTmuxHasItsFileAndALineWithTheFullPath() throws {
        let home = try TemporaryFolder()
        try home.write("[ ! -f ~/.bashrc ] || . ~/.bashrc\n", to: ".profile")
        #expect(
            lines(places(home, "/bin/bash"), .shell) == [
                #"~/.bashrc: [ ! -x /o/bin/notifyctl ] || eval "$(/o/bin/notifyctl shell init bash)""#
            ])
        #expect(lines(places(home, "/bin/zsh", ["ZDOTDIR": "/z"]), .shell).first?.hasPrefix("/z/.zshrc: [ ") == true)
        #expect(
            lines(places(home, "/usr/bin/fish"), .shell) == [
                "~/.config/fish/conf.d/notifyd.fish: if status is-interactive; and test -x /o/bin/notifyctl; "
                    + "/o/bin/notifyctl shell init fish | source; end"
            ])
        #expect(lines(places(home, "/bin/tcsh"), .shell).isEmpty)
        #expect(
            lines(places(home, "/bin/zsh"), .path) == [
                "~/.config/environment.d/60-notifyd.conf: PATH=/o/bin:$PATH",
                "~/.zshrc: case :$PATH: in *:/o/bin:*) ;; *) export PATH=/o/bin:$PATH ;; esac",
            ])
        let tmux =
            #"set -g focus-events on; run-shell -b "[ ! -x /o/bin/notifyd-focus ] || exec /o/bin/notifyd-focus --tmux""#
        #expect(lines(places(home, "/bin/bash"), .tmux) == ["~/.tmux.conf: \(tmux)"])
        try home.write("", to: ".config/tmux/tmux.conf")
        #expect(lines(places(home, "/bin/bash"), .tmux) == ["~/.config/tmux/tmux.conf: \(tmux)"])
    }

    @Test func aFolderIsNotInEveryPathBecauseThisOneHasIt() throws {
        let home = try TemporaryFolder()
        #expect(!places(home, "/bin/bash", ["PATH": "/o/bin:/bin"]).isInEveryPath)
        #expect(SetupPlaces(environment: ["HOME": home.path], program: "/usr/bin/notifyctl").isInEveryPath)
    }

    @Test(arguments: [
        ([:], ".profile"), ([".profile": "# . ~/.bashrc\n"], ".profile"), ([".profile": ". ~/.bashrc"], nil),
        ([".bash_profile": "", ".profile": ". ~/.bashrc"], ".bash_profile"),
        ([".bash_login": "umask 22"], ".bash_login"), ([".bash_profile": "\tsource \"$HOME/.bashrc\"\n"], nil),
    ])
    func theFileForLoginsOfBashHasTheLinesUnlessItReadsTheOther(_ files: [String: String], _ name: String?) throws {
        let home = try TemporaryFolder()
        for (name, text) in files { try home.write(text, to: name) }
        for part in [SetupPart.path, .shell] {
            let names = places(home, "/bin/bash").lines(of: part).map { String($0.path.dropFirst(home.path.count + 1)) }
            #expect(names.filter { !$0.hasPrefix(".config") } == [".bashrc"] + (name.map { [$0] } ?? []))
            #expect(places(home, "/bin/zsh").lines(of: part).allSatisfy { !$0.path.hasSuffix("profile") })
        }
    }

    @Test(arguments: [("a\\\n", false), ("a\\", false), ("a\\\\\n", true), ("a\\\n\n", true)])
    func nothingIsWrittenBelowALineThatGoesOn(_ text: String, _ isWritten: Bool) throws {
        let home = try TemporaryFolder()
        try home.write(text, to: ".bashrc")
        let line = try #require(places(home, "/bin/bash").lines(of: .shell).first)
        if isWritten { try line.write() } else { #expect(isRefused { try line.write() }) }
        #expect(try line.isThere() == isWritten)
    }

    @Test func aFileWithAnotherNameIsLeftAlone() throws {
        let home = try TemporaryFolder()
        let other = try home.write("mine\n", to: "dots")
        #expect(link(other, home.path + "/.bashrc") == 0)
        let line = try #require(places(home, "/bin/bash").lines(of: .shell).first)
        #expect(isRefused { try line.write() })
        #expect(FileFacts.text(of: line.path) == "mine\n")
    }

    @Test func whatCannotBeDeletedIsNamed() throws {
        let failure = try #require(removeTree("/proc/self/status"))
        #expect(failure.path == "/proc/self/status" && failure.error == EPERM)
        let folder = try TemporaryFolder()
        try folder.write("", to: "a/b")
        #expect(removeTree(folder.path) == nil)
    }

    @Test func theShellIsThatOfTheUserIfTheVariableIsEmpty() throws {
        #expect(SetupPlaces.login(["SHELL": "/bin/x"]) == "/bin/x")
        let own = getpwuid(getuid())?.pointee.pw_shell.map { String(cString: $0) }
        #expect(SetupPlaces.login(["SHELL": ""]) == own ?? "/bin/sh")
    }

    @Test(arguments: ["/bin/bash", "/bin/zsh", "/usr/bin/fish"])
    func nothingIsLeftOfWhatWasWritten(_ shell: String) throws {
        let home = try TemporaryFolder()
        let places = places(home, shell)
        let parts: [SetupPart] = [.path, .shell, .tmux]
        for line in parts.flatMap(places.lines) {
            #expect(try !line.isThere())
            try line.write()
            #expect(try line.isThere())
        }
        for part in parts {
            let results = try places.possibleLines(of: part).map { try $0.remove() }
            #expect(results.contains(true))
        }
        #expect(parts.flatMap(places.possibleLines).allSatisfy { access($0.path, F_OK) != 0 })
    }

    @Test func anEmptyFolderStays() throws {
        let home = try TemporaryFolder()
        let folder = try home.folder(".config/fish/conf.d")
        let line = try #require(places(home, "/usr/bin/fish").lines(of: .shell).first)
        try line.write()
        #expect(try line.remove())
        #expect(FileFacts.names(in: folder) == [".", ".."])
    }

    @Test func aLinkedFileStaysALinkAndKeepsItsMode() throws {
        let home = try TemporaryFolder()
        let file = try home.write("mine", to: "stow/bashrc")
        chmod(file, 0o640)
        symlink("stow/bashrc", home.path + "/.bashrc")
        let line = try #require(places(home, "/bin/bash").lines(of: .shell).first)
        try line.write()
        #expect(FileFacts.text(of: file)?.hasPrefix("mine\n[ ! -x /o/bin/notifyctl ]") == true)
        #expect(FileFacts.link(at: home.path + "/.bashrc") == "stow/bashrc" && FileFacts.mode(of: file) == 0o640)
        #expect(try line.remove())
        #expect(FileFacts.text(of: file) == "mine" && FileFacts.mode(of: file) == 0o640)
        #expect(FileFacts.link(at: home.path + "/.bashrc") == "stow/bashrc")
    }

    @Test func anEnvironmentFileOfSomebodyElseStays() throws {
        let home = try TemporaryFolder()
        let path = try home.write("A=1\n", to: ".config/environment.d/60-notifyd.conf")
        let line = try #require(places(home, "/bin/bash").lines(of: .path).first)
        #expect(isRefused { try line.write() })
        #expect(try !line.remove())
        #expect(FileFacts.text(of: path) == "A=1\n")
    }

    @Test func aLineThatSomebodyHasEditedIsLeftAlone() throws {
        let home = try TemporaryFolder()
        let places = places(home, "/bin/bash")
        let line = try #require(places.lines(of: .shell).first)
        try line.write()
        let text = "NOTIFYD_SHELL_SECONDS=5; " + (FileFacts.text(of: line.path) ?? "")
        try home.write(text, to: ".bashrc")
        #expect(try line.isThere())
        #expect(isRefused { try line.write() })
        #expect(isRefused { _ = try line.remove() })
        try home.write("alias x=y # notifyctl setup shell\n", to: ".bashrc")
        #expect(try !line.isThere())
        #expect(isRefused { try line.write() })
        #expect(isRefused { _ = try line.remove() })
        #expect(FileFacts.text(of: line.path) == "alias x=y # notifyctl setup shell\n")
    }

    @Test func whatSomebodyHasAddedToTheEnvironmentFileStays() throws {
        let home = try TemporaryFolder()
        let line = try #require(places(home, "/bin/bash").lines(of: .path).first)
        try line.write()
        let text = FileFacts.text(of: line.path) ?? ""
        try home.write("A=1\n\(text)B=2", to: ".config/environment.d/60-notifyd.conf")
        #expect(try line.isThere())
        #expect(try line.remove())
        #expect(FileFacts.text(of: line.path) == "A=1\nB=2")
        let edited = text.replacing("PATH=", with: "PATH=/mine:")
        try home.write(edited, to: ".config/environment.d/60-notifyd.conf")
        #expect(isRefused { try line.write() })
        #expect(isRefused { _ = try line.remove() })
        #expect(FileFacts.text(of: line.path) == edited)
    }

    @Test(arguments: ["/bin/bash", "/bin/zsh", "/usr/bin/fish"])
    func theLinesOfANotifydInAnotherFolderAreReplacedAndNotTakenBack(_ shell: String) throws {
        let home = try TemporaryFolder()
        let environment = ["HOME": home.path, "SHELL": shell]
        let other = SetupPlaces(environment: environment, program: "/an other's/$d/bin/notifyctl")
        for part in [SetupPart.path, .shell, .tmux] {
            for line in other.lines(of: part) { try line.write() }
            for line in places(home, shell).possibleLines(of: part) { #expect(try !line.remove()) }
            for line in other.lines(of: part) { #expect(try line.isThere()) }
            for line in places(home, shell).lines(of: part) {
                #expect(try !line.isThere())
                try line.write()
                #expect(try line.isThere())
                #expect(try line.remove())
                #expect(access(line.path, F_OK) != 0)
            }
        }
    }

    @Test func aFileThatWasMadeForALineAndIsALinkByNowStaysALink() throws {
        let home = try TemporaryFolder()
        let lines = try [SetupPart.shell, .path].map { try #require(places(home, "/bin/bash").lines(of: $0).first) }
        for line in lines {
            try line.write()
            let target = home.path + "/dots-\(line.part)"
            rename(line.path, target)
            symlink(target, line.path)
            #expect(try line.remove())
            #expect(FileFacts.link(at: line.path) == target && FileFacts.text(of: target)?.isEmpty == true)
            try line.write()
            #expect(try line.isThere())
        }
    }

    @Test func thePathIsQuotedForTmuxAndOneThatCannotBeIsRefused() throws {
        let home = try TemporaryFolder()
        func places(_ folder: String) -> SetupPlaces {
            SetupPlaces(environment: ["HOME": home.path, "SHELL": "/bin/bash"], program: folder + "/notifyctl")
        }
        let word = #"'/q/##(id) \$HOME\"\\'\\''/notifyd-focus'"#
        #expect(
            places(#"/q/#(id) $HOME"\'"#).lines(of: .tmux).first?.text
                == #"set -g focus-events on; run-shell -b "[ ! -x \#(word) ] || exec \#(word) --tmux""#)
        let parts: [SetupPart] = [.path, .shell, .tmux]
        #expect(parts.allSatisfy { places("/a\nb").obstacle(to: $0)?.contains("line break") == true })
        #expect(parts.allSatisfy { places("/a b").obstacle(to: $0) == nil })
        #expect(places("/a\nb").obstacle(to: .focus) == nil)
        #expect(places("/a$b").obstacle(to: .path) == "the folder of notifyctl has a ‘$’ in its name")
    }
}
