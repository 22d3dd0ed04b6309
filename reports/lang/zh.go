package lang

import "regexp"

// chinese are the texts of reports in Chinese, by the English that the code has.
var chinese = map[string]string{
	// verdicts
	"conformant": "合规", "as-expected": "与预期一致", "non-conformant": "不合规", "incomplete": "不完整",
	"verdict": "结论",

	// outcomes, as words and as they are in results
	"passed": "通过", "failed": "失败", "warned": "警告", "excluded": "已排除", "not applicable": "不适用",
	"not-applicable": "不适用", "not tested": "未测试", "not-tested": "未测试", "expected failure": "预期失败",
	"expected-failure": "预期失败", "unexpected pass": "意外通过", "unexpected-pass": "意外通过",
	"environment error": "环境错误", "environment-error": "环境错误", "harness error": "工具错误",
	"harness-error": "工具错误", "outcome": "结果", "Outcome": "结果", "all": "全部", "total": "合计",
	"Totals": "统计", "Totals by level": "按级别统计",

	// steps and points of cuts
	"skipped": "已跳过", "undefined": "未定义", "pending": "待实现", "ambiguous": "有歧义", "broke": "出错",
	"not reached": "未到达", "not judged": "未判定",

	// reasons of the verdict
	"interrupted before its end": "运行中途被中断", "the harness itself failed in %s": "测试工具自身出错：%s",
	"the harness itself failed": "测试工具自身出错", "a target could not be judged": "有目标无法判定",
	"the target could not be judged": "目标无法判定", "The target could not be judged": "目标无法判定",
	"%d of %s failed": "%[2]s中 %[1]d 条失败", "%s of the baseline no longer holds": "基线中有 %s与事实不符",
	"%s of the baseline no longer hold":                               "基线中有 %s与事实不符",
	"%s passed that the baseline expects to fail":                     "基线认为会失败的 %s通过了",
	"only traffic between others was judged, which certifies nothing": "只判定了其他各方之间的通信，不能用于认证",
	"a load judges what traffic shows, which certifies nothing":       "负载测试只判定通信中可见的内容，不能用于认证",
	"Under load":              "负载下",
	"certificate not checked": "未校验证书",
	"%s was not tested":       "%s未测试", "%s were not tested": "%s未测试",
	"every applicable binding clause holds": "适用的约束性条款全部成立",
	"%s was expected by the baseline":       "%s在基线预期之中", "%s were expected by the baseline": "%s在基线预期之中",
	"%s passed this time, and the baseline says that it is flaky":    "%s这次通过，基线登记为时好时坏",
	"%s passed this time, and the baseline says that they are flaky": "%s这次通过，基线登记为时好时坏",
	"only %s was run": "只运行了 %s", "no binding clause was tested": "没有测试任何约束性条款",
	" · exit %d": " · 退出码 %d", ", as incomplete runs are allowed": "（允许不完整的运行）",
	" · results in %s": " · 结果在 %s",

	// counts
	"%d clause": "%d 条条款", "%d binding clause": "%d 条约束性条款", "%d more clause": "%d 条条款",
	"%d further clause": "另有 %d 条条款", "%d row": "%d 条登记", "%d failure": "%d 处失败",
	"%d more failure": "%d 处失败", "%d expected failure": "%d 条预期失败", "%d warning": "%d 条警告",
	"%d scenario": "%d 个场景", "%d more scenario": "%d 个场景", "%d cause": "%d 个起因",
	"%d more cause": "%d 个起因", "%d finding": "%d 处发现", "%d more finding": "%d 处发现",
	"%d more expectation": "%d 项期望", "%d more note": "%d 条备注", "%d more reason": "%d 种原因",
	"%d day": "%d 天", "%d time": "%d 次", "once": "1 次", "twice": "2 次", "%d line": "%d 行",

	// punctuation
	", ": "、", "; ": "；", ".": "。", "%s: ": "%s：", "%s: %s": "%s：%s", "%s: %s, found %s": "%s：%s，共发现 %s",
	"%s (%d)": "%s（%d）", " (%s)": "（%s）", "(%s) ": "（%s）", "%s; observed %s": "%s；实际 %s",
	"%s  %s %s (%s)%s": "%s  %s %s（%s）%s",

	// units
	"%.1f ms": "%.1f 毫秒", "%.0f ms": "%.0f 毫秒", "%.1f s": "%.1f 秒", "%d min %02d s": "%d 分 %02d 秒",

	// what ran
	"seed %d": "种子 %d", "strict": "严格", "passive": "旁观", "only %s": "只含 %s", "interrupted": "被中断",
	"driver %s": "驱动 %s", "drivers %s": "驱动 %s", "(driver %s)": "（驱动 %s）", "role %s": "角色 %s",
	" over %s": "，驱动 %s", "Started": "开始", "Took": "用时", "Seed": "种子", "Exit code": "退出码",
	"Strict": "严格", "Suite": "测试集", "suite": "测试集", "warnings count as failures": "警告算作失败",
	"Target": "目标", "target": "目标", "Address": "地址", "Profile": "目标配置", "Drivers": "驱动",
	"Capabilities": "能力", "run": "运行", "Runs": "各次运行", "Parts of %s": "%s 的各部分",

	// headings
	"Failures": "失败", "failures": "失败", "Warnings": "警告", "warnings": "警告", "Every failure": "全部失败",
	"Every warning": "全部警告", "Causes": "起因", "Errors": "错误",
	"Errors: %s without a judgement":             "错误：%s没有判定",
	"These scenarios ended without a judgement.": "这些场景结束时没有得出判定。", "Not tested": "未测试",
	"Not tested, and why": "未测试及原因", "Not applicable": "不适用", "Not applicable, and why": "不适用及原因",
	"Not tested, but other scenarios judged their clauses": "未测试，但其条款由其他场景判定",
	"Expected failures": "预期失败", "Expected failures: %s": "预期失败：%s", "%s of the baseline": "基线中的 %s",
	"Observations, which do not affect the verdict": "观察结果，不影响结论", "Notes": "备注",
	"Note: %s": "备注：%s", "Clauses": "条款", "clauses": "条款", "clause": "条款", "Clauses of %s": "%s 的条款",
	"Scenarios": "场景", "scenarios": "场景", "scenario": "场景", "all clauses": "全部条款",
	"Every clause at a glance": "条款总览", "The target's last output on stderr": "目标最后写到 stderr 的内容",
	"What the target wrote to stderr": "目标写到 stderr 的内容", "Parley conformance report": "Parley 符合性报告",
	"expected to fail": "预期失败",

	// causes and failures
	"%s, found %s": "%s，共发现 %s", ", from %s": "，出自 %s", ", found %s": "，共发现 %s",
	" and %d more": " 等另外 %d 条", "and %s: %s": "另有 %s：%s", "and %s": "另有 %s",
	"and %s of %s": "%[2]s 另有 %[1]s", "and %s more of %s": "%[2]s 另有 %[1]s", "and %s more": "另有 %s",
	"and %d more": "另有 %d 处", "and %d more of this kind": "另有 %d 处同类失败",
	"and %s of a model that had no further instructions": "另有 %s，来自已无从推断的模型",
	"%s of a model that had no further instructions":     "%s，来自已无从推断的模型",
	"run it with --verbose":                              "用 --verbose 运行",
	"%s/report.html, or --verbose":                       "见 %s/report.html，或用 --verbose",
	"%s of the same records":                             "同样的记录还有 %s",
	"run the first again":                                "复现第一处失败", "expected": "期望",
	"observed": "实际", "also": "另有", "following": "后续", "looks like": "像", "at": "位置", "alike": "同类",
	"monitor": "监视器", "stderr": "stderr", "diff": "差异", "wire": "报文", "transcript": "报文记录",
	"picture": "截图", "page": "页面", "evidence": "证据", "again": "复现", "example": "例子",
	"feature": "场景文件", "reason": "原因", "step": "步骤", "note": "备注", "Rule: %s": "规则：%s",
	"; on its stderr: ":                        "；其 stderr：",
	"%s: what was to be seen in %s, driver %s": "%s：%s 中看到的内容，驱动 %s",

	// clauses
	"level": "级别", "Level": "级别", "section": "章节", "requirement": "要求", "Text": "文字",
	"id, words, reason": "编号、文字、原因", "name, step, clause": "名称、步骤、条款",
	"id, words, outcome": "编号、文字、结果", "%s excluded by the ledger": "%s被条款表排除",
	"%s of targets of other roles": "%s属于其他角色的目标",

	// baseline
	"Baseline: %s to fix": "基线：%s需要修正", "Baseline: rows to fix": "基线：需要修正的登记",
	"rows of the baseline to fix": "基线中需要修正的登记", "Baseline: %s expires soon": "基线：%s即将到期",
	"Baseline: %s expire soon": "基线：%s即将到期", "Baseline: rows that expire soon": "基线：即将到期的登记",
	"rows of the baseline that expire soon": "基线中即将到期的登记", "applied": "已生效",
	"passed this time": "这次通过", "stale": "已过时", "expired": "已到期", "unknown clause": "没有这一条款",
	"stale, the clause passes now": "已过时，条款现在通过", "expired %s": "已于 %s 到期", "today": "今天",
	"in %s": "%s后", "expires %s, on %s: %s": "%s到期（%s）：%s",

	// notes
	"driver-difference": "驱动差异", "interop": "互操作", "harness": "测试工具", "security": "安全",
	"explored": "随机序列", "cut": "切断", "fault": "故障",

	// recordings and cuts
	"its recording is not in the results folder":                     "录制不在结果目录里",
	"its recording was altered after the run: its digest is another": "录制在运行之后被改动：摘要不同",
	"its recording has %d bytes: see %s":                             "录制有 %d 字节：见 %s",
	"The page does not have it: %s.":                                 "页面里没有录制：%s。",
	"The recording cannot be shown: %s":                              "录制无法显示：%s", "it is not in the page": "页面里没有",
	"awaited, and never came: %s": "等待却没有到来：%s", "sent": "发出", "received": "收到", "noted": "备注",
	"record %s · +%s ms · ": "记录 %s · +%s 毫秒 · ", " · answers record %s": " · 应答记录 %s",
	"%s of %s shown": "显示 %s / %s", "Where a cut broke": "切断后出错之处",
	"%d of %d points broke; %d were reached, %d judged":          "%[2]d 个点中 %[1]d 个出错；到达 %[3]d 个，判定 %[4]d 个",
	"Connection of %s over %s, cut by %s after each record. %s.": "%s 的连接，驱动 %s，在每条记录之后用 %s 切断。%s。",
	"Sequence of %s, cut by %s":                                  "%s 的时序，用 %s 切断", "%d records in order": "依次 %d 条记录",
	"a cut after record %d, %s, breaks %s": "在记录 %d（%s）之后切断，破坏 %s",

	// the matrix
	"Parley: clauses and implementations": "Parley：条款与实现", "Clauses and implementations": "条款与实现",
	"Parley conformance matrix": "Parley 符合性矩阵", "clauses passed": "通过的条款", "%d of %d": "%d / %d",
	"%s passed everywhere.": "%s在各处都通过。",
	"The runs were judged by different suites: compare with care.": "这些运行由不同的测试集判定，比较时请留意。",

	// progress and the end
	"%s of %s": "%[2]s：%[1]s", "%s against %s over %s": "%s，目标 %s，驱动 %s",
	"a random sequence of %s breaks a clause; looking for a shorter one": "一个 %s的随机序列破坏了条款，正在寻找更短的",
	"interrupted: ending the run; interrupt again to exit at once":       "被中断：正在结束运行；再次中断则立即退出",
	" · the results could not be written":                                " · 结果无法写入",
	"The report is too long for a summary: see report.md.":               "报告太长，放不进摘要：见 report.md。",
	"%3d %%  %d of %s  %s  %s\n":                                         "%3d %%  %[3]s中的 %[2]d 个  %[4]s  %[5]s\n",
}

