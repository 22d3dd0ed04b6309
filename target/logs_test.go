//go:build unix

package target

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenLog(t *testing.T) {
	top := t.TempDir()
	logs := filepath.Join(top, "srv", "logs")
	for name, text := range map[string]string{
		"srv/logs/study/a.jsonl": "a", "srv/logs/b.jsonl": "b", "srv/logs/logs/own.jsonl": "own",
		"srv/logs/logs/b.jsonl": "inner b", "srv/outside.jsonl": "secret", "elsewhere/c.jsonl": "secret",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"srv/logs/latest.jsonl": "study/a.jsonl", "srv/logs/out.jsonl": "../outside.jsonl", "srv/logs/far": "../../elsewhere",
		"srv/logs/full.jsonl": filepath.Join(logs, "b.jsonl"), "srv/logs/lost.jsonl": "../none.jsonl",
		"srv/logs/dead.jsonl": "none",
		"alias":               "srv/logs",
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(logs, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(top, "alias")
	for _, tt := range []struct{ reason, folder, name, want, err string }{
		{"a name in the folder", logs, "b.jsonl", "b", ""},
		{"a name below it", logs, "study/a.jsonl", "a", ""},
		{"dots that mean nothing", logs, "./study//./a.jsonl", "a", ""},
		{"the folder's own name before it", logs, "logs/study/a.jsonl", "a", ""},
		{"two of its names before it", logs, "srv/logs/study/a.jsonl", "a", ""},
		{"a folder further down", filepath.Join(logs, "study"), "logs/study/a.jsonl", "a", ""},
		{"a folder of the same name in the folder", logs, "logs/own.jsonl", "own", ""},
		{"both exist, and the literal meaning wins", logs, "logs/b.jsonl", "inner b", ""},
		{"an absolute name", logs, filepath.Join(logs, "study/a.jsonl"), "a", ""},
		{"an absolute name by another way", alias, filepath.Join(logs, "study/a.jsonl"), "a", ""},
		{"an absolute name by the same other way", alias, filepath.Join(alias, "b.jsonl"), "b", ""},
		{"a link within the folder", logs, "latest.jsonl", "a", ""},

		{"no name", logs, "", "", "open log: no file is named"},
		{"a file that is not there", logs, "study/b.jsonl", "", "open log study/b.jsonl in " + logs +
			": file does not exist"},
		{"a file that is not there, by the folder's own name", logs, "logs/c.jsonl", "",
			"open log logs/c.jsonl in " + logs + ": file does not exist"},
		{"a dangling link", logs, "dead.jsonl", "", "open log dead.jsonl in " + logs + ": file does not exist"},
		{"a folder that is not there", filepath.Join(top, "none"), "a", "",
			"open the folder of logs: open " + filepath.Join(top, "none") + ": no such file or directory"},
		{"a folder for a file", logs, "study", "", "open log: study is not a file"},
		{"the folder itself", logs, ".", "", "open log: . is not a file"},
		{"the folder itself, by its absolute name", logs, logs, "", "open log: . is not a file"},
		{"a pipe without a writer", logs, "pipe", "", "open log: pipe is not a file"},
		{"a file for a folder", logs, "b.jsonl/a", "", "open log: statat b.jsonl/a: not a directory"},
		{"a zero byte", logs, "a\x00b", "", "open log: statat a\x00b: invalid argument"},
		{"upwards", logs, "../outside.jsonl", "", `the log file "../outside.jsonl" lies outside of ` + logs +
			": .. leads out of the folder"},
		{"upwards behind a name of the folder", logs, "logs/study/../../outside.jsonl", "",
			`the log file "logs/study/../../outside.jsonl" lies outside of ` + logs + ": .. leads out of the folder"},
		{"upwards, and down again", logs, "../logs/b.jsonl", "", `the log file "../logs/b.jsonl" lies outside of ` + logs +
			": .. leads out of the folder"},
		{"upwards from the folder's absolute name", logs, logs + "/../outside.jsonl", "",
			`the log file "` + logs + `/../outside.jsonl" lies outside of ` + logs + ": .. leads out of the folder"},
		{"an absolute name elsewhere", logs, filepath.Join(top, "elsewhere/c.jsonl"), "",
			`the log file "` + top + `/elsewhere/c.jsonl" lies outside of ` + logs +
				": it is an absolute path to somewhere else"},
		{"a folder whose name begins like it", logs, logs + "2/a", "",
			`the log file "` + logs + `2/a" lies outside of ` + logs + ": it is an absolute path to somewhere else"},
		{"a link out of the folder", logs, "out.jsonl", "", `the log file "out.jsonl" lies outside of ` + logs +
			": a symbolic link leads out of it"},
		{"the same, by the folder's own name", logs, "logs/out.jsonl", "",
			`the log file "logs/out.jsonl" lies outside of ` + logs + ": a symbolic link leads out of it"},
		{"a folder that is a link out", logs, "far/c.jsonl", "", `the log file "far/c.jsonl" lies outside of ` + logs +
			": a symbolic link leads out of it"},
		{"a dangling link out of the folder", logs, "lost.jsonl", "",
			`the log file "lost.jsonl" lies outside of ` + logs + ": a symbolic link leads out of it"},
		{"an absolute link", logs, "full.jsonl", "", `the log file "full.jsonl" lies outside of ` + logs +
			": a symbolic link leads out of it"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			f, err := OpenLog(tt.folder, tt.name)
			if err != nil {
				if diff := cmp.Diff(tt.err, err.Error()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				var outside *OutsideError
				if errors.As(err, &outside) != strings.Contains(tt.err, "lies outside") {
					t.Errorf("got a %T", err)
				}
				if errors.Is(err, fs.ErrNotExist) != strings.HasSuffix(tt.err, "exist") && tt.folder == logs {
					t.Errorf("%v: it is fs.ErrNotExist: %v", err, errors.Is(err, fs.ErrNotExist))
				}
				return
			}
			defer f.Close()
			if b, err := io.ReadAll(f); string(b) != tt.want || err != nil || tt.err != "" {
				t.Errorf("read %q (%v), want %q, %s", b, err, tt.want, tt.err)
			}
		})
	}
}

func TestLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ reason, text, want, err string }{
		{"an empty one", "", "", ""},
		{"less than is read", "ab", "ab", ""},
		{"exactly what is read", "abcd", "abcd", ""},
		{"more than is read", "abcde", "abcd", "the log " + filepath.Join(dir, "a.jsonl") + " has more than 4 bytes"},
	} {
		if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openLog(dir, "a.jsonl", 4)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if string(b) != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: read %q (%v), want %q, %s", tt.reason, b, err, tt.want, tt.err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", tt.reason, err)
		}
	}
}

func TestLogFolder(t *testing.T) {
	p := runningProfile(t)
	in := start(t, p, LaunchOptions{})
	var missing *NotDeclaredError
	if _, err := in.LogFolder(); !errors.As(err, &missing) || missing.Key != "toy.logs" {
		t.Errorf("nothing says where: %v", err)
	}
	for _, tt := range []struct{ reason, logs, want string }{
		{"relative to the profile", "logs", filepath.Join(p.Dir, "logs")},
		{"in the scratch folder", "{dir}/logs", filepath.Join(in.fill.dir, "logs")},
		{"in the profile's folder", "{profile}/../logs", filepath.Join(p.Dir, "..", "logs")},
		{"anywhere", "/var/log/", "/var/log"},
	} {
		toySectionOf(p).Logs = tt.logs
		got, err := in.LogFolder()
		if err != nil || filepath.Clean(got) != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.reason, got, err, tt.want)
		}
	}
}
