#!/bin/sh
# Installs what the tests need beside Go and do not find, all of it at once: with apt-get as root, or with brew. Elsewhere it prints
# what is missing with the command that installs it, and fails.
set -eu

go=${GO:-go}
if ! command -v "$go" > /dev/null; then
	echo "missing: $go (the Go toolchain, 1.26 or later). Install it: https://go.dev/dl/" >&2
	exit 1
fi

apt= brew= names=
needs() { # what it is, its packages of apt-get, of brew
	names="$names
missing: $1" apt="$apt $2" brew="$brew $3"
}
# at least: a program is there, and its version, the second argument, is no less than the third.
old() { command -v "$1" > /dev/null && ! "$1" "$2" "$3" > /dev/null 2>&1; }

command -v "$("$go" env CC)" > /dev/null || needs "a C compiler, for the race detector" "gcc libc6-dev" gcc
command -v git > /dev/null || needs "git" git git
command -v python3 > /dev/null || needs "Python 3.11 or later, for foreign targets" python3 python3
command -v node > /dev/null || needs "Node.js 20 or later, for foreign targets" nodejs node
browser=
for b in chromium-headless-shell chrome-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome; do
	! command -v "$b" > /dev/null || browser=$b # those that the product takes (transport/driver/browser/find.go)
done
[ -n "$browser" ] || [ -d "/Applications/Google Chrome.app" ] || [ -d /Applications/Chromium.app ] ||
	needs "Chromium, for pages" chromium-headless-shell "--cask chromium"

if [ -n "$names" ]; then
	echo "${names#?}"
	if command -v apt-get > /dev/null && [ "$(id -u)" = 0 ]; then
		apt-get update
		apt-get install -y --no-install-recommends $apt
	elif command -v brew > /dev/null; then
		brew install $brew
	else
		echo "Install it as root: apt-get install -y --no-install-recommends$apt" >&2
		exit 1
	fi
fi

if old python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
	echo "too old: python3 is $(python3 -V 2>&1); 3.11 or later is needed" >&2
	exit 1
fi
if old node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
	echo "too old: node is $(node --version); 20 or later is needed" >&2
	exit 1
fi
