package looks

import (
	"fmt"
	"strings"
	"testing"

	texts "parley/protocol/agentclient"
	"parley/transport/driver/browser/snapshot"
)

func TestContains(t *testing.T) {
	for _, r := range []struct {
		reason, text, part string
		want               bool
	}{
		{"as it is", "[系统] 主代理已切换: General → Debugger", "主代理已切换: General → Debugger", true},
		{"full-width punctuation", "当前会话有进行中的任务，请先终止对话后再切换主代理", texts.BusyPrompt, true},
		{"full-width brackets", "未知/已失效（x）", fmt.Sprintf(texts.StaleFormat, "x"), true},
		{"white space is ignored", "主代理ID\n不能为空", texts.EmptyIDPrompt, true},
		{"another word", "主代理 ID 不能为零", texts.EmptyIDPrompt, false},
		{"another case", "general", "General", false},
		{"part of it", "主代理 ID", texts.EmptyIDPrompt, false},
		{"markup is not text", "&lt;b&gt;", "<b>", false},
	} {
		if got := Contains(r.text, r.part); got != r.want {
			t.Errorf("%s: Contains(%q, %q) = %v", r.reason, r.text, r.part, got)
		}
	}
}

// of returns a snapshot whose selector has options: "*" before a selected one, "-" before a disabled one.
func of(texts ...string) *snapshot.Page {
	l := &snapshot.Page{}
	for i, text := range texts {
		o := snapshot.Option{Value: fmt.Sprint(i), Text: strings.TrimLeft(text, "*-")}
		o.Selected, o.Disabled = strings.HasPrefix(text, "*"), strings.HasPrefix(text, "-")
		l.Select.Options = append(l.Select.Options, o)
	}
	return l
}

func TestUnlike(t *testing.T) {
	placeholder := of("*请选择", "General", "Debugger")
	placeholder.Select.Options[0].Value = ""
	two := []string{"General", "Debugger"}
	for _, r := range []struct {
		reason string
		l      *snapshot.Page
		names  []string
		behind int
		ok     bool
	}{
		{"the agents", of("*General", "Debugger"), two, 0, true},
		{"in another order, with more than the name", of("Debugger (调试代理)", "*General - 通用"), two, 0, true},
		{"a placeholder", placeholder, two, 0, true},
		{"a note that is disabled", of("-选择主代理", "*General", "Debugger"), two, 0, true},
		{"after another option", of("*未知/已失效 (x)", "General", "Debugger"), two, 1, true},
		{"one is missing", of("*General"), two, 0, false},
		{"one is repeated", of("*General", "Debugger", "Debugger"), two, 0, false},
		{"one cannot be chosen", of("*General", "-Debugger"), two, 0, false},
		{"one too many", of("*General", "Debugger", "Planner"), two, 0, false},
		{"none", of(), two, 0, false},
		{"ids for names", of("general", "debugger"), two, 0, false},
	} {
		if got := Unlike(r.l, r.names, r.behind); (got == "") != r.ok {
			t.Errorf("%s: %q", r.reason, got)
		}
	}
}
