package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
)

// silent is a script that answers nothing.
const silent = "script: silent\nprotocol: agent-select\nas: server\nrules:\n- on: {type: ping}\n"

// opening is the number of records before the first message: the connection is requested, and accepted.
const opening = 2

// flow makes a program send messages to a play whose session a page shows.
type flow struct {
	b    *testing.B
	v    *visitor
	at   string // of the session in the API
	conn *websocket.Conn
}

func newFlow(b *testing.B) *flow {
	b.Helper()
	base := pageServer(b).URL
	body, _ := json.Marshal(map[string]string{"kind": "play", "protocol": "agent-select", "as": "server", "mind": "script",
		"script": silent})
	res, err := http.Post(base+"/api/v1/sessions", "application/json", strings.NewReader(string(body)))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var s struct{ ID, URL string }
	if err := json.NewDecoder(res.Body).Decode(&s); err != nil || s.URL == "" {
		b.Fatal(err, s)
	}
	f := &flow{b: b, v: visit(b, base, "en-US"), at: base + "/api/v1/sessions/" + s.ID}
	f.conn, _, err = websocket.Dial(b.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/agents/ws", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.conn.CloseNow() })
	return f
}

// send sends n messages at a rate, each with the time at which it was sent.
func (f *flow) send(n, perSecond int) {
	const tick = 10 * time.Millisecond
	each := max(1, perSecond/100)
	ticker := time.NewTicker(tick * time.Duration(max(1, 100/perSecond)))
	defer ticker.Stop()
	for sent := 0; sent < n; {
		<-ticker.C
		for range min(each, n-sent) {
			now := float64(time.Now().UnixMicro()) / 1000
			text := fmt.Sprintf(`{"type":"ping","at":%.3f,"text":%q}`, now, "about as long as messages usually are")
			if err := f.conn.Write(f.b.Context(), websocket.MessageText, []byte(text)); err != nil {
				f.b.Fatal(err)
			}
			sent++
		}
	}
}

// shows waits until the page shows a record.
func (f *flow) shows(n int) {
	const of = "Math.max(0, ...[...document.querySelectorAll('.when i')].map((e) => +e.textContent))"
	for {
		ctx, cancel := context.WithTimeout(f.v.ctx, 10*time.Second)
		err := chromedp.Do(ctx, chromedp.Poll[chromedp.Void](fmt.Sprintf("%s >= %d", of, n)))
		cancel()
		if err == nil {
			return
		}
		f.b.Logf("the page shows record %s of %d", f.v.value(of), n)
	}
}

// BenchmarkPageScreen reports how long a record takes to reach the screen at 1,000 messages a second: from the
// program's send to the first frame in which the page shows it. With -benchtime 30000x it lasts 30 seconds.
func BenchmarkPageScreen(b *testing.B) {
	f := newFlow(b)
	f.shows(opening)
	f.v.do(chromedp.Evaluate[chromedp.Void](`(() => { window.frames1 = []; let last = 0; const look = () => {
		const n = Math.max(0, ...[...document.querySelectorAll(".when i")].map((e) => +e.textContent));
		if (n > last) { last = n; window.frames1.push([n, Date.now()]); }
		requestAnimationFrame(look); }; look(); return 0; })()`))
	b.ResetTimer()
	f.send(b.N, 1000)
	f.shows(b.N + opening)
	b.StopTimer()
	f.v.wait(fmt.Sprintf("window.frames1.at(-1)?.[0] >= %d", b.N+opening))
	var frames [][2]float64
	if err := json.Unmarshal([]byte(f.v.value("window.frames1")), &frames); err != nil {
		b.Fatal(err)
	}
	var took []float64
	for after := 0; ; {
		var records []struct {
			N    int
			Text string
		}
		res, err := http.Get(fmt.Sprintf("%s/records?after=%d&limit=10000", f.at, after))
		if err != nil {
			b.Fatal(err)
		}
		err = json.NewDecoder(res.Body).Decode(&records)
		res.Body.Close()
		if err != nil {
			b.Fatal(err)
		}
		if len(records) == 0 {
			break
		}
		after = records[len(records)-1].N
		for _, r := range records {
			var m struct{ At float64 }
			i := slices.IndexFunc(frames, func(f [2]float64) bool { return int(f[0]) >= r.N })
			if json.Unmarshal([]byte(r.Text), &m) == nil && m.At > 0 && i >= 0 {
				took = append(took, frames[i][1]-m.At)
			}
		}
	}
	slices.Sort(took)
	if len(took) != b.N {
		b.Fatalf("%d of %d messages are on the screen", len(took), b.N)
	}
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
}

// heap returns how many MiB the page uses after a collection.
func (f *flow) heap() float64 {
	if _, err := chromedp.Call(f.v.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		f.b.Fatal(err)
	}
	use, err := chromedp.Call(f.v.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		f.b.Fatal(err)
	}
	return use.UsedSize / (1 << 20)
}

// BenchmarkPageMemory reports the memory of the page at each sixth of the messages. With -benchtime 360000x they are
// those of 30 minutes at 200 a second, sent in three minutes.
func BenchmarkPageMemory(b *testing.B) {
	f := newFlow(b)
	f.shows(opening)
	began := time.Now()
	for i := range 6 {
		f.send(b.N/6, 2000)
		f.shows(opening + b.N/6*(i+1))
		at := f.heap()
		b.ReportMetric(at, fmt.Sprintf("MiB-%d/6", i+1))
		b.Logf("after %v and %d messages: %.1f MiB, %s elements", time.Since(began).Round(time.Second), b.N/6*(i+1), at,
			f.v.value("document.querySelectorAll('*').length"))
	}
}

// BenchmarkPageStart reports the time from the start of parley simulate to a usable page, in a browser that already
// runs.
func BenchmarkPageStart(b *testing.B) {
	program := filepath.Join(b.TempDir(), "parley")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "parley/cmd/parley")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	shared(b)
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "simulate", "--console", "127.0.0.1:0")
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		v := visit(b, strings.TrimSpace(line), "en-US")
		b.StopTimer()
		if got := v.value("document.querySelector('.empty button') !== null"); got != "true" {
			b.Fatal("the page is not usable")
		}
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		b.StartTimer()
	}
}

