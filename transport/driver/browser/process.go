package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"

	"parley/internal/deadline"
	"parley/internal/procgroup"
)

const (
	lastWords = 4 << 10         // bytes kept of a browser's stderr
	killWait  = 5 * time.Second // for a browser that no longer responds to exit
	goneWait  = time.Minute     // for a killed browser, its children and its folder to disappear
	drainWait = 2 * time.Second // for its child processes to end with it
)

// flags of every browser. Nothing visible may depend on which page is in front, and only pages may use the network.
var flags = []string{
	"--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--no-default-browser-check",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
	"--disable-extensions", "--disable-breakpad", "--disable-crash-reporter", "--mute-audio",
	"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
	"--disable-renderer-backgrounding",
	"--disable-ipc-flooding-protection", "--disable-hang-monitor", "--disable-prompt-on-repost",
	"--disable-popup-blocking",
	"--disable-domain-reliability", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
	"--force-color-profile=srgb", "--force-prefers-reduced-motion", "--hide-scrollbars", "--window-size=320,240",
	"--default-tile-width=512", "--default-tile-height=512", // faster to draw than many small tiles
	"--disable-features=Translate,MediaRouter,OptimizationHints,AutofillServerCommunication," +
		"CertificateTransparencyComponentUpdater,PreconnectToSearch,IsolateOrigins,site-per-process",
	"--disable-site-isolation-trials", "--blink-settings=dnsPrefetchingEnabled=false",
	"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy",
	"--proxy-bypass-list=" + bypassList(nil),
}

// process is a browser's process, until its folder is removed. It ends with the harness, however that ends: by the
// end of its pipe, and on Linux also by the kernel.
type process struct {
	pid    int
	folder string
	in     *os.File // commands to the browser
	out    *os.File // messages from the browser
	words  tail
	watch  watch
	exited chan struct{} // closed when it has exited; err then says how
	gone   chan struct{} // closed when its folder is gone too
	err    error
	over   chan struct{} // closed when it has exited, first of all
}

// startProcess starts a browser that can reach the network only through proxy, and accepts a key, if there is one.
func startProcess(path, proxy, pin string) (*process, error) {
	folder, err := procgroup.Folder("browser")
	if err != nil {
		return nil, err
	}
	p := &process{folder: folder, exited: make(chan struct{}), gone: make(chan struct{}), over: make(chan struct{})}
	args := append([]string{"--user-data-dir=" + folder, "--proxy-server=" + proxy}, flags...)
	args = append(args, memoryFlags()...)
	if pin != "" {
		args = append(args, pinFlag+pin)
	}
	if os.Geteuid() == 0 { // its sandbox does not support root
		args = append(args, "--no-sandbox")
	}
	cmd := exec.Command(path, append(args, "about:blank")...)
	cmd.Env = chromiumEnvironment(os.Environ())
	var theirs []*os.File
	var errs *os.File
	if theirs, errs, err = p.connectPipes(cmd); err == nil {
		started := make(chan error)
		go p.followProcess(cmd, errs, started)
		err = <-started
		for _, f := range theirs {
			_ = f.Close()
		}
	}
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// chromiumEnvironment adds variables that Chromium would otherwise set itself during its start, with the same values:
// setting one moves the whole environment, and a thread that reads it at that moment crashes the browser.
func chromiumEnvironment(have []string) []string {
	for _, v := range []string{"DBUS_SESSION_BUS_ADDRESS=disabled:", "FC_FONTATIONS=1"} {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, name+"=") }) {
			have = append(have, v)
		}
	}
	return have
}

// connectPipes connects a command: it reads commands from its file descriptor 3 and writes messages to 4.
func (p *process) connectPipes(cmd *exec.Cmd) (theirs []*os.File, errs *os.File, err error) {
	var files []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, nil, err
		}
		files = append(files, r, w)
	}
	in, inW, out, outW, errR, errW := files[0], files[1], files[2], files[3], files[4], files[5]
	p.in, p.out = inW, out
	cmd.ExtraFiles = []*os.File{in, outW}
	cmd.Stdout, cmd.Stderr = errW, errW
	procgroup.Own(cmd)
	procgroup.DieWithParent(cmd)
	procgroup.Mark(cmd)
	return []*os.File{in, outW, errW}, errR, nil
}

// followProcess follows the process until its end. It locks its thread, because the kernel kills the process when the
// thread that started it ends.
func (p *process) followProcess(cmd *exec.Cmd, errs *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = errs.Close() }()
	if err := cmd.Start(); err != nil {
		_, _ = p.in.Close(), p.out.Close()
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&p.words, errs) })
	reading.Go(func() { p.watch.watchMemory(p.pid, p.over) })
	err := cmd.Wait()
	close(p.over)
	procgroup.Kill(p.pid) // its children are of no use without it
	_ = errs.SetReadDeadline(time.Now().Add(drainWait))
	reading.Wait() // its output ends with the last process that could write to it, or to its folder
	if p.err = err; err == nil {
		p.err = errors.New("exit status 0")
	}
	close(p.exited)
	_ = os.RemoveAll(p.folder)
	close(p.gone)
}

// stop kills the process, and waits until nothing is left. It has no state that would justify a grace period.
func (p *process) stop() error {
	select {
	case <-p.exited: // its id may have been reused
	default:
		procgroup.Kill(p.pid)
	}
	late, cancel := deadline.WithLimit(context.Background(), goneWait)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-late.Done():
		return fmt.Errorf("stop browser: process %d was killed but has not ended", p.pid)
	}
}

