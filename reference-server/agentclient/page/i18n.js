// The words of the page. The Chinese texts of agent-client.zh.md stand here character by character.
import { $ } from "./dom.js";
import { recall, remember } from "./storage.js";

const zh = {
  // agent-client.zh.md
  "agent.connectFirst": "请先连接服务器",
  "agent.notConnected": "(未连接)",
  "agent.none": "(暂无可用主代理)",
  "agent.noneHint": "暂无可用的主代理,请检查服务端配置",
  "agent.stale": "未知/已失效 ({id})",
  "agent.staleHint": "当前主代理已失效,请重新选择可用主代理",
  "agent.preselected": "已预选主代理: {name},新建会话时将自动使用该主代理",
  "agent.switched": "主代理已切换: {from} → {to}",
  "error.invalid_agent_id": "主代理 ID 不能为空",
  "error.invalid_agent_id_format": "主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符",
  "error.agent_busy": "当前会话有进行中的任务,请先终止对话后再切换主代理",
  "error.session_not_found": "会话不存在,请先创建或加载会话",

  "agent.waiting": "正在等待主代理列表…",
  "agent.unconfirmed": "服务端尚未确认当前主代理，可直接选择",
  "agent.available": "可用主代理：{names}",
  "agent.switchFailed": "切换主代理失败：{reason}",
  errorUnknown: "服务端报告了错误",
  skip: "跳到输入框", connection: "连接", address: "服务器地址", connect: "连接", disconnect: "断开",
  "status.idle": "未连接", "status.connecting": "正在连接…", "status.connected": "已连接", "status.lost": "已断开，正在重连…",
  "connection.badAddress": "服务器地址无效：{address}",
  "connection.failed": "无法连接 {address}，正在自动重试",
  "connection.refused": "服务端拒绝了请求 (HTTP {status})",
  "connection.unreachable": "网络错误",
  "connection.unauthorized": "服务端需要令牌 (HTTP 401)。请在服务器地址后加上 ?token=令牌，然后重新连接",
  "chat.refused": "会话正忙，服务端未接受此消息", "chat.again": "重新发送",
  help: "快捷键", keySend: "发送消息", keyNewline: "换行", keyAbort: "终止进行中的对话", keyTab: "在卡片、列表和按钮之间移动",
  theme: "外观：{theme}", "theme.auto": "跟随系统", "theme.light": "浅色", "theme.dark": "深色",
  chat: "对话", mainAgent: "主代理", newSession: "新建会话", message: "消息",
  messagePlaceholder: "输入消息，Enter 发送，Shift+Enter 换行", abort: "终止", send: "发送", dismiss: "关闭提示",
  chatWelcome: "连接服务器，即可与代理对话", chatEmpty: "还没有消息，在下方输入即可开始",
  "role.user": "我", "role.assistant": "代理", "role.system": "[系统]", "role.tool": "工具",
  "chat.notSent": "未发送：{reason}", "chat.cancelled": "对话已终止",
  "request.confirm": "工具确认：{tool}", "request.approve": "批准", "request.deny": "拒绝",
  "request.question": "代理提问", "request.answer": "回答", "request.reply": "提交回答",
  "request.approved": "已批准", "request.denied": "已拒绝", "request.answered": "已回答：{answer}", "request.ended": "已结束，无需回答",
  "request.failed": "回答未送达：{reason}",
  sessions: "会话", refresh: "刷新", noSessions: "还没有会话", "session.delete": "删除会话 {id}", "session.sure": "确认删除",
  "session.created": "已新建会话 {id}", "session.loaded": "已加载会话 {id}", "session.deleted": "已删除会话 {id}",
  "session.createFailed": "新建会话失败：{reason}", "session.loadFailed": "加载会话失败：{reason}",
  "session.deleteFailed": "删除会话失败：{reason}", "abort.failed": "终止失败：{reason}",
  log: "事件日志", filter: "按级别筛选", clear: "清空",
  levelAll: "全部", levelInfo: "信息", levelWarn: "警告", levelError: "错误", levelSent: "已发送", levelDebug: "调试",
  "log.list": "收到 {count} 个主代理，currentAgentId: {current}", "log.unknown": "未知事件，已忽略",
  "log.elsewhere": "属于其他会话 {id}", "log.unreadable": "无法解析的数据：{reason}",
  language: "Switch to English", otherLanguage: "EN",
};

