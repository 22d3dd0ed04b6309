package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/go-json-experiment/json"

	"parley/internal/deadline"
	"parley/transport/driver"
)

const (
	width, height = 1280, 800
	prepareTime   = 30 * time.Second // for a page made in advance
	maxBody       = 1 << 20          // bytes of a request body
)

// profile is what pages share: cookies, storage, and what they may reach.
type profile struct {
	token string
	id    cdp.BrowserContextID
	fence *fence
	pages int // guarded by browser.mu
}

// tab is an empty page, ready to navigate.
type tab struct {
	profile *profile
	id      target.ID
	s       *session
}

// spare is a tab in a fresh profile, made in advance.
type spare struct {
	done chan struct{}
	tab  *tab
}

// makeSpareTab makes a spare tab in the background.
func (b *browser) makeSpareTab() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare != nil || b.stopping {
		return
	}
	s := &spare{done: make(chan struct{})}
	b.spare = s
	b.work.Go(func() {
		defer close(s.done)
		ctx, cancel := deadline.WithLimit(b.live, prepareTime)
		defer cancel()
		if t, err := b.newProfileTab(ctx, nil); err == nil {
			s.tab = t
		}
	})
}

// takeTab returns a tab in a fresh profile, or in the one that a token names.
func (b *browser) takeTab(ctx context.Context, token string, hosts []string) (*tab, error) {
	if token != "" {
		return b.sharedProfileTab(ctx, token, hosts)
	}
	if len(hosts) > 0 {
		return b.newProfileTab(ctx, hosts)
	}
	b.mu.Lock()
	s := b.spare
	b.spare = nil
	b.mu.Unlock()
	if s != nil {
		select {
		case <-s.done:
		case <-ctx.Done():
			b.mu.Lock()
			if b.spare == nil {
				b.spare = s // keep it for the next page
			}
			b.mu.Unlock()
			return nil, context.Cause(ctx)
		}
		if s.tab != nil && !s.tab.s.isGone() {
			return s.tab, nil
		}
	}
	return b.newProfileTab(ctx, nil)
}

// newProfileTab makes a tab in a new profile.
func (b *browser) newProfileTab(ctx context.Context, hosts []string) (*tab, error) {
	f, err := newFence(hosts)
	if err != nil {
		return nil, err
	}
	yes := true
	r, err := callCommand(ctx, b.c.browserSession(), target.CreateBrowserContext,
		target.CreateBrowserContextParams{DisposeOnDetach: &yes,
			ProxyServer: f.address(), ProxyBypassList: bypassList(hosts)})
	if err != nil {
		f.close()
		return nil, err
	}
	b.mu.Lock()
	b.n++
	p := &profile{token: fmt.Sprintf("profile-%d-%d", b.p.pid, b.n), id: r.BrowserContextID, fence: f, pages: 1}
	b.profiles[p.token] = p
	b.mu.Unlock()
	return b.newTab(ctx, p)
}

// sharedProfileTab makes a tab in the profile of another page.
func (b *browser) sharedProfileTab(ctx context.Context, token string, hosts []string) (*tab, error) {
	b.mu.Lock()
	p := b.profiles[token]
	if p != nil {
		p.pages++
	}
	b.mu.Unlock()
	if p == nil {
		return nil, errors.New("the page whose profile it should share is gone")
	}
	for _, h := range hosts {
		if !p.fence.allowsURL("http://"+h) && !p.fence.allowsURL("https://"+h) {
			b.releaseProfile(p, true)
			return nil, fmt.Errorf("the shared profile does not allow %s", h)
		}
	}
	return b.newTab(ctx, p)
}

