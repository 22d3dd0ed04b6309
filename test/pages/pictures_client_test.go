package pages_test

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// documented is the address at which the documents serve the page, whatever the port of the server is.
const documented = "127.0.0.1:8124"

// takeClient takes pictures of the bundled page of agent-client with its server.
func takeClient(v *visitor, _ string) map[string]picture {
	v.t.Helper()
	v.openClient("zh", "light", 1280, 800, 1)
	v.chooseAgent("requirement_analyzer")
	v.sendMessage("[[echo 帮我梳理一下登录功能的需求]]", 1)
	v.switchAgent("debugger")
	v.sendMessage(`[[tool n1 run_command {"command":"go test ./..."}]]`, -1)
	v.wait(`document.querySelector("#chatBox .actions button, #chatBox pre")`)
	all := map[string]picture{"client-light-zh.png": v.takePicture()}

	v.openClient("en", "dark", 1280, 800, 1)
	v.sendMessage("[[echo sort]] Write me a sort function", 1)
	v.switchAgent("debugger")
	v.sendMessage("[[stream n2 12]]", 2)
	all["client-dark-en.png"] = v.takePicture()

	v.openClient("zh", "light", 1280, 800, 1)
	v.sendMessage("[[hold n3]]", -1)
	v.wait(`document.querySelectorAll(".bubble[data-role=assistant]").length === 1`)
	v.chooseAgent("debugger")
	v.wait(`document.querySelector("#prompts .prompt")`)
	v.wait(`document.querySelector("#eventLog [data-level=error]")`)
	all["client-switching.png"] = v.takePicture()

	v.openClient("zh", "dark", 390, 780, 1.5)
	v.sendMessage("[[echo 你好]]", 1)
	all["client-narrow.png"] = v.takePicture()

	css, err := os.ReadFile("../../reference-server/agentclient/page/style.css")
	if err != nil {
		v.t.Fatal(err)
	}
	for name, p := range all {
		p.shows += string(css)
		all[name] = p
	}
	return all
}

// serveClient serves the page until the test ends, and returns its address.
func serveClient(t *testing.T, parley string) (address string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), parley, "serve", "agent-client", "--addr", "127.0.0.1:0")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Wait() }) // the test's context has ended
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(url), "http://")
}

// openClient opens the page in a language and in colours, and waits until it is connected.
func (v *visitor) openClient(language, scheme string, width, height int64, scale float64) {
	v.t.Helper()
	if _, err := chromedp.Call(v.ctx, emulation.SetTimezoneOverride,
		emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"}); err != nil {
		v.t.Fatal(err)
	}
	v.colour(scheme)
	v.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)),
		chromedp.Navigate("http://"+documented+"/?connect&lang="+language))
	v.wait(`!document.getElementById("mainAgentSelect").disabled`)
}

// requireChinese fails without a font for Chinese, in which all characters look the same.
func (v *visitor) requireChinese() {
	v.t.Helper()
	if v.value(`(() => { const drawn = (text) => { const c = document.createElement("canvas"), on = c.getContext("2d");
		on.font = "20px sans-serif"; on.fillText(text, 10, 50); return c.toDataURL(); };
		return drawn("会") !== drawn("话"); })()`) != "true" {
		v.t.Fatal("this machine has no font for Chinese, which the pictures need, such as the package fonts-wqy-zenhei")
	}
}

// chooseAgent chooses a main agent.
func (v *visitor) chooseAgent(agent string) {
	v.t.Helper()
	v.run(fmt.Sprintf(`{ const s = document.getElementById("mainAgentSelect"); s.value = %q;
		s.dispatchEvent(new Event("change", {bubbles: true})); }`, agent))
}

// switchAgent chooses a main agent, and waits until the server has switched.
func (v *visitor) switchAgent(agent string) {
	v.t.Helper()
	switched := v.value(`document.querySelectorAll(".system").length`)
	v.chooseAgent(agent)
	v.wait(`document.querySelectorAll(".system").length > ` + switched)
}

// sendMessage sends a message of the user, and waits until the agent has answered as many; a negative number does not
// wait.
func (v *visitor) sendMessage(text string, answers int) {
	v.t.Helper()
	v.do(chromedp.SetValue("#messageInput", text))
	v.run(`document.getElementById("composer").requestSubmit()`)
	v.wait(`document.querySelector("#sessionList").innerText.includes("[[")`) // the session has its title
	if answers >= 0 {
		v.wait(fmt.Sprintf(`document.querySelectorAll(".bubble[data-role=assistant]").length === %d &&
			document.getElementById("abortBtn").disabled`, answers))
	}
}

// visible lists the elements in sight with their own text.
const visible = `[...document.querySelectorAll("style")].map((e) => e.textContent).concat(
	[...document.querySelectorAll("body *")].filter((e) => {
		const box = e.getBoundingClientRect();
		return e.checkVisibility() && box.width && box.height && box.top < innerHeight && box.bottom > 0;
	}).map((e) => [e.tagName, e.getAttribute("class"), e.placeholder, e.tagName === "OPTION" ? e.selected : e.value,
		...[...e.childNodes].filter((n) => n.nodeType === Node.TEXT_NODE).map((n) => n.data.trim())].join(" "))).join("\n")`

// settled is true when the document has not changed for a while: lists are loaded again after what they list.
const settled = `new Promise((done) => {
	let quiet;
	const changed = () => { clearTimeout(quiet); quiet = setTimeout(() => done(true), 500); };
	new MutationObserver(changed).observe(document,
		{subtree: true, childList: true, attributes: true, characterData: true});
	changed();
})`

// takePicture takes a picture of what is in sight.
func (v *visitor) takePicture() picture {
	v.t.Helper()
	v.wait(settled)
	shown := v.value(visible)
	file, err := chromedp.Run(v.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		v.t.Fatal(err)
	}
	return picture{maskVarying(shown), compressPicture(v.t, file)}
}

// compressPicture returns a picture as a small file, with a palette of its most frequent colours: only edges of letters
// have others.
func compressPicture(t *testing.T, file []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	b, times := full.Bounds(), map[color.Color]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			times[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(times), func(a, b color.Color) int { return times[b] - times[a] })
	small := image.NewPaletted(b, colours[:min(len(colours), 256)])
	draw.Draw(small, b, full, b.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
