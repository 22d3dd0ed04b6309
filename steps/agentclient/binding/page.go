package binding

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"parley/target"
)

// IsPage reports whether a path or URL can only name a page, for ForPage: a folder, a file with a name ending in
// .html or .htm, whether or not it exists, or a file: URL. Any other file is a profile, for Load; other URLs can name
// either.
func IsPage(pathOrURL string) bool {
	if scheme, _, isURL := strings.Cut(pathOrURL, "://"); isURL {
		return strings.EqualFold(scheme, "file")
	}
	info, err := os.Stat(pathOrURL)
	return err == nil && info.IsDir() || htmlFile(pathOrURL)
}

func htmlFile(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".html" || ext == ".htm"
}

// ForPage returns the profile of a page that follows the default binding of agent-client. The page is a folder with
// an index.html or the file of a page, which are served; a file: URL of either, which is opened as it is; or an http
// or https URL as accepted by Kind.ForURL. Anything else is a *ProfileError.
func ForPage(pathOrURL string) (*target.Profile, error) {
	scheme, _, isURL := strings.Cut(pathOrURL, "://")
	switch {
	case isURL && strings.EqualFold(scheme, "file"):
		return forFileURL(pathOrURL)
	case isURL:
		return Kind().ForURL(pathOrURL)
	}
	return forFile(pathOrURL, pathOrURL)
}

// forFileURL is ForPage for a file: URL.
func forFileURL(text string) (*target.Profile, error) {
	u, err := url.Parse(text)
	if err != nil || u.Path == "" || u.Host != "" && u.Host != "localhost" {
		return nil, &target.ProfileError{Msg: fmt.Sprintf("%q is not a file URL", text),
			Mend: "write it like file:///home/me/page.html"}
	}
	p, err := forFile(filePath(u.Path), text)
	if err != nil {
		return nil, err
	}
	Of(p).File = true
	if u.RawQuery != "" {
		Of(p).Page += "?" + u.RawQuery
	}
	if u.Fragment != "" {
		Of(p).Page += "#" + u.EscapedFragment()
	}
	return p, nil
}

// filePath returns the path of a file: URL, which has a slash even before a drive letter.
func filePath(path string) string {
	if drive := filepath.VolumeName(filepath.FromSlash(strings.TrimPrefix(path, "/"))); drive != "" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// forFile returns the profile of a page on disk; messages refer to it by name.
func forFile(path, name string) (*target.Profile, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, &target.ProfileError{File: name, Msg: fmt.Sprintf("its folder cannot be determined: %v", err)}
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, &target.ProfileError{File: name, Msg: fmt.Sprintf("cannot be read: %v", target.Reason(err))}
	}
	p := Kind().New()
	a := Of(p)
	p.Name = strings.TrimSuffix(filepath.Base(abs), filepath.Ext(abs))
	switch {
	case info.IsDir():
		p.Name, a.Folder = filepath.Base(abs), abs
		_, err = os.Stat(filepath.Join(abs, indexFile))
	case info.Mode().IsRegular() && htmlFile(abs):
		a.Folder, a.Page = filepath.Dir(abs), (&url.URL{Path: "/" + filepath.Base(abs)}).String()
	default:
		return nil, &target.ProfileError{File: name, Msg: "is not a page",
			Mend: "name a folder that has an index.html, or a file that ends in .html"}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &target.ProfileError{File: name, Msg: "the folder has no index.html",
			Mend: "build the page first, or name its file"}
	case err != nil:
		return nil, &target.ProfileError{File: name, Msg: fmt.Sprintf("index.html cannot be read: %v", target.Reason(err))}
	}
	return p, nil
}

// splitPage splits a page's URL into the base URL and the page's path.
func splitPage(p *target.Profile) {
	scheme, rest, ok := strings.Cut(p.URL, "://")
	i := strings.IndexAny(rest, "/?#")
	if !ok || i < 0 {
		return
	}
	p.URL, Of(p).Page = scheme+"://"+rest[:i], rest[i:]
	if rest[i] != '/' {
		Of(p).Page = "/" + rest[i:]
	}
}
