# "make" lists the targets; "make V=1 TARGET" prints the commands too.

PREFIX ?= /usr/local
DESTDIR ?=

# Not every shell expands the ~ of PREFIX=~/.local.
override PREFIX := $(patsubst ~/%,$(HOME)/%,$(PREFIX))

# systemd looks for units of the user in a home directory's share, and of the system in lib.
ifneq ($(filter $(HOME)/%,$(PREFIX)),)
UNIT_DIR ?= $(PREFIX)/share/systemd/user
else
UNIT_DIR ?= $(PREFIX)/lib/systemd/user
# There is no message catalog of a user alone.
CATALOG_DIR ?= $(PREFIX)/lib/systemd/catalog
endif

BIN_DIR := $(PREFIX)/bin
DBUS_DIR := $(PREFIX)/share/dbus-1
APPLICATION_DIR := $(PREFIX)/share/applications
ICON_DIR := $(PREFIX)/share/icons/hicolor/scalable/apps
PORTAL_DIR := $(PREFIX)/share/xdg-desktop-portal/portals
SHELL_DIR := $(PREFIX)/share/gnome-shell/extensions
DOC_DIR := $(PREFIX)/share/doc/notifyd
MAN_DIR := $(PREFIX)/share/man
EXTENSION_DIR := $(PREFIX)/share/notifyd/browser
BASH_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions
FISH_DIR ?= $(PREFIX)/share/fish/vendor_completions.d

# The extension for GNOME Shell.
SHELL_SOURCE := Sources/Programs/notifyd-focus/gnome-shell/notifyd-focus@notifyd.org

SWIFT ?= swift
INSTALL ?= install
SOURCES := Sources Tests Package.swift debian/client debian/tests examples

# What a user's machine runs: no Swift runtime has to be installed there, and no library is looked for beside the programs.
RELEASE := --configuration release --static-swift-stdlib --disable-local-rpath
# The folder whose programs are installed.
BUILT ?= .build/release
# Without their symbols, which are a third of them; STRIP= keeps these.
STRIP ?= -s

# The browser extension.
EXTENSION := manifest.json background.js page.js popup.html popup.css popup.js $(foreach size,16 32 48 128,icons/$(size).png)
PACK := $(CURDIR)/packaging/pack

# What is installed, each list in one folder. A new program is added to these and to debian/*.install, which a test compares
# with them.
PROGRAMS := notifyd notifyctl notifyd-browser notifyd-desktop notifyd-focus notifyd-mqtt notifyd-ntfy notifyd-unifiedpush
UNITS := $(foreach unit,notifyd notifyd-mqtt notifyd-ntfy notifyd-unifiedpush,$(unit).service $(unit).service.d/namespaces.conf) \
    notifyd-desktop.service notifyd-focus.service
DBUS_SERVICES := $(foreach name,notifyd.Router1 notifyd.UnifiedPush freedesktop.impl.portal.desktop.notifyd,org.$(name).service)
INTERFACES := $(foreach name,Router1 Bridge1 Desktop1 Focus1 Link1 Ntfy1 Push1,org.notifyd.$(name).xml)
PAGES := notifyctl.1 org.notifyd.Router1.5 notifyd.toml.5 notifyd.8 \
    $(foreach name,browser desktop focus mqtt ntfy unifiedpush,notifyd-$(name).toml.5 notifyd-$(name).8)
