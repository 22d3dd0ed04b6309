package suitetest

import (
	"context"
	"net/url"
	"strings"
	"sync"

	"parley/simulator/proxy"
	"parley/transport/driver"
	"parley/transport/transcript"
)

// throughBrowser opens pages whose server is behind a proxy: one page, one proxy.
type throughBrowser struct {
	driver.Driver
	seen *Seen
}

// Open implements driver.Driver. The server's address is in the query of the page's URL.
func (b *throughBrowser) Open(ctx context.Context, o driver.OpenOptions, sink driver.Sink) (driver.Conn, error) {
	server := serverIn(o.URL)
	if server == "" {
		return b.Driver.Open(ctx, o, sink)
	}
	p, err := b.seen.openProxy(server)
	if err != nil {
		return nil, err
	}
	o.URL = strings.ReplaceAll(o.URL, url.QueryEscape(server), url.QueryEscape(p.URL()))
	conn, err := b.Driver.Open(ctx, o, func(r transcript.Record) int {
		r.Label = strings.ReplaceAll(r.Label, p.URL(), server) // the suite compares the requests that the browser has seen
		return sink(r)
	})
	if err != nil {
		b.seen.closeProxy(p)
		return nil, err
	}
	return &pageThrough{PageConn: conn.(driver.PageConn), seen: b.seen, proxy: p}, nil
}

// serverIn returns the address of a server in the query of a URL; "" if there is none.
func serverIn(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	for _, values := range u.Query() {
		for _, v := range values {
			if at, err := url.Parse(v); err == nil && at.Scheme == "http" && at.Port() != "" {
				return at.Scheme + "://" + at.Host
			}
		}
	}
	return ""
}

type pageThrough struct {
	driver.PageConn
	seen  *Seen
	proxy *proxy.Proxy
	once  sync.Once
}

// Close implements driver.Conn.
func (c *pageThrough) Close(how driver.CloseMode) error {
	err := c.PageConn.Close(how)
	c.once.Do(func() { c.seen.closeProxy(c.proxy) })
	return err
}