// describeExit says how it exited.
func (p *process) describeExit() string {
	s := "the browser has ended (" + p.err.Error() + ")"
	if p.watch.justKilled() {
		s += ", because " + overMemory
	}
	if words := p.words.String(); words != "" {
		s += ": " + words
	}
	return s
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if cut := len(t.buf) - lastWords; cut > 0 {
		t.buf = append(t.buf[:0], t.buf[cut:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.buf), "?"))
}

// What one page may use before it is ended. A client of a chat server stays far below each of them; a page beyond one
// would keep the browser from showing the others.
const (
	maxDialogs   = 200   // in all
	maxWindows   = 20    // opened in all
	maxWorkers   = 32    // at once
	maxRequests  = 700   // within burst, except for files
	maxFiles     = 20000 // in all; a development server may serve each module as a file of its own
	maxDocuments = 100   // requested in all

	burst = 10 * time.Second
)

// Beginnings of the label of the Closed record of a page that ended by its own fault.
const (
	crashed = "the page has crashed"
	excess  = "the page was ended: "
)

// ByFault reports whether the label of a Closed record says that the page ended by its own fault: its renderer has
// crashed, or it used more than a page may.
func ByFault(label string) bool {
	return strings.HasPrefix(label, crashed) || strings.HasPrefix(label, excess)
}

// uses counts what a page has used. Only the session's goroutine changes it.
type uses struct {
	dialogs, windows, files, documents int

	requests int       // of the present burst
	began    time.Time // when it did
	workers  map[target.SessionID]bool
}

// countOrExceed adds one to a count, and ends the page if that is more than it may have.
func (c *Conn) countOrExceed(n *int, most int, what string) {
	if *n++; *n > most {
		c.endExceeding(fmt.Sprintf("%s, more than %d", what, most))
	}
}

// countRequest counts a request, apart from one for a document, and ends the page if there are too many.
func (c *Conn) countRequest(kind string) {
	switch kind {
	case "script", "stylesheet", "image", "font", "media":
		c.countOrExceed(&c.uses.files, maxFiles, "it has requested files without end")
	case "document":
	default:
		if now := time.Now(); now.Sub(c.uses.began) > burst {
			c.uses.began, c.uses.requests = now, 0
		}
		if c.uses.requests++; c.uses.requests > maxRequests {
			c.endExceeding(fmt.Sprintf("it has sent requests without end, more than %d within %.0f s", maxRequests,
				burst.Seconds()))
		}
	}
}

// endExceeding ends the page, which has used more than it may. Its renderer is crashed, as it may not respond to
// anything else.
func (c *Conn) endExceeding(what string) {
	if c.fault != "" {
		return
	}
	c.fault = excess + what
	startCommand(c.s, page.Crash, cdp.Empty{})
	c.s.c.endSession(c.s.id)
}

// onWorker counts a worker of the page, and prepares it.
func (c *Conn) onWorker(e target.EventAttachedToTarget) {
	c.uses.workers[e.SessionID] = true
	if len(c.uses.workers) > maxWorkers {
		c.endExceeding(fmt.Sprintf("it has started workers without end, more than %d at once", maxWorkers))
		return
	}
	c.prepareWorker(e.SessionID)
}

func (c *Conn) onWorkerGone(e target.EventDetachedFromTarget) { delete(c.uses.workers, e.SessionID) }

// whyEnded says why the page has ended by itself.
func (c *Conn) whyEnded() string {
	switch {
	case c.fault != "":
		return c.fault
	case c.crashed && c.b.p.watch.justKilled():
		return crashed + ": " + overMemory
	case c.crashed:
		return crashed
	case c.b.isLost():
		return c.b.endError()
	}
	return "the page closed itself"
}

const (
	maxProcess = 1 << 30 // bytes of its own memory that one process of a browser may use, such as a page's
	maxBrowser = 3 << 30 // bytes that all of them may use
	watchPace  = 200 * time.Millisecond
	blameTime  = 5 * time.Second // an end so soon after a kill is the kill's
)

const overMemory = "the browser used more memory than it may, 1 GiB for a page and 3 GiB in all"

// watch ends processes of a browser that use too much memory; on Linux only. A page whose process is killed crashes;
// the browser goes on.
type watch struct{ killed atomic.Int64 } // when it last did so, in Unix nanoseconds

// watchMemory watches a browser until over closes.
func (w *watch) watchMemory(pid int, over <-chan struct{}) {
	pace := time.NewTicker(watchPace)
	defer pace.Stop()
	g := &gauge{pid: pid}
	for {
		select {
		case <-over:
			return
		case <-pace.C:
		}
		if hog := greediestProcess(g.memoryByProcess()); hog != 0 {
			w.killed.Store(time.Now().UnixNano())
			kill(hog)
		}
	}
}

// justKilled reports, once for each kill, whether a process was killed a moment ago.
func (w *watch) justKilled() bool { return time.Since(time.Unix(0, w.killed.Swap(0))) < blameTime }

// greediestProcess returns the process that has to end, given the bytes that each uses; 0 if none has to.
func greediestProcess(bytes map[int]int) (pid int) {
	sum, most := 0, 0
	for id, n := range bytes {
		if sum += n; n > most {
			pid, most = id, n
		}
	}
	if most <= maxProcess && sum <= maxBrowser {
		return 0
	}
	return pid
}
