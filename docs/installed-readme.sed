# For the README as it is installed, beside config.toml and LICENSE: a link to another file of the source becomes text.
/^!\[.*\](docs\/.*)$/d
s|](systemd/config\.toml)|](config.toml)|g
s|\[\([^]]*\)\](docs/[a-zA-Z0-9.-]*\.[158])|\1|g
s|\[`\([^]`]*\)`\](\1)|`\1` of the source|g
s|\[\([^]]*\)\](\([a-zA-Z]*/[^):]*\))|\1 (`\2` of the source)|g
s|^`man -l [^`]*` shows a page before it is installed\. ||