// newTab makes a tab in a profile that already counts it.
func (b *browser) newTab(ctx context.Context, p *profile) (*tab, error) {
	yes := true
	// The page takes its window for one of width and height; a small one is faster to draw, and screenshots show the
	// whole. A hidden target would be quicker to make, but draws nothing: no animation frames, no screenshots.
	made, err := callCommand(ctx, b.c.browserSession(), target.CreateTarget,
		target.CreateTargetParams{URL: "about:blank", Width: 320, Height: 240,
			BrowserContextID: p.id, NewWindow: &yes})
	if err != nil {
		b.releaseProfile(p, true)
		return nil, err
	}
	t := &tab{profile: p, id: made.TargetID}
	attached, err := callCommand(ctx, b.c.browserSession(), target.AttachToTarget,
		target.AttachToTargetParams{TargetID: t.id, Flatten: &yes})
	if err != nil {
		b.closeTab(t, true)
		return nil, err
	}
	t.s = b.c.registerSession(attached.SessionID)
	body := int64(maxBody)
	startCommand(t.s, page.Enable, page.EnableParams{})
	startCommand(t.s, target.SetAutoAttach, target.SetAutoAttachParams{AutoAttach: true, WaitForDebuggerOnStart: true,
		Flatten: &yes})
	startCommand(t.s, inspector.Enable, cdp.Empty{})
	startCommand(t.s, network.Enable, network.EnableParams{MaxPostDataSize: &body})
	startCommand(t.s, runtime.AddBinding, runtime.AddBindingParams{Name: tellName, ExecutionContextName: worldName})
	startCommand(t.s, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	startCommand(t.s, emulation.SetDeviceMetricsOverride,
		emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height,
			DeviceScaleFactor: 1})
	if _, err := callCommand(ctx, t.s, runtime.Enable, cdp.Empty{}); err != nil {
		b.closeTab(t, true)
		return nil, err
	}
	return t, nil
}

// closeTab closes a tab, and its profile after the last one. It waits for that if wait is set.
func (b *browser) closeTab(t *tab, wait bool) {
	if t.s != nil {
		b.c.endSession(t.s.id)
	}
	if b.releaseProfile(t.profile, wait) {
		return
	}
	b.awaitClosed(startCommand(b.c.browserSession(), target.CloseTarget,
		target.CloseTargetParams{TargetID: t.id}).answer, wait)
}

// releaseProfile removes a page from a profile's count, and ends the profile after the last one.
func (b *browser) releaseProfile(p *profile, wait bool) (last bool) {
	b.mu.Lock()
	p.pages--
	last = p.pages == 0
	if last {
		delete(b.profiles, p.token)
	}
	b.mu.Unlock()
	if last {
		b.awaitClosed(startCommand(b.c.browserSession(), target.DisposeBrowserContext,
			target.DisposeBrowserContextParams{BrowserContextID: p.id}).answer, wait)
		p.fence.close()
	}
	return last
}

// awaitClosed waits, if wanted, until a page is gone.
func (b *browser) awaitClosed(gone <-chan *cdproto.Message, wait bool) {
	if !wait {
		return
	}
	late, cancel := deadline.WithLimit(context.Background(), closeTime)
	defer cancel()
	select {
	case <-gone:
	case <-late.Done():
	}
}

// Names of the reader's world, of its function for sending messages, and of its interface for queries.
const (
	worldName  = "parley"
	tellName   = "parleyTell"
	readerName = "parleyReader"
)

//go:embed reader.js
var readerSource string

// readerConfig is the configuration of reader.js.
type readerConfig struct {
	Tell     string            `json:"tell"`
	Name     string            `json:"name"`
	Select   string            `json:"select"`
	Controls map[string]string `json:"controls"`
	Chat     string            `json:"chat"`
	Log      string            `json:"log"`
	LogRow   string            `json:"logRow"`
	Levels   map[string]string `json:"levels"`
	Loading  string            `json:"loading"`
	Dismiss  string            `json:"dismiss"`
}

