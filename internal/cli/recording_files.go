package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parley/internal/input"
	"parley/internal/words"
	"parley/protocol/messages"
	"parley/simulator/proxy"
	"parley/steps"
	"parley/target"
	"parley/transport/recording"
	"parley/transport/recording/har"
)

// judgedFile is a recording or HAR file that is judged.
type judgedFile struct {
	name     string
	header   recording.Header
	again    bool              // it can be opened again, unlike stdin and pipes
	in       *recording.Reader // of what cannot be
	file     io.Closer         // that is open
	har      []byte            // the recording that a HAR file makes, once it is read
	roles    []proxy.Role
	unjudged string // why there are none
	began    time.Time
}

// title names what is judged of the file.
func (f *judgedFile) title(conn string) string {
	name := f.name
	if name == "-" {
		name = "on stdin"
	}
	if conn != "" {
		conn = ", connection " + conn
	}
	return "the recording " + name + conn
}

func (f *judgedFile) close() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// forget closes a file that can be opened again, and frees what was read of it.
func (f *judgedFile) forget() {
	if f.again {
		f.close()
		f.har = nil
	}
}

func closeFiles(files []*judgedFile) {
	for _, f := range files {
		f.close()
	}
}

// openFiles reads the headers of files. What cannot be opened again stays open.
func (o recordingJudgeOptions) openFiles(ctx context.Context, names []string, s *streams) (files []*judgedFile,
	err error) {
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		return nil, usagef("-: stdin is read once (name it once)")
	}
	for _, name := range names {
		f := &judgedFile{name: name}
		files = append(files, f)
		in, err := f.open(ctx, o, s)
		if err != nil {
			return files, err
		}
		f.header = in.Header()
		info, err := os.Stat(name)
		if f.again = name != "-" && err == nil && info.Mode().IsRegular(); !f.again {
			f.in = in
			continue
		}
		f.forget()
	}
	return files, nil
}

// open opens the file. HAR is read whole.
func (f *judgedFile) open(ctx context.Context, o recordingJudgeOptions, s *streams) (*recording.Reader, error) {
	var file io.ReadCloser = io.NopCloser(s.In)
	if f.name != "-" {
		opened, err := input.Open(ctx, f.name)
		if err != nil {
			return nil, usagef("%v", err)
		}
		file = opened
	}
	f.file = file
	text := bufio.NewReaderSize(file, 64<<10)
	if !isHAR(f.name, text) {
		in, err := recording.NewReader(text)
		if err != nil {
			return nil, usagef("%s: %v", f.name, err)
		}
		return in, nil
	}
	var out bytes.Buffer
	result, err := har.Read(&out, text, o.harOptions())
	if err != nil {
		return nil, usagef("%s: %v", f.name, err)
	}
	if f.header.By == "" { // it is read for the first time
		tellHAR(program+": "+f.name, result, s.Err)
	}
	f.har = out.Bytes()
	return recording.NewReader(bytes.NewReader(f.har))
}

// harOptions say how a HAR file is read.
func (o recordingJudgeOptions) harOptions() har.Options {
	p, _ := o.givenProfile() // it is told where it is used
	return harOptions(o.protocol, o.origin, p)
}

// harOptions say how a HAR file is read: what its protocol reads of headers, and which requests are answered by
// themselves, if it is named. A profile that is nil is that of the protocol.
func harOptions(protocol, origin string, of *target.Profile) har.Options {
	o := har.Options{Protocol: protocol, Origin: origin, By: program + " " + suite.Version}
	p, err := suite.Find(protocol)
	if err != nil {
		return o
	}
	if of == nil {
		of = namesAt(p.Kind(), origin)
	}
	if by, is := p.(steps.Poster); is {
		o.Posts, o.Reads = by.Posts(of)
	}
	return o
}

// reader returns what reads the file from its beginning.
func (f *judgedFile) reader(ctx context.Context, o recordingJudgeOptions, s *streams) (*recording.Reader, error) {
	switch {
	case f.har != nil:
		return recording.NewReader(bytes.NewReader(f.har))
	case f.in != nil:
		return f.in, nil
	}
	return f.open(ctx, o, s)
}

// isHAR reports whether a file is HAR: by its name, or its first member.
func isHAR(name string, text *bufio.Reader) bool {
	if strings.EqualFold(filepath.Ext(name), ".har") {
		return true
	}
	_, _ = text.Peek(1)
	begin, _ := text.Peek(text.Buffered())
	d := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(begin, []byte("\xef\xbb\xbf"))))
	if first, err := d.ReadToken(); err != nil || first.Kind() != '{' {
		return false
	}
	member, err := d.ReadToken()
	return err == nil && member.Kind() == '"' && member.String() == "log"
}