const en = {
  "agent.connectFirst": "Connect to a server first",
  "agent.notConnected": "(not connected)",
  "agent.none": "(no main agent available)",
  "agent.noneHint": "No main agent is available; check the server's configuration",
  "agent.stale": "Unknown or no longer valid ({id})",
  "agent.staleHint": "The current main agent is no longer valid; choose an available one",
  "agent.preselected": "Main agent preselected: {name}. The next new session will use it",
  "agent.switched": "Main agent switched: {from} → {to}",
  "error.invalid_agent_id": "The main agent's ID must not be empty",
  "error.invalid_agent_id_format": "The main agent's ID may only contain lower-case letters, digits, underscores and hyphens",
  "error.agent_busy": "This session has a task in progress. Abort the conversation first, then switch the main agent",
  "error.session_not_found": "The session does not exist. Create or load a session first",

  "agent.waiting": "Waiting for the list of main agents…",
  "agent.unconfirmed": "The server has not confirmed a current main agent yet; you may choose one",
  "agent.available": "Available main agents: {names}",
  "agent.switchFailed": "The main agent could not be switched: {reason}",
  errorUnknown: "The server reported an error",
  skip: "Skip to the message field", connection: "Connection", address: "Server address", connect: "Connect", disconnect: "Disconnect",
  "status.idle": "Not connected", "status.connecting": "Connecting…", "status.connected": "Connected", "status.lost": "Lost, reconnecting…",
  "connection.badAddress": "This is not a server address: {address}",
  "connection.failed": "{address} can't be reached; trying again",
  "connection.refused": "The server refused the request (HTTP {status})",
  "connection.unreachable": "network error",
  "connection.unauthorized": "The server asks for a token (HTTP 401). Add ?token=TOKEN to the server address and connect again",
  "chat.refused": "The session was busy, and the server did not take this message", "chat.again": "Send again",
  help: "Keyboard shortcuts", keySend: "Send the message", keyNewline: "New line", keyAbort: "Abort the running turn",
  keyTab: "Move between cards, lists and buttons",
  theme: "Appearance: {theme}", "theme.auto": "system", "theme.light": "light", "theme.dark": "dark",
  chat: "Chat", mainAgent: "Main agent", newSession: "New session", message: "Message",
  messagePlaceholder: "Write a message. Enter sends, Shift+Enter starts a new line", abort: "Abort", send: "Send", dismiss: "Dismiss",
  chatWelcome: "Connect to a server to talk to an agent", chatEmpty: "No messages yet. Write one below to begin",
  "role.user": "You", "role.assistant": "Agent", "role.system": "[System]", "role.tool": "Tool",
  "chat.notSent": "Not sent: {reason}", "chat.cancelled": "The turn was aborted",
  "request.confirm": "Tool confirmation: {tool}", "request.approve": "Approve", "request.deny": "Deny",
  "request.question": "The agent asks", "request.answer": "Answer", "request.reply": "Submit answer",
  "request.approved": "Approved", "request.denied": "Denied", "request.answered": "Answered: {answer}", "request.ended": "Ended, no answer needed",
  "request.failed": "The answer was not delivered: {reason}",
  sessions: "Sessions", refresh: "Refresh", noSessions: "No sessions yet", "session.delete": "Delete session {id}", "session.sure": "Really delete",
  "session.created": "Session {id} created", "session.loaded": "Session {id} loaded", "session.deleted": "Session {id} deleted",
  "session.createFailed": "The session could not be created: {reason}", "session.loadFailed": "The session could not be loaded: {reason}",
  "session.deleteFailed": "The session could not be deleted: {reason}", "abort.failed": "The turn could not be aborted: {reason}",
  log: "Event log", filter: "Filter by level", clear: "Clear",
  levelAll: "All", levelInfo: "Info", levelWarn: "Warning", levelError: "Error", levelSent: "Sent", levelDebug: "Debug",
  "log.list": "{count} main agents received, currentAgentId: {current}", "log.unknown": "unknown event, ignored",
  "log.elsewhere": "of another session, {id}", "log.unreadable": "Data that can't be read: {reason}",
  language: "切换到中文", otherLanguage: "中文",
};

const all = { zh, en };
const listeners = [];
let language = first();

// first is the language of the URL, else the one chosen last, else the browser's: Chinese or English.
function first() {
  const asked = new URLSearchParams(location.search).get("lang") ?? recall("language") ?? navigator.language ?? "";
  return asked.toLowerCase().startsWith("zh") ? "zh" : "en";
}

// t returns a text in the language of the page; {names} in it are replaced by values.
export function t(key, values = {}) {
  return all[language][key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

export const knows = (key) => Object.hasOwn(all[language], key);

// onLanguage calls show now, and again whenever the language changes.
export function onLanguage(show) {
  listeners.push(show);
  show();
}

function showStatic() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  for (const element of document.querySelectorAll("[data-hover]")) element.title = t(element.dataset.hover);
  for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = t(element.dataset.placeholder);
  $("languageBtn").textContent = t("otherLanguage");
  $("languageBtn").setAttribute("aria-label", t("language"));
}

export function startLanguage() {
  $("languageBtn").addEventListener("click", () => {
    language = language === "zh" ? "en" : "zh";
    remember("language", language);
    for (const show of listeners) show();
  });
  onLanguage(showStatic);
}