GUIDES := $(addprefix docs/,bridges.md install.md recipes.md)
# Those in Swift are built in the source.
EXAMPLES := $(filter-out examples/bridge/% examples/swift/% %/__pycache__,$(wildcard examples/*/*))
EXTENSIONS_OF_SHELL := notifyd-focus@notifyd.org notifyd-focus-43@notifyd.org

# The links of examples/README.md, as if it were one folder above, and back.
FROM_EXAMPLES := s|](\([a-z0-9-]*/\)|](examples/\1|g
TO_EXAMPLES := s|](examples/|](|g

# Where a manual page is installed.
page = $(MAN_DIR)/man$(patsubst .%,%,$(suffix $(1)))/$(1)

INSTALLED := \
    $(addprefix $(BIN_DIR)/,$(PROGRAMS)) \
    $(addprefix $(EXTENSION_DIR)/,$(EXTENSION)) \
    $(EXTENSION_DIR).xpi \
    $(addprefix $(UNIT_DIR)/,$(UNITS)) \
    $(foreach name,$(EXTENSIONS_OF_SHELL),$(addprefix $(SHELL_DIR)/$(name)/,extension.js metadata.json)) \
    $(addprefix $(DBUS_DIR)/services/,$(DBUS_SERVICES)) \
    $(addprefix $(DBUS_DIR)/interfaces/,$(INTERFACES)) \
    $(APPLICATION_DIR)/org.notifyd.desktop \
    $(ICON_DIR)/org.notifyd.svg \
    $(PORTAL_DIR)/notifyd.portal \
    $(addprefix $(DOC_DIR)/,README.md LICENSE config.toml $(notdir $(GUIDES)) examples/README.md $(EXAMPLES)) \
    $(foreach name,$(PAGES),$(call page,$(name))) \
    $(BASH_DIR)/notifyctl \
    $(ZSH_DIR)/_notifyctl \
    $(FISH_DIR)/notifyctl.fish \
    $(if $(CATALOG_DIR),$(CATALOG_DIR)/notifyd.catalog)

# The folders that nothing else is in, the inner ones first.
FOLDERS := $(addprefix $(DOC_DIR)/,$(sort $(dir $(EXAMPLES))) examples) $(DOC_DIR) \
    $(addprefix $(UNIT_DIR)/,$(filter %.d/,$(dir $(UNITS)))) $(EXTENSION_DIR)/icons $(EXTENSION_DIR) $(PREFIX)/share/notifyd \
    $(addprefix $(SHELL_DIR)/,$(EXTENSIONS_OF_SHELL))

.DEFAULT_GOAL := help
ifndef V
.SILENT:
endif
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(MAKEFILE_LIST))

# Builds the products $(1), with the options $(2).
products = $(foreach product,$(1),$(SWIFT) build $(2) --product $(product) &&) true
# Runs the tests that match $(1), built for release in the folder $(2); make model and make attack keep folders of their own.
release_tests = $(SWIFT) test -c release --scratch-path $(2) -Xswiftc -enable-testing --filter $(1)
# Installs the packages for $(1) while everything is built: what only the tests need is many packages.
build_tests = .ci/packages $(1) & packages=$$!; $(SWIFT) build --build-tests; built=$$?; \
    wait $$packages && exit $$built

help: ## List the targets
	awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## /{printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	echo
	echo 'install and uninstall take PREFIX (now $(PREFIX)) and DESTDIR. V=1 prints commands.'

##@ Use it

demo: ## Play the whole story on a private bus; needs no desktop
	.ci/packages build demo
	$(call products,notifyd notifyctl)
	.build/debug/notifyctl demo

demo-link: ## Play the story of three linked devices and a broker that is killed
	.ci/packages build demo-link
	$(call products,notifyd notifyctl notifyd-mqtt)
	.build/debug/notifyctl demo link

release: ## Build what "make install" installs
	.ci/packages build
	# One by one: a build of everything includes products of other packages, not all of which can be linked statically.
	$(call products,$(PROGRAMS),$(RELEASE))
	# Nothing in the environment may end what users run.
	! grep -q NOTIFYD_FAILPOINT .build/release/notifyd
	# Another version of the compiler may have another version of ICU.
	size .build/release/notifyd | awk 'NR == 2 && $$2 > 16000000 \
		{print "notifyd has the data of ICU, 32 MiB that it does not need: name its icudt*_dat in Sources/C/CICU/empty.c"}'

