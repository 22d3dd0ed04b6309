package cli

import (
	"testing"

	"github.com/chromedp/chromedp"
)

const toldBusy = `[...document.querySelectorAll("#prompts .prompt")].some((p) =>
	/busy|in progress/i.test(p.textContent))`

// inSight: the end of the chat is visible.
const inSight = `(() => { const b = document.getElementById("chatBox");
	return b.scrollHeight - b.scrollTop - b.clientHeight < 5; })()`

// say sends a message of the user.
func (v *viewer) say(text string) {
	v.t.Helper()
	v.do(chromedp.SetValue("#messageInput", text))
	v.run(`document.getElementById("composer").requestSubmit()`)
}

// testClientBusy: a message sent during a turn is marked as refused, with a button to send it again; the
// banner covers nothing, and disappears with the turn.
func testClientBusy(t *testing.T, b tabs) {
	v := b.view(t, served(t, serving(t, "agent-client", ""), serveOptions{})+"/?lang=en&connect")
	v.wait(`document.getElementById("status").dataset.state === "connected"`)
	v.say("first\n" + "line\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" + " of many")
	v.wait(`document.querySelectorAll(".bubble[data-role=assistant]").length === 1 &&
		document.getElementById("abortBtn").disabled`)
	if v.value(`document.querySelectorAll(".refused").length`) != "0" {
		t.Error("a message that was taken is marked as refused")
	}
	v.say("[[hold busy]] second")
	v.wait(`!document.getElementById("abortBtn").disabled`)
	// The server has taken it: otherwise the next message may overtake it.
	v.wait(`performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/message")).length === 2`)
	v.say("third")
	v.wait(`document.querySelectorAll(".refused button").length === 1`)
	v.wait(toldBusy)
	v.wait(inSight)
	last := v.value(`[...document.querySelectorAll(".bubble")].pop().querySelector("p").textContent`)
	marked := v.value(`document.querySelectorAll(".refused")[0].parentElement.querySelector("p").textContent`)
	if last != "third" || marked != "third" {
		t.Errorf("the mark is not below the message that was refused, but below %q; the last one is %q", marked, last)
	}
	v.axe("busy")
	v.run(`document.getElementById("abortBtn").click()`)
	v.wait(`document.getElementById("abortBtn").disabled`)
	v.wait("!" + toldBusy)
	v.run(`document.querySelector(".refused button").click()`)
	v.wait(`document.querySelectorAll(".refused").length === 0 &&
		document.querySelectorAll(".bubble[data-role=assistant]").length === 3`) // it is answered
	const third = `[...document.querySelectorAll(".bubble p")].filter((p) => p.textContent === "third").length`
	if n := v.value(third); n != "1" {
		t.Errorf("the message is shown %s times", n)
	}
	// A user who reads earlier messages is not scrolled away.
	v.run(`document.getElementById("chatBox").scrollTop = 0`)
	v.wait(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	v.run(`document.getElementById("prompts").append(Object.assign(document.createElement("p"), {textContent: "more"}))`)
	v.wait(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	if v.value(inSight) == "true" {
		t.Error("the chat was scrolled away from what the user reads")
	}
}

// testClientUnauthorized: the page says that the server requires a token; with the token it connects.
func testClientUnauthorized(t *testing.T, b tabs) {
	guarded := served(t, serving(t, "agent-client", ""), serveOptions{token: "s3cret"})
	v := b.view(t, guarded+"/?token=s3cret&lang=en")
	v.wait(`document.documentElement.lang === "en" && document.getElementById("serverUrl").value !== ""`)
	v.do(chromedp.SetValue("#serverUrl", guarded+"/?token=wrong"))
	v.run(`document.getElementById("connectBtn").click()`)
	v.wait(`document.getElementById("prompts").textContent.includes("HTTP 401")`)
	v.do(chromedp.SetValue("#serverUrl", guarded+"/?token=s3cret"))
	v.run(`document.getElementById("disconnectBtn").click()`)
	v.run(`document.getElementById("connectBtn").click()`)
	v.wait(`document.getElementById("status").dataset.state === "connected" &&
		!document.getElementById("prompts").textContent.includes("401")`)
}

// testClientUnauthorizedElsewhere: the page also recognises a 401 from a server of another origin.
func testClientUnauthorizedElsewhere(t *testing.T, b tabs) {
	guarded := served(t, serving(t, "agent-select", ""), serveOptions{token: "s3cret"})
	v := b.view(t, served(t, serving(t, "agent-client", ""), serveOptions{})+"/?lang=en&connect&server="+guarded)
	v.wait(`document.getElementById("prompts").textContent.includes("HTTP 401")`)
	v.run(`document.getElementById("disconnectBtn").click()`)
	v.do(chromedp.SetValue("#serverUrl", guarded+"/?token=s3cret"))
	v.run(`document.getElementById("connectBtn").click()`)
	v.wait(`document.getElementById("status").dataset.state === "connected" &&
		!document.getElementById("prompts").textContent.includes("401")`)
}
