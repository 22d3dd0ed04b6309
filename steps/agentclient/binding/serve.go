package binding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/target"
)

// launcher serves the folder of a page, or opens it as files.
type launcher struct{ p *target.Profile }

// Launch checks that the folder contains the page, and serves it on a free loopback port.
func (l launcher) Launch(ctx context.Context, o target.LaunchOptions) (target.Running, error) {
	folder, err := filepath.Abs(PageFolder(l.p))
	if err != nil {
		return nil, fmt.Errorf("start target: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("start target: %w", context.Cause(ctx))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, &target.StartError{Command: []string{folder}, Reason: "cannot be opened", Err: target.Reason(err)}
	}
	s := &servedPage{root: root}
	if err := s.open(folder, *Of(l.p), o.Stderr); err != nil {
		_ = root.Close()
		err.Command = []string{folder}
		return nil, err
	}
	return s, nil
}

// Private implements target.Launcher: each launch is a separate server.
func (launcher) Private() bool { return true }

// servedPage is the Running of a page in a folder.
type servedPage struct {
	base    string
	root    *os.Root
	server  *http.Server   // nil if the page is opened as files
	accepts sync.WaitGroup // done once the server accepts no more connections
	answers sync.WaitGroup // done once its connections have ended
}

var _ target.Running = (*servedPage)(nil)

// open prepares the page for a browser.
func (s *servedPage) open(folder string, a Binding, stderr io.Writer) *target.StartError {
	u, err := url.Parse(a.Page)
	if err != nil {
		return &target.StartError{Reason: "has no page " + a.Page, Err: err}
	}
	name := cmp.Or(strings.Trim(path.Clean("/"+u.Path), "/"), ".")
	if file, err := fileOf(s.root.FS(), name); err != nil {
		return &target.StartError{Reason: "has no page " + file, Err: target.Reason(err)}
	}
	if a.File {
		s.base = fileURL(folder)
		return nil
	}
	if err := s.serve(stderr); err != nil {
		return &target.StartError{Reason: "cannot be served", Err: err}
	}
	return nil
}

// serve serves the folder until Stop. The server logs errors to stderr unless that is nil.
func (s *servedPage) serve(stderr io.Writer) error {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if stderr == nil {
		stderr = io.Discard
	}
	files := http.FileServerFS(unlisted{s.root.FS()}) // no symbolic link can lead out of a root
	s.base = "http://" + l.Addr().String()
	s.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			files.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(stderr, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.answers.Add(1)
			case http.StateClosed:
				s.answers.Done()
			}
		},
	}
	s.accepts.Go(func() { _ = s.server.Serve(l) }) // ends only with Close
	return nil
}

func (s *servedPage) BaseURL() string { return s.base }
func (s *servedPage) Stderr() string  { return "" }

func (s *servedPage) Hook(_ context.Context, name string, _ target.CustomAgent) error {
	return &target.NotDeclaredError{Key: "hooks." + name}
}

func (s *servedPage) ConfigBytes() ([]byte, error) {
	return nil, &target.NotDeclaredError{Key: "configuration of a page"}
}

func (s *servedPage) Restart(context.Context, bool) error {
	return &target.NotDeclaredError{Key: "way to restart a page, other than opening it again"}
}

// Stop closes the server and its connections at once, because no request changes anything.
func (s *servedPage) Stop(context.Context) error {
	var err error
	if s.server != nil {
		err = s.server.Close()
		s.accepts.Wait()
		err = errors.Join(err, s.server.Close()) // connections accepted meanwhile
		s.answers.Wait()
	}
	return errors.Join(err, s.root.Close())
}

// unlisted hides directory listings and unreadable files: a folder without an index.html does not exist.
type unlisted struct{ fs.FS }

func (u unlisted) Open(name string) (fs.File, error) {
	if _, err := fileOf(u.FS, name); err != nil {
		return nil, fs.ErrNotExist
	}
	f, err := u.FS.Open(name)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	return f, nil
}

// indexFile is the page of a folder.
const indexFile = "index.html"

var errNoFile = errors.New("it is not a regular file")

// fileOf returns the file for a name, which for a folder is its page, or an error if there is none.
func fileOf(files fs.FS, name string) (string, error) {
	info, err := fs.Stat(files, name)
	if err == nil && info.IsDir() {
		name = path.Join(name, indexFile)
		info, err = fs.Stat(files, name)
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errNoFile
	}
	return name, err
}

// fileURL returns the file: URL of a folder, without a trailing slash.
func fileURL(folder string) string {
	p := filepath.ToSlash(folder)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	return strings.TrimRight((&url.URL{Scheme: "file", Path: p}).String(), "/")
}
