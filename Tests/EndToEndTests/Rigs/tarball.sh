#!/bin/bash
# The tarball of a release: the same programs make the same bytes, install.sh installs what "make install" does and removes all
# of it, and a missing library is named with its package.

source "$(dirname "$0")/rig.bash"
rig_begin "$@"
needs make make readelf binutils ldd libc-bin
SOURCES=$(cd "$RIGS/../../.." && pwd)
export SOURCE_DATE_EPOCH=1700000000 STRIP=

# Only notifyctl is run, for its completions.
mkdir "$T/built"
for program in notifyd notifyd-browser notifyd-desktop notifyd-focus notifyd-mqtt notifyd-ntfy notifyd-unifiedpush; do
    cp /bin/true "$T/built/$program"
done
cp "$PRODUCTS/notifyctl" "$T/built"

mkdir "$T/one" "$T/two"
for folder in one two; do
    "$SOURCES/packaging/tarball" "$T/built" "$T/$folder/notifyd-9.tar" > "$T/tarball.log" 2>&1 || fail "there is no tarball"
done
cmp -s "$T/one/notifyd-9.tar" "$T/two/notifyd-9.tar" || fail "two tarballs of the same programs differ"
ok "the same programs make the same tarball"

tar -xf "$T/one/notifyd-9.tar" -C "$T"
install_sh() { sh "$T/notifyd-9/install.sh" "$@" > "$T/install.log" 2>&1; }

# --- it installs, and removes

mkdir -p "$T/taken/bin/notifyd"
! install_sh --prefix "$T/taken" || fail "it installs a program into a folder of its name"
grep -q 'taken/bin/notifyd must be a file; it is a folder: move it away' "$T/install.log" || fail "it does not say why not"
equal "where a folder has the name of a program, nothing is installed" "" "$(find "$T/taken" -type f)"

# With a search path for cd, and a slash at the end of HOME.
(cd "$T" && CDPATH=$T HOME=$HOME/ sh notifyd-9/install.sh --prefix "$HOME/.local" > "$T/install.log" 2>&1) ||
    fail "install.sh fails"
make --no-print-directory -C "$SOURCES" install-files PREFIX="$HOME/.local" DESTDIR="$T/made" BUILT="$T/built" > "$T/make.log" 2>&1
diff -r --exclude=install.sh --exclude=installed "$T/made$HOME/.local" "$HOME/.local" > "$T/difference.log" ||
    fail "install.sh installs other files than make install"
ok "install.sh --user installs what make install does"

old=$HOME/.local/share/notifyd/of-an-older-version
touch "$old"
echo "$old" >> "$HOME/.local/share/notifyd/installed"
install_sh --user || fail "it cannot be installed again"
[ ! -e "$old" ] || fail "what the new version has not is still there"
ok "a newer version takes the place of an older one"

echo mine > "$HOME/.bashrc"
SHELL=/bin/bash "$HOME/.local/bin/notifyctl" setup path shell --yes > "$T/setup.log" 2>&1 || fail "it cannot be set up"
grep -q "$HOME/.local/bin/notifyctl shell init bash" "$HOME/.bashrc" || fail "setup writes no line into .bashrc"
set_up=$(cat "$HOME/.bashrc" "$XDG_CONFIG_HOME"/environment.d/*)
install_sh --prefix "$HOME/opt/n" || fail "a second copy cannot be installed"
sh "$HOME/opt/n/share/notifyd/install.sh" --prefix "$HOME/opt/n" --uninstall > "$T/install.log" 2>&1 ||
    fail "a second copy cannot be removed"
equal "a second copy takes nothing of the first with it" "$set_up" "$(cat "$HOME/.bashrc" "$XDG_CONFIG_HOME"/environment.d/*)"
[ ! -e "$HOME/opt" ] || fail "something is left of the second copy"

echo mine > "$HOME/.local/bin/mine"
sh "$HOME/.local/share/notifyd/install.sh" --user --uninstall > "$T/install.log" 2>&1 || fail "it cannot be removed"
equal "all of it is removed, and nothing else" "$HOME/.local/bin/mine" "$(find "$HOME/.local" -type f)"
equal "and all that setup has written" "mine" "$(cat "$HOME/.bashrc" "$XDG_CONFIG_HOME"/environment.d/* 2> /dev/null)"
[ ! -d "$HOME/.local/share" ] || fail "folders that were made for it are left"
rm "$HOME/.local/bin/mine"

# --- what cannot be removed is said

# uninstall TEXT: fails, says it, and leaves no program.
uninstall_says() {
    status=0
    install_sh --user --uninstall || status=$?
    [ "$status" -ne 0 ] || fail "install.sh --uninstall says that it has removed all"
    grep -q "$1" "$T/install.log" || fail "it does not say: $1"
    [ ! -e "$HOME/.local/bin/notifyctl" ] && [ ! -e "$HOME/.local/share/notifyd" ] || fail "programs are left"
}
install_sh --user || fail "it cannot be installed again"
SHELL=/bin/bash "$HOME/.local/bin/notifyctl" setup shell --yes > "$T/setup.log" 2>&1 || fail "it cannot be set up"
sed -i 's/^\[/A=1; [/' "$HOME/.bashrc"
uninstall_says 'was edited, and was left alone'
echo mine > "$HOME/.bashrc"
ok "a line that was edited is named"
install_sh --user || fail "it cannot be installed again"
cp /bin/sleep "$HOME/.local/bin/notifyd-focus"
background "$T/focus.log" "$HOME/.local/bin/notifyd-focus" 600
# Until it has begun, it is this shell.
for _ in $(seq 100); do [ "$(readlink "/proc/$!/exe")" != "$HOME/.local/bin/notifyd-focus" ] || break; sleep 0.1; done
uninstall_says "notifyd-focus still runs; end it: kill $!"
stop $!
ok "a program that runs is named"

# --- stopped in the middle

mkdir "$T/full"
printf '#!/bin/sh\ncase $1 in */notifyd-ntfy) echo "no room" >&2; exit 1 ;; esac\nexec /bin/cp "$@"\n' > "$T/full/cp"
chmod 755 "$T/full/cp"
status=0
PATH=$T/full:$PATH install_sh --user || status=$?
[ "$status" -ne 0 ] && grep -q 'not installed as a whole; run it again, or remove it' "$T/install.log" ||
    fail "an installation that was stopped does not say so"