// busy returns the seconds that the page's main thread has used the processor.
func (v *visitor) busy() float64 {
	v.t.Helper()
	all, err := chromedp.Call(v.ctx, performance.GetMetrics, cdp.Empty{})
	if err != nil {
		v.t.Fatal(err)
	}
	for _, m := range all.Metrics {
		if m.Name == "TaskDuration" {
			return m.Value
		}
	}
	v.t.Fatal("the browser does not tell the duration of its tasks")
	return 0
}

// BenchmarkPageFilter reports how long a page with 100,000 records needs for each key of some filters and for each
// page of scrolling, in the diagram and in the list: from the event to the frame after it, and the time of the
// processor, which other programs do not lengthen.
func BenchmarkPageFilter(b *testing.B) {
	const records = 100_000
	v := visit(b, pageFake(b, records, mixed).URL, "en-US")
	v.wait(fmt.Sprintf("document.querySelector('#counts').textContent === '%d of %[1]d records'", records))
	v.js(`window.timed = async (act) => { const began = performance.now(); act();
			await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); return performance.now() - began; };
		window.each = async (n, act) => { const all = []; for (let i = 0; i < n; i++) all.push(await timed(() => act(i)));
			window.took.push(...all); };
		window.types = async (text) => { const e = document.querySelector("#f-text"); e.focus();
			await each(text.length * 2, (i) => { e.value = text.slice(0, i < text.length ? i + 1 : 2 * text.length - 1 - i);
				e.dispatchEvent(new Event("input", { bubbles: true })); }); }`)
	if _, err := chromedp.Call(v.ctx, performance.Enable, performance.EnableParams{
		TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		b.Fatal(err)
	}
	measure := func(name, act string) {
		before := v.busy()
		v.js("window.took = []; window.done = false; (async () => { %s })().then(() => { window.done = true; })", act)
		v.wait("window.done")
		var took []float64
		if err := json.Unmarshal([]byte(v.value("window.took")), &took); err != nil || len(took) == 0 {
			b.Fatal(err, took)
		}
		slices.Sort(took)
		b.ReportMetric((v.busy()-before)*1000/float64(len(took)), name+"-cpu-ms")
		b.ReportMetric(took[len(took)/2], name+"-p50-ms")
		b.ReportMetric(took[len(took)-1], name+"-max-ms")
	}
	for b.Loop() {
		for _, view := range []string{"diagram", "list"} {
			v.click("#filters [data-id=" + view + "View]")
			measure(view+"-key", `for (const text of ["xxq99", 'type:agent_* -type:ping "q1234', "from:C7 verdict:failed",
				"session:sess_9999", ".agentId:deb", "latency:>100ms size:>1k", "-is:heartbeat clause:AS"]) await types(text);`)
			measure(view+"-scroll", `const d = document.querySelector("#diagram"); d.scrollTop = 0;
				await each(200, (i) => { d.scrollTop += i % 2 ? 700 : d.scrollHeight / 100; });`)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPageOpen reports how long the page needs to show all of a recording of 4,575 records, and one of 100,000,
// which the server has.
func BenchmarkPageOpen(b *testing.B) {
	for _, records := range []int{4575, 100_000} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			at := pageServer(b).URL
			text := strings.Builder{}
			text.WriteString(`{"parley":"recording","version":1,"protocol":"agent-select","role":"server"}` + "\n")
			for n := 1; n <= records; n++ {
				text.WriteString(strings.Replace(mixed(n), `"at":`, `"at_ms":`, 1) + "\n")
			}
			ask(b, "POST", at+"/api/v1/sessions", map[string]string{"kind": "replay", "recording": text.String()})
			shared(b)
			for b.Loop() {
				v := visit(b, at, "en-US")
				v.wait(fmt.Sprintf("document.querySelector('#counts').textContent === '%d of %[1]d records'", records))
			}
		})
	}
}