// readerFor returns the script that reads a page.
func readerFor(p *driver.Page) (string, error) {
	c := readerConfig{Tell: tellName, Name: readerName, Select: p.Select, Controls: map[string]string{}, Chat: p.Chat,
		Log:    p.Log,
		LogRow: p.LogRow, Levels: map[string]string{}, Loading: p.Loading, Dismiss: p.Dismiss}
	for name, hook := range p.Controls {
		if hook != "" {
			c.Controls[name] = hook
		}
	}
	for level, css := range p.Levels {
		if css != "" {
			c.Levels[level] = css
		}
	}
	b, err := json.Marshal(c, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("configure the reader: %w", err)
	}
	return "(" + readerSource + ")(" + string(b) + ")", nil
}

// readerCall returns an expression that calls a function of the reader.
func readerCall(function string, args ...any) string {
	b, err := json.Marshal(args)
	if err != nil || args == nil {
		b = []byte("[]")
	}
	return readerName + "." + function + "(..." + string(b) + ")"
}

// Pages reach loopback, their own host, and what the profile allows. Everything else is sent to a proxy on loopback
// that refuses it, so that nothing leaves the machine, not even name lookups.

// loopback lists what is always reachable, in the syntax of a proxy bypass list. It replaces the browser's own
// definition, which includes link-local addresses.
const loopback = "<-loopback>;localhost;*.localhost;127.0.0.0/8;[::1]"

// bypassList returns the bypass list of the proxy.
func bypassList(hosts []string) string {
	return strings.Join(append([]string{loopback}, hosts...), ";")
}

// hostShape matches a name or an address, with or without a port.
var hostShape = regexp.MustCompile(`^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// allowedHosts lists what a page at address may request besides loopback: its own host, and what the profile allows.
func allowedHosts(address string, allow []string) ([]string, error) {
	var out []string
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if h := u.Hostname(); h != "" && !isLoopback(h) {
		if strings.Contains(h, ":") {
			h = "[" + h + "]"
		}
		allow = append([]string{h}, allow...)
	}
	for _, h := range allow {
		if ip, err := netip.ParseAddr(h); err == nil && ip.Is6() {
			h = "[" + h + "]"
		}
		if !hostShape.MatchString(h) {
			return nil, fmt.Errorf("%q is not a host that could be allowed", h)
		}
		out = append(out, strings.ToLower(h))
	}
	return out, nil
}

func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.Is4() && ip.IsLoopback() || ip == netip.IPv6Loopback())
}

// hostPort returns a URL's host and port; "" if it is not on a network.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	port := map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]
	if port == "" {
		return ""
	}
	if p := u.Port(); p != "" {
		port = p
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// fence is the refusing proxy of one profile.
type fence struct {
	hosts []string // allowed besides loopback
	tcp   net.Listener
	serve http.Server
	work  sync.WaitGroup

	mu       sync.Mutex
	attempts []string // refused requests: a method, and a URL or a host and port
}

// maxAttempts bounds the refused requests that are remembered.
const maxAttempts = 1000

func newFence(hosts []string) (*fence, error) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &fence{hosts: hosts, tcp: tcp}
	f.serve = http.Server{Handler: http.HandlerFunc(f.refuseRequest), ReadHeaderTimeout: time.Minute}
	f.serve.SetKeepAlivesEnabled(false)
	f.work.Go(func() { _ = f.serve.Serve(tcp) })
	return f, nil
}

func (f *fence) address() string { return f.tcp.Addr().String() }

func (f *fence) refuseRequest(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	if len(f.attempts) < maxAttempts {
		f.attempts = append(f.attempts, r.Method+" "+r.RequestURI)
	}
	f.mu.Unlock()
	http.Error(w, "pages may not send requests to this host", http.StatusForbidden)
}

// allowsURL reports whether a page may request a URL.
func (f *fence) allowsURL(address string) bool {
	at := hostPort(address)
	host, port, err := net.SplitHostPort(at)
	if err != nil || isLoopback(host) {
		return true
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return slices.Contains(f.hosts, host) || slices.Contains(f.hosts, host+":"+port)
}

func (f *fence) close() {
	_ = f.serve.Close()
	f.work.Wait()
}
