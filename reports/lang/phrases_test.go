package lang

import "testing"

// TestOf: phrases are translated as a whole, in their parts, in lists and line by line; what is quoted, in brackets or
// not ours stays.
func TestOf(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"interrupted", "被中断"},
		{"not reached: interrupted", "未到达：被中断"},
		{"client A, record 3, +1.5 ms", "客户端 A，记录 3，+1.5 毫秒"},
		{"no such message within 5s; the model was not asked for the chat", "5s 内没有这样的消息；模型没有收到这条 chat 的请求"},
		{`it was accepted: error {"text":"a; b, no session"}   +2 ms, record 7`,
			`被接受了：error {"text":"a; b, no session"}   +2 毫秒，记录 7`},
		{`agent_id "a in b" in stream {}`, `stream {} 中 agent_id 为 "a in b"`},
		{"agent_id is missing in stream {}", "stream {} 中缺少 agent_id"},
		{"published: A to SYSTEM (record 1), B to FRONTEND (record 2)", "发布了：A → SYSTEM（记录 1）、B → FRONTEND（记录 2）"},
		{"logs/a.jsonl:3: an empty line", "logs/a.jsonl:3：空行"},
		{`not reached: the server answered the chat with an error: "no key" (has it a model? See model in the profile)`,
			`未到达：服务器以错误应答了 chat："no key"（它有模型吗？见目标配置中的 model）`},
		{"no session\nno session", "没有 session\n没有 session"},
		{`"no session"`, `"no session"`},
		{"no session.", "no session."},
		{"Error: whatever; it said", "Error: whatever; it said"},
	} {
		if got := Chinese.Of(tt.text); got != tt.want {
			t.Errorf("%q in Chinese is %q, want %q", tt.text, got, tt.want)
		}
		if got := English.Of(tt.text); got != tt.text {
			t.Errorf("%q in English is %q", tt.text, got)
		}
	}
}