// reasons are texts of ours in results: why a clause or a scenario has its outcome.
var reasons = map[string]string{
	"no scenario that judges it was run":                    "没有运行能判定它的场景",
	"passed, but only over drivers that do not certify":     "通过了，但只经由不能用于认证的驱动",
	"no reason recorded":                                    "没有记录原因",
	"interrupted":                                           "被中断",
	"not reached":                                           "未到达",
	"the course could not be run":                           "这一过程无法运行",
	"the scenario could not be run":                         "场景无法运行",
	"the scenario was cut off: interrupted, or out of time": "场景被截断：运行中断，或时间用完",

	"the target does not use the model stub " +
		"(give model.env or model.hook in the profile)": "目标没有使用模型桩（在目标配置里写明 model.env 或 model.hook）",

	"the profile has no booking path (external-agent.booking)": "目标配置没有订票路径（external-agent.booking）",

	"the profile does not name the log folder (external-agent.logs)": "目标配置没有写明日志目录（external-agent.logs）",

	"no legal chat was answered before, so a refusal proves nothing": "之前没有合法的 chat 得到回答，拒绝说明不了什么",
	"no legal switch was accepted in this scenario, " +
		"so a refusal proves nothing": "本场景里没有合法的切换被接受，拒绝说明不了什么",
}

