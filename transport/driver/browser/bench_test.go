package browser

import (
	"testing"

	"parley/transport/driver"
	"parley/transport/transcript"
)

// BenchmarkOpen measures opening a page in a fresh profile, from Open to the first look, with a warm browser and a
// spare page.
func BenchmarkOpen(b *testing.B) {
	site := serve(b, chatPage)
	d := New(Options{})
	defer func() { _ = d.Close() }()
	for b.Loop() {
		c, err := d.Open(b.Context(), driver.OpenOptions{Party: "A", URL: site.URL + "/",
			Page: &driver.Page{Select: "#mainAgentSelect"}}, transcript.New(nil).Append)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = c.Close(driver.Graceful)
		d.mu.Lock()
		stock := d.b.spare
		d.mu.Unlock()
		if stock != nil {
			<-stock.done
		}
		b.StartTimer()
	}
}

// BenchmarkPage measures the life of a page: open, act, settle, close.
func BenchmarkPage(b *testing.B) {
	site := serve(b, chatPage)
	d := New(Options{})
	defer func() { _ = d.Close() }()
	for b.Loop() {
		c, err := d.Open(b.Context(), driver.OpenOptions{Party: "A", URL: site.URL + "/",
			Page: &driver.Page{Select: "#mainAgentSelect"}}, transcript.New(nil).Append)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Send(b.Context(),
			driver.Message{Body: []byte(`{"do":"choose","on":"select","value":"general"}`)}); err != nil {
			b.Fatal(err)
		}
		if err := c.(*Conn).AwaitIdle(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = c.Close(driver.Graceful)
	}
}
