package lang

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
	"%s was never shown with its answer, and %s are allowed":          "没有出现过 %s 及其回答，允许 %s",
	"%s took at most %s, and %s are allowed":                          "%s 最长 %s，允许 %s",
	"%s took longer than %s %d times of %d; one had no answer after %s (%s)": "" +
		"%[1]s 在 %[4]d 次中有 %[3]d 次超过 %[2]s；有一次过了 %[5]s 仍无回答（%[6]s）",
	"%s took longer than %s %d times of %d; at most %s (%s)": "" +
		"%[1]s 在 %[4]d 次中有 %[3]d 次超过 %[2]s；最长 %[5]s（%[6]s）",
	"Under load":              "负载下",
	"certificate not checked": "未校验证书",
	"%s was not tested":       "%s未测试", "%s were not tested": "%s未测试",
	"%s was cut off: %s": "%s被截断：%s", "%s were cut off: %s": "%s被截断：%s",
	"every applicable binding clause holds": "适用的约束性条款全部成立",
	"%s was expected by the baseline":       "%s在基线预期之中", "%s were expected by the baseline": "%s在基线预期之中",
	"%s passed this time, and the baseline says that it is flaky":    "%s这次通过，基线登记为时好时坏",
	"%s passed this time, and the baseline says that they are flaky": "%s这次通过，基线登记为时好时坏",
	"only %s was run": "只运行了 %s", "no binding clause was tested": "没有测试任何约束性条款",
	" · exit %d": " · 退出码 %d", ", as incomplete runs are allowed": "（允许不完整的运行）",
	" (--allow-incomplete accepts this)": "（加 --allow-incomplete 即可接受）",
	" · results in %s":                   " · 结果在 %s",
	"next":                               "下一步",
	"%s went otherwise over one driver than over another, which breaks no clause (%s): %s": "" +
		"%s经不同驱动进展不同，但不违反条款（%s）：%s",

	"Failed by their own clauses: %s. In the traffic of %s a clause was found broken, too: that " +
		"fails the clause, and no scenario.": "因自己的条款失败：%s。在%s的通信中也发现有条款被违反：条款因此失败，场景不因此失败。",

	"The two runs did not run the same (%s): changes below may come of that alone.": "" +
		"两次运行的范围不同（%s）：下面的变化可能只是因此而来。",
	"Not tested now, and never a failure: %s": "现在未测试，且从不算失败：%s",
	" · %d of these changes are no regression, as they are excused or do not bind": "" +
		"；其中 %d 处不算退步：已被豁免或没有约束力",

	// counts
	"%d clause": "%d 条", "%d binding clause": "%d 条约束性条款", "%d more clause": "%d 条",
	"%d further clause": "另有 %d 条", "%d row": "%d 条登记", "%d failure": "%d 处失败",
	"%d more failure": "%d 处失败", "%d expected failure": "%d 条预期失败", "%d warning": "%d 条警告",
	"%d scenario": "%d 个场景", "%d more scenario": "%d 个场景", "%d other scenario": "另外 %d 个场景", "%d cause": "%d 个起因",
	"%d more cause": "%d 个起因", "%d finding": "%d 处发现", "%d more finding": "%d 处发现",
	"%d more expectation": "%d 项期望", "%d more note": "%d 条备注", "%d more reason": "%d 种原因",
	"%d day": "%d 天", "%d time": "%d 次", "once": "1 次", "twice": "2 次", "%d line": "%d 行",

	// punctuation
	", ": "、", "; ": "；", ".": "。", "%s: ": "%s：", "%s: %s": "%s：%s", "%s: %s, found %s": "%s：%s，共发现 %s",
	"%s (%d)": "%s（%d）", " (%s)": "（%s）", "(%s) ": "（%s）", "%s; observed %s": "%s；实际 %s",
	"%s  %s %s (%s)%s": "%s  %s %s（%s）%s",
	"withdrawn  %s %s (%s): another scenario may have caused it; it is judged again alone": "撤回  %s %s（%s）：" +
		"可能是别的场景引起的，将单独重新判定",

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
	"Every warning": "全部警告", "Causes": "起因", "possibly": "可能是", "and %s of %s: %s": "%[2]s 另有 %[1]s：%[3]s",
	", %d of them binding": "，其中 %d 条有约束力", "monitors": "监视器", "limits": "限值", "Errors": "错误",
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
	"and %s more of %s": "%[2]s 另有 %[1]s", "and %s more": "另有 %s",
	"and %d more of this kind":                       "另有 %d 处同类失败",
	"%s of a model that had no further instructions": "%s，来自已无从推断的模型",
	"run it with --verbose":                          "用 --verbose 运行",
	"%s/report.html, or --verbose":                   "见 %s/report.html，或用 --verbose",
	"run the first again":                            "复现第一处失败", "expected": "期望",
	"observed": "实际", "judge": "由谁判定", "also": "另有", "following": "后续", "looks like": "像", "at": "位置", "alike": "同类",
	"monitor": "监视器", "stderr": "stderr", "diff": "差异", "wire": "报文", "transcript": "报文记录",
	"picture": "截图", "page": "页面", "evidence": "证据", "again": "复现", "while": "其间", "function": "函数",
	"feature": "场景文件", "reason": "原因", "step": "步骤", "note": "备注", "Rule: %s": "规则：%s",
	"%s: what was to be seen in %s, driver %s": "%s：%s 中看到的内容，驱动 %s",

	// clauses
	"level": "级别", "Level": "级别", "section": "章节", "requirement": "要求", "Text": "文字",
	"id, words, reason": "编号、文字、原因", "name, step, clause": "名称、步骤、条款",
	"id, words, outcome": "编号、文字、结果", "%s excluded, which no test from outside could judge (parley list names them)": "" +
		"%s被排除：无法从外部测试（见 parley list）",
	"CONFLICT: the source document disagrees with itself; the fair reading is judged (parley explain ID)": "" +
		"CONFLICT：源文档自相矛盾，按合理的读法判定（见 parley explain ID）",
	"%s of targets of other roles": "%s属于其他角色的目标",

	// the obligations of the model
	"%d of %d obligations of the model arose": "模型的义务出现了 %d 种，共 %d 种",
	"Obligations of the model":                "模型的义务",
	"On":                                      "因何报文",
	"owed":                                    "应有",
	"arose":                                   "出现",
	"came":                                    "已到",
	"missing":                                 "缺失",
	"not: %s":                                 "未出现：%s",

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

	// what changed between two runs
	"Newly broken": "新出现的失败", "Newly untested": "新出现的未测试", "Fixed": "已修复", "Suite changed": "测试集的变化",
	"Slower": "变慢", "Slower: %s": "变慢：%s", "slower": "变慢", "old": "旧", "new": "新", "Old": "旧", "New": "新",
	"absent": "没有", "change": "变化", "driver": "驱动", "time": "用时", "removed": "已删除",
	"excluded now": "现在被排除", "tested now": "现在受测", "%s before, %s now": "原为 %s，现为 %s",
	"worded differently": "文字有改动", "the protocol was not run in this role": "没有以这一角色运行该协议",
	"expected %s, observed %s": "期望 %s，实际 %s", "no regression": "没有回归", "No regression": "没有回归",
	"%d regression": "%d 处回归", "%s · %d newly broken, %d newly untested, %d fixed, %d slower": "%s · 新失败 %d 条，" +
		"新未测试 %d 条，已修复 %d 条，变慢 %d 个",
	" · the suite changed": " · 测试集有变化", "Parley comparison": "Parley 比较",

	// certificates: what they claim
	", strictly": "（严格）",
	"On %s the suite %s judged %s as a target of %s in the role %s over %s%s, and found it conformant.": "%s，测试集 %s " +
		"判定 %s（协议 %s，角色 %s，驱动 %s%s），结论为合规。",
	"It declares no capability.":                        "目标没有声明任何能力。",
	"It declares the capabilities %s.":                  "目标声明的能力：%s。",
	"%s passed in %s.":                                  "%s在 %s中通过。",
	"1 clause was broken that only should hold: %s.":    "有 1 条只是建议的条款没有成立：%s。",
	"%d clauses were broken that only should hold: %s.": "有 %d 条只是建议的条款没有成立：%s。",
	"The holder of the key says that the target was built from, or is, %s with the SHA-256 %s.": "密钥持有者声明：" +
		"目标就是 %s，或由它构建，其 SHA-256 为 %s。",
	"The suite is proved for this role by %d targets with a known fault each, of which it detects %d; they prove %s.": "" +
		"测试集在这一角色上经过验证：%d 个各带一个已知缺陷的目标，它抓住 %d 个；由此证明 %s。",

	// and what they do not
	"Who holds the key: compare its id with one that the holder has published.": "密钥归谁所有：请把它的 id " +
		"与持有者公布的相比较。",
	"That anybody else watched the run: the holder of the key ran it. parley verify --target repeats it.": "有别人在场见证这次运行：" +
		"运行者就是密钥持有者。parley verify --target 可以重做一遍。",
	"Anything about %s, which did not apply: %s.":                         "关于 %s 的任何事：不适用（%s）。",
	"Anything about %s, which does not bind and was not tested: %s.":      "关于 %s 的任何事：没有约束力，也未测试（%s）。",
	"Anything about %s that no suite can test, or that bind other roles.": "关于另外 %s的任何事：任何测试集都测不到，或只约束其他角色。",
	"Which version of the target was judged: the certificate names neither a version nor an artifact.": "判定的是哪个版本：" +
		"证书既没有写版本，也没有写构建产物。",
	"Which build it was: the version is a word of the holder, and no artifact is named.": "是哪一次构建：" +
		"版本只是持有者的说法，没有写构建产物。",
	"Anything about another configuration than that of the profile with the digest %s.": "关于其他配置的任何事：只涉及摘要为 %s " +
		"的目标配置。",
	"That the suite detects faults: it has no kill matrix.":           "测试集能发现缺陷：它没有 kill matrix。",
	"That the suite detects a broken %s: no known fault proves that.": "测试集能发现 %s 被破坏：没有已知缺陷能证明。",
	"That the target has no fault, is secure, fast, or holds under load: a finite number of scenarios ran.": "目标没有缺陷、" +
		"安全、够快或经得起负载：运行的场景是有限的。",
	"Anything after %s.": "%s 之后的任何事。",

	// checks of certificates
	"valid": "有效", "not valid": "无效", "good": "通过", "bad": "不符", "not compared": "未比较",
	"signature": "签名", "results": "结果", "artifact": "构建产物", "kill matrix": "kill matrix", "expiry": "有效期",
	"It claims:": "它声明：", "It does not claim:": "它不声明：",
	"matches its content; made with the key %s, and nothing here says who holds it": "与内容一致；所用密钥为 %s，" +
		"这里没有说明它归谁所有",
	"matches its content; made with the key of %s":        "与内容一致；所用密钥属于 %s",
	"made with the key %s, which is none of those given":  "所用密钥为 %s，不是给出的任何一把",
	"no results.json was given":                           "没有给出 results.json",
	"this results.json is not the one that was certified": "这份 results.json 不是被认证的那一份",
	"the transcripts that results.json names are not those that were certified": "results.json 指明的报文记录" +
		"不是被认证的那些",
	"results.json and its %d files are those that were certified":         "results.json 及其 %d 个文件就是被认证的",
	"the certificate names none":                                          "证书没有写",
	"%s, sha256 %s":                                                       "%s，sha256 %s",
	"the certificate names none, so that it says nothing about this file": "证书没有写，所以与这个文件无关",
	"this file is not the one that was certified":                         "这个文件不是被认证的那一个",
	"this file is the one that was certified":                             "这个文件就是被认证的那一个",
	"%s, which this program has; the clauses are the suite's":             "%s，本程序带有它；条款与它的一致",
	"%s, a released one; this program has %s, and did not compare the clauses": "%s，是发布过的；本程序带的是 %s，" +
		"没有比较条款",
	"%s is unknown: this program has %s (%s); verify with the version that has it": "%s 是未知的：本程序带的是 %s（%s）；" +
		"请用带有它的版本验证",
	"the suite judges no such target: %s":                      "测试集不判定这样的目标：%s",
	"the certificate has %d clauses, and the suite has %d":     "证书有 %d 条，测试集有 %d 条",
	"the clause %s of the certificate is not the suite's %s":   "证书的条款 %s 与测试集的 %s 不同",
	"the certificate has none, although the suite has mutants": "证书没有，而测试集有变异体",
	"none: nothing shows that the suite detects faults":        "没有：无从看出测试集能发现缺陷",
	"this program has none of that suite":                      "本程序没有该测试集的",
	"it is not the one that this program has for the suite":    "与本程序中该测试集的不同",
	"it is not the one in %s":                                  "与 %s 中的不同",
	"the one in %s":                                            "就是 %s 中的",
	"the one that this program has for the suite":              "就是本程序中该测试集的",
	"it was issued in the future, at %s":                       "签发时间 %s 在将来", "it expired after %s": "已过期，最后一天是 %s",
	"valid until %s, for %d more days": "有效至 %s，还有 %d 天",

	// pages of certificates
	"%s: certificate of conformance": "%s：符合性证书", "conforms to %s": "符合 %s",
	"As %s, over %s, judged by suite %s on %s.": "角色 %s，驱动 %s，由测试集 %s 于 %s 判定。",
	"This certificate expired after %s.":        "此证书已过期，最后一天是 %s。", "Valid until %s.": "有效至 %s。",
	"What it claims": "它声明什么", "What it does not claim": "它不声明什么", "How to check it": "怎样验证",
	"This page is a rendering. What is signed is a DSSE envelope with an in-toto statement:": "本页只是展示。签名的对象是一个 " +
		"DSSE 信封，内含 in-toto 声明：",
	"Details": "详情", "Key": "密钥", "Issued": "签发", "Evidence": "证据", "Kill matrix": "kill matrix", "none": "无",
	"%d files, Merkle root": "%d 个文件，Merkle 根", ", %d random sequences": "，%d 个随机序列",
	", cut at every point":                                "，在每个点切断",
	"%d of %d faulty targets detected, %d clauses proved": "%[2]d 个有缺陷的目标抓住 %[1]d 个，证明 %[3]d 条",
	"Clauses: %d passed, %d warned, %d not applicable, %d not tested, %d outside of the role or the suite": "条款：" +
		"通过 %d 条，警告 %d 条，不适用 %d 条，未测试 %d 条，不属于该角色或测试集 %d 条",
	"Text, and why it did not pass": "文字，以及没有通过的原因", "outside": "不属于", "report": "报告", "Clause": "条款",

	// the site, and what is printed
	"Certified implementations": "已认证的实现", "Protocol": "协议", "Matrix": "矩阵", "Implementation": "实现",
	"Certified by": "认证者", "key": "密钥", "No clause matches.": "没有匹配的条款。", "Badges": "徽章", "Badge": "徽章",
	"Certificate": "证书", "Markdown, relative to this site": "Markdown，相对于本站", "id or words": "编号或文字",
	"%s, made into a site on %s. Each opens with what it claims and what it does not, and is checked by:": "%s，于 %s 生成" +
		"本站。每份证书先写明它声明什么、不声明什么；验证：",
	"%s: %s, %s": "%s：%s，%s", "%d certificate": "%d 份证书", "not listed: %s: %s": "未列出：%s：%s",
	"%s in %s": "%s，见 %s", "certificate": "证书", "certified": "已认证", "valid until": "有效至", "key id": "密钥 id",
	"%s: %s %s, suite %s": "%s：%s %s，测试集 %s",

	// explain
	"%s  %s  section %s of %s": "%[1]s  %[2]s  %[4]s 第 %[3]s 节", "another document": "另一份文档",
	"%s, judged with %s": "%s，随 %s 判定", "%s  a mutant: the bundled %s with one fault": "%s  变异体：带一个缺陷的内置 %s",
	"%s: excluded, %s": "%s：已排除，%s", "text": "条文", "source": "原文", "ruling": "解释", "fair": "合理读法", "see": "参见",
	"roles": "角色", "alone": "单独运行", "steps": "步骤", "mutants": "变异体", "breaks": "破坏",
	"found by": "发现者", "serve": "启动", "rule": "规则", "and %s after it": "其后还有 %s", "place": "位置", "tags": "标签",

	// progress and the end
	"%s of %s": "%[2]s：%[1]s", "%s against %s over %s": "%s，目标 %s，驱动 %s",
	"a random sequence of %s breaks a clause; looking for a shorter one": "一个 %s的随机序列破坏了条款，正在寻找更短的",
	"interrupted: ending the run; interrupt again to exit at once":       "被中断：正在结束运行；再次中断则立即退出",
	" · the results could not be written":                                " · 结果无法写入",
	"The report is too long for a summary: see report.md.":               "报告太长，放不进摘要：见 report.md。",
	"%3d %%  %d of %s  %s  %s\n":                                         "%3d %%  %[3]s中的 %[2]d 个  %[4]s  %[5]s\n",
}
