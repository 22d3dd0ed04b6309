// The words of the page, in both languages. What the host says is shown as it says it.
const all = {
  en: {
    heading: "Movie booking", stages: "Stages", summary: "Summary", chat: "Chat", say: "Say something to the agent", send: "Send",
    total: "Total", nothing: "No form is shown.", none: "No session is active: an agent has to start one.",
    connecting: "Connecting…", connected: "Connected to session “{}”.", lost: "Connection lost, trying again…",
    refused: "The relay does not let this page in: {}",
    available: "available", sold: "sold out", selected: "selected", highlighted: "highlighted", tickets: "tickets: {}",
    filter: "Filter: {}", sort: "Order: {}", asc: "ascending", desc: "descending",
    user: "Participant", agent: "Agent", assistant: "Assistant", notSaid: "Not sent: {}", other: "中文",
    noSession: "No session yet", command: "Command", copy: "Copy", copied: "Copied", notCopied: "Select the command and copy it",
    start: "An agent has to start one. This command sends the bundled agent, which books a ticket:",
    token: "Put your token in the place of TOKEN.",
    calls: "Tool calls", noCalls: "None yet.", noReason: "no reason given", why: "Reason: {}",
    open: "not answered yet", ok: "succeeded", failed: "failed: {}",
    wire: "Messages between the agents and the host", in: "in", out: "out", cut: "The beginning of a long message:",
    movie: "Movie", theater: "Theater", date: "Date", time: "Time", seat: "Seats", ticket: "Tickets", confirm: "Confirm",
  },
  zh: {
    heading: "电影订票", stages: "步骤", summary: "摘要", chat: "聊天", say: "对 Agent 说", send: "发送",
    total: "合计", nothing: "当前没有表单。", none: "没有进行中的会话：需由 Agent 开始。",
    connecting: "正在连接…", connected: "已连接会话“{}”。", lost: "连接已断开，正在重试…",
    refused: "relay 不允许此页面加入：{}",
    available: "可选", sold: "售罄", selected: "已选", highlighted: "推荐", tickets: "票数：{}",
    filter: "筛选：{}", sort: "排序：{}", asc: "升序", desc: "降序",
    user: "参与者", agent: "Agent", assistant: "助手", notSaid: "未发送：{}", other: "English",
    noSession: "还没有会话", command: "命令", copy: "复制", copied: "已复制", notCopied: "请选中命令后复制",
    start: "需由 Agent 开始会话。此命令会启动内置 Agent 并订一张票：",
    token: "请将 TOKEN 换成你的令牌。",
    calls: "工具调用", noCalls: "还没有。", noReason: "未说明原因", why: "原因：{}",
    open: "尚未答复", ok: "成功", failed: "失败：{}",
    wire: "Agent 与主机之间的消息", in: "收到", out: "发出", cut: "长消息的开头：",
    movie: "电影", theater: "影院", date: "日期", time: "场次", seat: "座位", ticket: "票种", confirm: "确认",
  },
};

// The language is that of the URL, else the one chosen last, else the browser's. Where storage is forbidden, it is not kept.
function choice(chosen) {
  try {
    if (chosen) localStorage.setItem("parley.language", chosen);
    return chosen ?? localStorage.getItem("parley.language");
  } catch {
    return chosen;
  }
}

const asked = choice(new URLSearchParams(location.search).get("lang")) ?? navigator.language;
export const language = asked.toLowerCase().startsWith("zh") ? "zh" : "en";

// word returns a word of the page, with a value in its place; a word that it doesn't know stays as it is.
export function word(name, value = "") {
  const text = Object.hasOwn(all[language], name) ? all[language][name] : name;
  return text.replace("{}", () => value);
}
