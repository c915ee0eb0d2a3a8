# For README.md and the guides of docs as they are installed, in one folder with config.toml, LICENSE and examples: a link to another
# file of the source becomes text.
/^!\[.*\](docs\/.*)$/d
s|](\.\./|](|g
s|](systemd/config\.toml)|](config.toml)|g
s/\[`docs\/\(bridges\|install\|recipes\)\.md`\](docs\/\1\.md\(#[a-z-]*\)\?)/[`\1.md`](:\1.md\2)/g
s|\[\([^]]*\)\](docs/[a-zA-Z0-9.-]*\.[158])|\1|g
s|\[\([^]]*\)\]([a-zA-Z0-9.-]*\.[158])|\1|g
# Those in Swift are not installed.
s|](\(examples[/)]\)|](:\1|g
s/](:\(examples\/\(bridge\|swift\)[/)]\)/](\1/g
s|\[`\([^]`]*\)`\](\1)|`\1` of the source|g
s|\[\([^]]*\)\](\([a-zA-Z]*/[^):]*\))|\1 (`\2` of the source)|g
s|](:|](|g
s|^`man -l [^`]*` shows a page before it is installed\. ||