// reasonsAbout are the same with texts that vary.
var reasonsAbout = []struct {
	english *regexp.Regexp
	chinese string
}{
	{regexp.MustCompile(`(?s)^not reached: (.*)$`), "未到达：%s"},
	{regexp.MustCompile(`(?s)^observed: (.*)$`), "观察到：%s"},
	{regexp.MustCompile(`(?s)^excluded: (.*)$`), "已排除：%s"},
	{regexp.MustCompile(`(?s)^applies to another role: (.*)$`), "适用于其他角色：%s"},
	{regexp.MustCompile(`(?s)^baseline: (.*) \(driver ([\w-]+)\)$`), "基线：%s（驱动 %s）"},
	{regexp.MustCompile(`(?s)^baseline: (.*)$`), "基线：%s"},
	{regexp.MustCompile(`(?s)^the target cannot be reached: (.*)$`), "目标无法连接：%s"},
	{regexp.MustCompile(`^the deadline of the run was over, after (.*) \(--deadline\)$`), "运行的期限 %s 已到（--deadline）"},
	{regexp.MustCompile(`^the profile does not declare the capability (.*)$`), "目标配置没有声明能力 %s"},
	{regexp.MustCompile(`^the target does not declare the capability (.*)$`), "目标没有声明能力 %s"},
}