install: release install-files ## Install under PREFIX; PREFIX=~/.local needs no root

# For root, who should not build and may not have Swift, and for packages and tests, which have built before.
install-files: ## Install what is built already: make release && sudo make install-files
	for name in $(PROGRAMS); do $(INSTALL) -D $(STRIP) -m 755 "$(BUILT)/$$name" "$(DESTDIR)$(BIN_DIR)/$$name" || exit; done
	for file in $(EXTENSION); do $(INSTALL) -D -m 644 "browser/$$file" "$(DESTDIR)$(EXTENSION_DIR)/$$file" || exit; done
	# The same in one file, for Firefox. It is packed elsewhere: root may be the one who installs, and leaves no files here.
	folder=$$(mktemp -d) && (cd browser && $(PACK) "$$folder/notifyd.xpi" $(EXTENSION)) && \
	    $(INSTALL) -D -m 644 "$$folder/notifyd.xpi" '$(DESTDIR)$(EXTENSION_DIR).xpi' && rm -r "$$folder"
	for file in $(UNITS); do $(INSTALL) -D -m 644 "systemd/$$file" "$(DESTDIR)$(UNIT_DIR)/$$file" || exit; done
	$(INSTALL) -d '$(DESTDIR)$(DBUS_DIR)/services' '$(DESTDIR)$(DBUS_DIR)/interfaces'
	$(INSTALL) -m 644 $(addprefix systemd/,$(DBUS_SERVICES)) '$(DESTDIR)$(DBUS_DIR)/services'
	$(INSTALL) -m 644 $(addprefix systemd/,$(INTERFACES)) '$(DESTDIR)$(DBUS_DIR)/interfaces'
	# They name the programs where Debian has them.
	sed -i -e 's|/usr/bin/notifyd|$(BIN_DIR)/notifyd|' -e 's|/usr/share/doc/notifyd|$(DOC_DIR)|' \
	    $(foreach file,$(addprefix $(UNIT_DIR)/,$(UNITS)) $(addprefix $(DBUS_DIR)/services/,$(DBUS_SERVICES)),'$(DESTDIR)$(file)')
	# GNOME Shell takes extensions for 45 and later, and those for 43 and 44, under names of their own.
	$(INSTALL) -d $(foreach name,$(EXTENSIONS_OF_SHELL),'$(DESTDIR)$(SHELL_DIR)/$(name)')
	$(INSTALL) -m 644 $(SHELL_SOURCE)/extension.js $(SHELL_SOURCE)/metadata.json \
	    '$(DESTDIR)$(SHELL_DIR)/notifyd-focus@notifyd.org'
	for file in extension.js metadata.json; do \
	    sed -f $(dir $(SHELL_SOURCE))classic.sed $(SHELL_SOURCE)/$$file \
	        > '$(DESTDIR)$(SHELL_DIR)/notifyd-focus-43@notifyd.org'/$$file || exit; \
	    chmod 644 '$(DESTDIR)$(SHELL_DIR)/notifyd-focus-43@notifyd.org'/$$file; \
	done
	$(INSTALL) -D -m 644 systemd/org.notifyd.desktop '$(DESTDIR)$(APPLICATION_DIR)/org.notifyd.desktop'
	$(INSTALL) -D -m 644 systemd/org.notifyd.svg '$(DESTDIR)$(ICON_DIR)/org.notifyd.svg'
	$(INSTALL) -D -m 644 systemd/notifyd.portal '$(DESTDIR)$(PORTAL_DIR)/notifyd.portal'
	$(INSTALL) -d '$(DESTDIR)$(DOC_DIR)'
	$(INSTALL) -m 644 README.md LICENSE systemd/config.toml $(GUIDES) '$(DESTDIR)$(DOC_DIR)'
	for file in $(EXAMPLES); do \
	    if test -x "$$file"; then mode=755; else mode=644; fi; \
	    $(INSTALL) -D -m $$mode "$$file" "$(DESTDIR)$(DOC_DIR)/$$file" || exit; \
	done
	$(INSTALL) -m 644 examples/README.md '$(DESTDIR)$(DOC_DIR)/examples'
	# Their links are those of the source.
	for page in README.md $(notdir $(GUIDES)); do sed -i -f docs/installed-links.sed "$(DESTDIR)$(DOC_DIR)/$$page" || exit; done
	sed -i -e '$(FROM_EXAMPLES)' -f docs/installed-links.sed -e '$(TO_EXAMPLES)' '$(DESTDIR)$(DOC_DIR)/examples/README.md'
	for page in $(PAGES); do $(INSTALL) -D -m 644 "docs/$$page" "$(DESTDIR)$(MAN_DIR)/man$${page##*.}/$$page" || exit; done
	$(INSTALL) -d '$(DESTDIR)$(BASH_DIR)' '$(DESTDIR)$(ZSH_DIR)' '$(DESTDIR)$(FISH_DIR)'
	'$(BUILT)/notifyctl' --generate-completion-script bash > '$(DESTDIR)$(BASH_DIR)/notifyctl'
	'$(BUILT)/notifyctl' --generate-completion-script zsh > '$(DESTDIR)$(ZSH_DIR)/_notifyctl'
	'$(BUILT)/notifyctl' --generate-completion-script fish > '$(DESTDIR)$(FISH_DIR)/notifyctl.fish'
	chmod 644 '$(DESTDIR)$(BASH_DIR)/notifyctl' '$(DESTDIR)$(ZSH_DIR)/_notifyctl' '$(DESTDIR)$(FISH_DIR)/notifyctl.fish'
