package image

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/tier"
)

// shell is where Debian's package puts the browser.
const shell = "/usr/lib/chromium/chromium-headless-shell"

// most bounds what the image adds to Debian for pages, in bytes.
const most = 300 << 20

// TestBrowserCopied checks that the copied browser runs a page's script in a root of its own, where nothing else is.
func TestBrowserCopied(t *testing.T) {
	tier.Night(t)
	if _, err := os.Stat(shell); err != nil {
		t.Skip("this is not a Debian with the package chromium-headless-shell")
	}
	root := t.TempDir()
	if out, err := exec.Command("sh", "browser.sh", root).CombinedOutput(); err != nil {
		t.Fatalf("browser.sh: %v\n%s", err, out)
	}
	size := int64(0)
	if err := filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if size < 100<<20 || size > most {
		t.Errorf("%d bytes were copied", size)
	}

	// What Debian has beside it in the image: the places of libraries and of what the kernel shows.
	for _, link := range []string{"lib", "lib64"} {
		if err := os.Symlink(filepath.Join("usr", link), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"dev", "proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
		`mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
		exec env -i HOME=/tmp PATH=/usr/bin "$(command -v chroot || echo /usr/sbin/chroot)" "$1" chromium-headless-shell \
			--no-sandbox --disable-gpu --dump-dom 'data:text/html,<p></p><script>document.body.textContent=6*7</script>'`,
		"sh", root)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil && strings.Contains(errors.String(), "unshare failed") {
		t.Skip("this system lets nobody have a root of their own: " + errors.String())
	}
	if err != nil || !strings.Contains(string(out), "<body>42</body>") {
		t.Errorf("the page: %v\n%s%s", err, out, errors.String())
	}
}