// tellHAR says what was read of a HAR file. who begins each line.
func tellHAR(who string, result har.Result, w io.Writer) {
	fmt.Fprintf(w, "%s: %d requests and connections; %d others were left out\n", who, result.Entries, result.Left)
	if result.Unheard > 0 {
		fmt.Fprintf(w, "%s: the messages of %s are not in the file (Chromium exports them)\n", who,
			words.Counted(result.Unheard, "WebSocket"))
	}
}

// givenProfile loads --profile, whose protocol is the one to judge by.
func (o *judgingOptions) givenProfile() (*target.Profile, error) {
	if o.profile == "" {
		return nil, nil
	}
	p, err := suite.Kinds().Load(o.profile)
	if err != nil {
		return nil, err
	}
	if o.protocol != "" && o.protocol != p.Protocol {
		return nil, usagef("--protocol %s: %s speaks %s (leave --protocol out)", o.protocol, o.profile, p.Protocol)
	}
	o.protocol = p.Protocol
	return p, nil
}

// chooseProtocol returns the protocol of the files, or the one that the user names.
func (j *judgingFiles) chooseProtocol(ctx context.Context, files []*judgedFile, s *streams) (steps.Protocol, error) {
	if err := knownProtocols(givenList(j.recordingJudgeOptions.protocol)); err != nil {
		return nil, err
	}
	name, first := j.recordingJudgeOptions.protocol, ""
	for _, f := range files {
		if j.recordingJudgeOptions.protocol != "" {
			break
		}
		own := f.header.Protocol
		if own == "" {
			var err error
			if own, err = f.recognise(ctx, j.recordingJudgeOptions, s); err != nil {
				return nil, err
			}
			fmt.Fprintf(s.Err, "%s: %s is judged as %s, whose messages it has (--protocol names another)\n", program, f.name,
				own)
		}
		if name != "" && own != name {
			return nil, usagef("%s is of %s, and %s of %s (judge each protocol on its own)", first, name, f.name, own)
		}
		if _, err := suite.Find(own); err != nil {
			return nil, usagef("%s: %v", f.name, err)
		}
		name, first = own, f.name
	}
	j.recordingJudgeOptions.protocol = name
	return suite.Find(name)
}

// mostRecognised bounds the records by which a file is recognised.
const mostRecognised = 2000

// recognise returns the protocol whose messages most records of a file are. Where a page and its server have the same,
// it is that of the server.
func (f *judgedFile) recognise(ctx context.Context, o recordingJudgeOptions, s *streams) (string, error) {
	best, most, pages := []string{}, 0, false
	defer f.forget()
	for _, p := range suite.All {
		if f.in != nil && f.har == nil {
			break // it cannot be read twice
		}
		in, err := f.reader(ctx, o, s)
		if err != nil {
			return "", err
		}
		n, err := countMessages(in, p)
		f.close()
		if err != nil {
			return "", err
		}
		page := slices.Contains(p.Kind().Drivers, target.Browser)
		switch {
		case n == 0 || n < most || n == most && page && !pages:
		case n > most, pages && !page:
			best, most, pages = []string{steps.Name(p)}, n, page
		default:
			best = append(best, steps.Name(p))
		}
	}
	switch len(best) {
	case 1:
		return best[0], nil
	case 0:
		return "", usagef("%s: it does not say of which protocol it is, and has messages of none (name it: --protocol %s)",
			f.name, words.Either(suite.Names()))
	}
	return "", usagef("%s: it does not say of which protocol it is, and %d fit (choose one: --protocol %s)", f.name,
		len(best), words.Either(best))
}

// countMessages counts the first records that are messages of a protocol.
func countMessages(in *recording.Reader, p steps.Protocol) (n int, err error) {
	codec, err := proxy.NewCodec(p, steps.Roles(p)[0], in.Header().URL)
	if err != nil {
		return 0, err
	}
	set, decode, view := messages.For(steps.Name(p)), codec.Decoder(), recording.NewClientView(in)
	for range mostRecognised {
		r, err := view.Next()
		if err != nil {
			return n, nil // it is judged up to there
		}
		if decode(&r); isMessage(set, r) {
			n++
		}
	}
	return n, nil
}
