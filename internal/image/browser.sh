#!/bin/sh
# Copies the headless Chromium of this Debian to a folder with what it loads when it runs: libraries, data, fonts, certificates.
# The package also depends on a desktop, and with it on Mesa and LLVM: half a gigabyte that no page is rendered with.
#
#   browser.sh DIR
set -eu
home=/usr/lib/chromium
shell=$home/chromium-headless-shell
[ $# = 1 ] && [ -x $shell ] || { echo "usage: browser.sh DIR, with the package chromium-headless-shell installed" >&2; exit 2; }

libraries=$(dirname "$(ldd $shell | awk '$1 == "libnss3.so" {print $3}')")
{
	echo $shell
	find $home -name 'headless_*.pak' -o -name '*.dat' -o -name '*.bin'
	ldd $shell | awk '/=>/ {print $3} $1 ~ "^/" {print $1}'
	# NSS loads these by name: what checks certificates.
	for name in softokn3 freebl3 freeblpriv3 nssckbi; do
		find "$libraries" -maxdepth 2 -name "lib$name.so" -o -maxdepth 2 -name "lib$name.chk"
	done
	find /etc/fonts /usr/share/fonts /usr/share/fontconfig /etc/ssl/certs ! -type d
} | sort -u | while read -r file; do
	# A link is copied with what it points to.
	while :; do
		# Where /lib is a link to /usr/lib, the copy has the one place.
		place=$(readlink -f "$(dirname "$file")")/$(basename "$file")
		mkdir -p "$1$(dirname "$place")"
		cp -a "$place" "$1$place"
		[ -L "$place" ] || break
		file=$(readlink "$place")
		case $file in /*) ;; *) file=$(dirname "$place")/$file ;; esac
	done
done
mkdir -p "$1/usr/bin"
ln -sf ../lib/chromium/chromium-headless-shell "$1/usr/bin/chromium-headless-shell"