ifdef CATALOG_DIR
	$(INSTALL) -D -m 644 systemd/notifyd.catalog '$(DESTDIR)$(CATALOG_DIR)/notifyd.catalog'
	echo 'For journalctl -x to explain the log, run as root: journalctl --update-catalog'
endif
	echo 'Installed. In your session: systemctl --user daemon-reload && systemctl --user enable --now notifyd'

uninstall: ## Remove what install has installed
	rm -f $(foreach file,$(INSTALLED),'$(DESTDIR)$(file)')
	rmdir --ignore-fail-on-non-empty $(foreach folder,$(FOLDERS),'$(DESTDIR)$(folder)') 2> /dev/null || true

installed: ## List what install installs
	printf '%s\n' $(foreach file,$(INSTALLED),'$(file)')

wheel: ## Build the Python package into .build/wheel, without the network
	.ci/packages wheel
	rm -rf .build/wheel
	mkdir -p .build/wheel/source
	# setuptools writes into the folder of the sources.
	cp -R LICENSE python/pyproject.toml python/README.md python/src .build/wheel/source
	/usr/bin/python3 -m build --wheel --no-isolation --outdir .build/wheel .build/wheel/source
	rm -rf .build/wheel/source

browser: ## Pack the browser extension into .build/browser, for Chromium and for Firefox
	mkdir -p .build/browser
	cd browser && $(PACK) ../.build/browser/notifyd.zip $(EXTENSION)
	cp .build/browser/notifyd.zip .build/browser/notifyd.xpi

deb: release ## Build the Debian packages into .build/deb
	.ci/packages deb
	rm -rf .build/deb
	mkdir -p .build/deb
	PACKAGES='$(CURDIR)/.build/deb' dpkg-buildpackage --build=binary --no-sign \
	    --buildinfo-file=.build/deb/notifyd.buildinfo --buildinfo-option=-u.build/deb \
	    --changes-file=.build/deb/notifyd.changes --changes-option=-u.build/deb
	# The address of a maintainer is for those to fill in who publish packages.
	lintian --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog \
	    --allow-root .build/deb/notifyd.changes