install_sh --user --uninstall || fail "an installation that was stopped cannot be removed"
equal "one that was stopped is removed as a whole" '' "$(find "$HOME/.local" -type f)"

status=0
install_sh --prefix there || status=$?
equal "a prefix that is not absolute is refused" "64 install.sh: the folder must begin with '/'; it is 'there'" \
    "$status $(cat "$T/install.log")"

for name in 'a b' 'a;b' 'a:b' '`a`' '$(a)' '(a)' 'a*'; do
    status=0
    install_sh --prefix "$T/$name" || status=$?
    [ "$status" = 64 ] && grep -qF "it is '$T/$name'" "$T/install.log" || fail "a prefix called $name is not refused"
done
ok "nor is one that a shell or PATH would read in its own way"
if [ "$(id -u)" -eq 0 ]; then
    mkdir "$T/hers"
    chown 1000 "$T/hers"
    status=0
    HOME=$T/hers install_sh --user || status=$?
    equal "root leaves nothing in the home of somebody else" "77 " "$status $(ls -A "$T/hers")"
fi

# --- where users get no namespaces

without=(/usr/bin/python3 "$RIGS/without-user-namespaces.py")
if [ "$(id -u)" -eq 0 ] && "${without[@]}" true; then
    "${without[@]}" sh "$T/notifyd-9/install.sh" --prefix "$T/without" > "$T/install.log" 2>&1 || fail "install.sh fails there"
    equal "units do without namespaces where users get none" '' "$(find "$T/without" -name namespaces.conf)"
    grep -q 'gives users no namespaces' "$T/install.log" || fail "it does not say so"
    install_sh --prefix "$T/without" || fail "it cannot be installed again"
    [ -n "$(find "$T/without" -name namespaces.conf)" ] || fail "where users get some, units have none"
fi

# --- what is missing is named

mkdir "$T/bin"
# lacks PROGRAM LIBRARY: ldd finds all but this.
lacks() {
    printf '#!/bin/sh\n[ "${1##*/}" != %s ] || echo "	%s => not found"\n' "$1" "$2" > "$T/bin/ldd"
    chmod 755 "$T/bin/ldd"
}
lacks notifyd-mqtt libmosquitto.so.1
PATH=$T/bin:$PATH install_sh --prefix "$T/elsewhere" || fail "without the link's library nothing is installed"
equal "a library is named with its package" \
    "libmosquitto.so.1 is missing, which notifyd-mqtt needs. Its package is called: libmosquitto1 on Debian and Ubuntu mosquitto on Fedora mosquitto on Arch libmosquitto1 on openSUSE" \
    "$(head -n 5 "$T/install.log" | tr -s '\n ' ' ' | sed 's/ $//')"
[ -e "$T/elsewhere/bin/notifyd" ] || fail "the programs that have all they need are not installed"
lacks notifyd libsqlite3.so.0
status=0
PATH=$T/bin:$PATH install_sh --prefix "$T/nowhere" || status=$?
equal "nothing is installed if notifyd cannot run" "69 no" "$status $([ -e "$T/nowhere" ] && echo yes || echo no)"

# --- every component has its licence

mkdir -p "$T/copy/packaging" "$T/copy/debian"
cp "$SOURCES/packaging/bill" "$T/copy/packaging"
cp "$SOURCES/debian/copyright" "$T/copy/debian"
cp "$SOURCES/Package.resolved" "$T/copy"
"$T/copy/packaging/bill" --check || fail "debian/copyright does not say all"
sed -i 's|/swift-log"|/swift-logs"|' "$T/copy/Package.resolved"
equal "a component without a licence in debian/copyright is found" \
    "swift-logs is in Package.resolved and not in debian/copyright" "$("$T/copy/packaging/bill" --check 2>&1 | head -n 1)"