deb-test: deb ## Install the Debian packages into fresh roots of Debian 12 and 13, and run them there; needs root
	debian/tests/fresh-root .build/deb bookworm trixie

VERSION := $(shell sed -n 's/.*projectVersion = "\(.*\)"/\1/p' Sources/Common/NotifyText/Version.swift)

# All that is made has the time of the version.
dist: export SOURCE_DATE_EPOCH ?= $(shell date --date="$$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)" +%s)
dist: deb wheel browser ## Make a release in .build/dist: tarball, packages, wheel, extension, licences, checksums
	.ci/packages dist
	packaging/dist '$(VERSION)'

dist-test: ## Install the RPMs and the package of Arch that .build/dist makes into empty roots; needs root
	.ci/packages dist-test
	packaging/test '$(VERSION)'

##@ Develop

build: ## Build for development
	.ci/packages build
	$(SWIFT) build

# Enough seeds to find what is usually wrong; "make test" plays more.
check: export NOTIFYD_MODEL_SCRIPTS ?= 100
check: export NOTIFYD_SEEDS ?= 100
check: export NOTIFYD_LINK_SEEDS ?= 25
check: ## Build, and run the tests that start no daemon: about a minute after a change
	.ci/packages build check
	$(SWIFT) build --build-tests
	.ci/tests check

test: ## Build and run all tests but those of test-scenarios and test-desktop; installs the Debian packages they need
	.ci/packages build
	$(call build_tests,test)
	.ci/tests check programs

test-scenarios: ## Build, and play the scenarios of Tests/Scenarios in real time
	.ci/packages build
	$(call build_tests,test)
	.ci/tests scenarios

test-desktop: ## Build and run the tests with real desktops, browsers and brokers
	.ci/packages build
	$(call build_tests,test-desktop)
	.ci/tests desktop

format: ## Format the Swift sources
	$(SWIFT) format --in-place --recursive $(SOURCES)

lint: ## Check the format of the Swift sources, and the English of everything
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	.ci/words

docs: ## Compile the documentation of the libraries with DocC
	.ci/packages build
	$(SWIFT) build
	.ci/docs

screenshot: ## Make docs/screenshot.png and docs/browser.png with real windows and a real notification server
	.ci/packages build screenshot
	$(SWIFT) build
	docs/screenshot.sh .build/debug
	docs/screenshot.sh .build/debug browser

model: ## Play 100,000 random scripts against the router and its reference
	.ci/packages build
	NOTIFYD_MODEL_SCRIPTS=100000 $(call release_tests,ModelTests,.build-model)

simulate: ## Simulate the daemon with all its faults, 1,000,000 seeds; NOTIFYD_SEED=n replays one
	.ci/packages build
	NOTIFYD_SEEDS=$${NOTIFYD_SEEDS:-1000000} $(call release_tests,SimulationTests.SimulationTests,.build-model)

simulate-link: ## Simulate the link with all its faults, 100,000 seeds; NOTIFYD_SEED=n replays one
	.ci/packages build
	NOTIFYD_LINK_SEEDS=$${NOTIFYD_LINK_SEEDS:-100000} $(call release_tests,LinkSimulationTests,.build-model)

kills: ## Kill the daemon 1,000 times under load
	.ci/packages build test
	NOTIFYD_KILLS=$${NOTIFYD_KILLS:-1000} $(SWIFT) test --filter KillTests

cuts: ## Cut the power 1,000 times under load, on a disk that keeps only what was synced
	.ci/packages build test
	NOTIFYD_CUTS=$${NOTIFYD_CUTS:-1000} $(SWIFT) test --filter PowerCutTests

disks: ## Fill and clear disks of every size from 2 to 32 MiB; needs root
	.ci/packages build test
	NOTIFYD_DISKS=all $(SWIFT) test --no-parallel --filter SmallDiskTests

backlog: ## Start with 99,000 undecided events in the journal
	.ci/packages build test
	NOTIFYD_BACKLOG=$${NOTIFYD_BACKLOG:-99000} $(call release_tests,BacklogTests,.build-model) --no-parallel

flips: ## Flip a bit in every byte of a journal
	.ci/packages build
	NOTIFYD_FLIPS=all $(call release_tests,FlipTests,.build-model)

attack: ## Send 10,000,000 hostile calls to a daemon that is built for release
	.ci/packages build test
	NOTIFYD_ATTACKS=$${NOTIFYD_ATTACKS:-10000000} NOTIFYD_ATTACK_MIB=$${NOTIFYD_ATTACK_MIB:-64} \
	    $(call release_tests,AttackTests,.build-attack)

fuzz: ## Fuzz every parser of external input, FUZZ_SECONDS each (60)
	.ci/packages build
	SWIFT='$(SWIFT)' .ci/fuzz

mutants: ## Plant faults, and list which test finds each; writes docs/mutants.md
	.ci/packages build mutants test
	SWIFT='$(SWIFT)' .ci/mutants

asan: ## Run all tests with the address and leak sanitizers
	.ci/packages build test
	SWIFT='$(SWIFT)' .ci/sanitize address

tsan: ## Run all tests with the thread sanitizer
	.ci/packages build test
	SWIFT='$(SWIFT)' .ci/sanitize thread

clean: ## Remove what was built
	rm -rf .build .build-*

##@ Measure

# Where the comparison with routers in C is; without it that part is left out.
YARDSTICK ?= ../shared/yardstick

bench: ## What an event costs; writes docs/benchmarks.md and the figures of README.md
	.ci/packages build bench
	$(call products,notifyd notifyload,$(RELEASE))
	YARDSTICK='$(YARDSTICK)' Benchmarks/report/bench.py

bench-scale: ## What an event costs as the load grows; writes docs/benchmarks.md and docs/scale.svg
	.ci/packages build bench
	$(call products,notifyd notifyload,$(RELEASE))
	Benchmarks/report/scale.py

bench-link: ## What the link costs; writes docs/benchmarks.md and docs/link-latency.svg, or QUICK=--quick prints
	.ci/packages build bench-link
	$(call products,notifyd notifyd-mqtt notifyload,$(RELEASE))
	Benchmarks/report/link.py $(QUICK)

bench-screens: ## What notifyd-focus and notifyd-browser cost; writes docs/benchmarks.md, or QUICK=--quick prints
	.ci/packages build bench-screens
	$(call products,notifyd notifyd-focus notifyd-browser,$(RELEASE))
	Benchmarks/report/screens.py $(QUICK)

bench-desktop: ## What notifyd-desktop costs programs; writes docs/benchmarks.md, or QUICK=--quick prints
	.ci/packages build bench-desktop
	$(call products,notifyd notifyd-desktop,$(RELEASE))
	/usr/bin/python3 Benchmarks/report/programs.py $(QUICK)

bench-peers: ## notifyd beside mosquitto, NATS, Redis and a script; writes docs/benchmarks.md, or QUICK=--quick prints
	.ci/packages build bench-peers
	$(call products,notifyd,$(RELEASE))
	mkdir -p .build/peers
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter -o .build/peers/peers Benchmarks/peers/peers.c \
	    $$(pkg-config --cflags --libs libsystemd libmosquitto hiredis) -lnats
	/usr/bin/python3 Benchmarks/report/peers.py $(QUICK)

bench-push: ## How long a push of UnifiedPush takes; prints milliseconds and MiB
	.ci/packages build test
	$(call products,notifyd notifyd-unifiedpush notifyd-desktop,$(RELEASE))
	Benchmarks/report/push.py .build/release

bench-ntfy: ## What a message of ntfy costs, and the memory of the bridge; prints its figures
	.ci/packages build bench-ntfy
	$(call products,notifyd notifyd-ntfy,$(RELEASE))
	/usr/bin/python3 Benchmarks/report/ntfy.py
