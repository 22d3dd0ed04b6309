'use strict';

(function () {
  const TEXT = {
    offline: '(未连接)',
    noAgents: '(暂无可用主代理)',
    connectFirst: '请先连接服务器',
    emptyList: '暂无可用的主代理,请检查服务端配置',
    staleAgent: '当前主代理已失效,请重新选择可用主代理',
    noSession: '服务端未返回会话 ID',
    badAddress: '服务器地址无效',
  };
  const ERROR_TEXT = {
    invalid_agent_id: '主代理 ID 不能为空',
    invalid_agent_id_format: '主代理 ID 格式错误,只能包含小写字母、数字、下划线和连字符',
    agent_busy: '当前会话有进行中的任务,请先终止对话后再切换主代理',
    session_not_found: '会话不存在,请先创建或加载会话',
  };
  const FIRST_RETRY_MS = 1000;
  const LONGEST_RETRY_MS = 30000;
  const STREAM_GRACE_MS = 400; // a failed POST waits this long for the error event that explains it

  const el = (id) => document.getElementById(id);
  const picker = el('agent-picker');
  const talk = el('talk');

  /** What belongs to one connection; all of it is forgotten with the connection. */
  const unconnected = () => ({
    stream: null, retryTimer: 0, connectionId: null, sessionId: null,
    listReceived: false, agents: [], currentAgentId: null,
    defaultAgentId: null, // what the server named before any session was bound
    shownAgentId: null, // what the picker shows
    pending: null, // { from } while a switch is under way
    opening: null, // { sessionId, held } while a create or load is under way
    ownWords: null, // our last chat text, to skip the server's echo of it
    growing: null, // the chat line of a message that still streams
  });

  const state = {
    ...unconnected(),
    base: '', retries: 0, errorsSeen: 0, preferredAgentIdForNewSession: null,
    sessions: new Map(), // session id -> last known agent id
    agentNews: 0, // counts events that told us the current agent
  };

  // ---- small helpers
  const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
  const asId = (value) => (typeof value === 'string' && value !== '' ? value : null);
  const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value ?? '').replace(/^""$/, ''));
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const isStale = () => state.currentAgentId !== null && state.agents.length > 0
    && !state.agents.some((agent) => agent.id === state.currentAgentId);
  const nameOf = (id) => state.agents.find((agent) => agent.id === id)?.name || asText(id) || '(无)';
  const readAgents = (list) => (Array.isArray(list) ? list : [])
    .filter((entry) => isObject(entry) && asId(entry.id))
    .map(({ id, name, description }) => ({ id, name: asText(name) || id, description: asText(description) }));

  function parsed(text) {
    try { return JSON.parse(text); } catch { return null; }
  }

  function make(tag, content, attributes = {}) {
    const node = document.createElement(tag);
    node.append(content); // a node, or a string that becomes text
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }

  function journal(level, type, text, timestamp) {
    let when = new Date(timestamp ?? Date.now());
    if (Number.isNaN(when.getTime())) when = new Date();
    const clock = when.toTimeString().slice(0, 8); // local HH:MM:SS
    const row = make('tr', '', { 'data-level': level, 'data-type': type });
    row.append(make('td', clock, { title: when.toISOString() }), make('td', type), make('td', text));
    el('journal').prepend(row);
  }

  function talkLine(role, text) {
    const label = { user: '我: ', assistant: 'AI: ', system: '[系统] ' }[role] || role + ': ';
    const line = make('p', make('b', label), { 'data-role': role });
    line.append(make('span', text));
    talk.append(line);
    talk.scrollTop = talk.scrollHeight;
    return line;
  }

  // ---- drawing
  function drawPicker() {
    if (state.agents.length === 0) {
      const text = state.listReceived ? TEXT.noAgents : TEXT.offline;
      picker.replaceChildren(make('option', text, { value: '', disabled: '', selected: '' }));
    } else {
      const options = state.agents.map((agent) => make('option', agent.name, { value: agent.id, title: agent.description }));
      const current = state.currentAgentId;
      if (isStale()) options.unshift(make('option', `未知/已失效 (${current})`, { value: current }));
      picker.replaceChildren(...options);
      picker.selectedIndex = options.findIndex((option) => option.value === state.shownAgentId); // -1: none
    }
    picker.disabled = state.agents.length === 0 || state.pending !== null;
    picker.parentElement.classList.toggle('is-waiting', state.pending !== null);
  }

  function drawSessions() {
    el('known-chats').replaceChildren(...Array.from(state.sessions.keys(), (id) => {
      const button = make('button', id, { type: 'button', 'data-chat': id, 'aria-current': id === state.sessionId });
      button.disabled = !state.listReceived || state.opening !== null;
      button.addEventListener('click', () => openSession('load', id));
      return make('li', button);
    }));
  }

  function draw() {
    const wanted = state.stream !== null || state.retryTimer !== 0;
    const wish = state.preferredAgentIdForNewSession;
    el('go-online').disabled = wanted;
    el('go-offline').disabled = !wanted;
    el('link-state').textContent = state.listReceived ? '已连接' : wanted ? '连接中…' : '未连接';
    el('hint').hidden = state.listReceived;
    picker.title = state.listReceived ? '' : TEXT.connectFirst;
    el('new-chat').disabled = !state.listReceived || state.opening !== null;
    el('say-it').disabled = !state.listReceived;
    el('stop-it').disabled = !state.listReceived || state.sessionId === null;
    el('chat-id').textContent = state.sessionId || '';
    el('wish').hidden = wish === null;
    el('wish-text').textContent = wish === null ? '' : `预选: ${nameOf(wish)}`;
    drawPicker();
    drawSessions();
  }

  /** Redraws after a change of the list or the current agent, then tells what is wrong with it. */
  function drawAgents(...prompts) {
    draw();
    if (state.listReceived && state.agents.length === 0) prompts.push(TEXT.emptyList);
    else if (isStale()) prompts.push(TEXT.staleAgent);
    for (const prompt of prompts) window.alert(prompt);
  }

  function setCurrentAgent(id) {
    state.currentAgentId = id;
    // With nothing confirmed by the server, an unbound picker keeps showing the preselection.
    state.shownAgentId = id === null && state.sessionId === null ? state.preferredAgentIdForNewSession : id;
    if (state.sessionId !== null) state.sessions.set(state.sessionId, id);
  }

  // ---- events from the server
  const handlers = {
    connected(data, timestamp) {
      state.connectionId = asId(data.connectionId);
      journal('info', 'connected', asText(data.connectionId), timestamp);
    },

    agent_list(data, timestamp) {
      state.agents = readAgents(data.agents);
      state.listReceived = true;
      state.retries = 0;
      state.agentNews += 1;
      setCurrentAgent(asId(data.currentAgentId));
      if (state.sessionId === null && state.opening === null) state.defaultAgentId = state.currentAgentId;
      if (state.pending) state.pending.from = state.currentAgentId;
      journal('info', 'agent_list', `agents: ${state.agents.length}, currentAgentId: ${state.currentAgentId}`, timestamp);
      drawAgents();
    },

    agent_switched(data, timestamp) {
      const id = asId(data.currentAgentId);
      if (id === null) return;
      const change = `${nameOf(data.previousAgentId)} → ${asText(data.agentName) || nameOf(id)}`;
      state.pending = null;
      state.agentNews += 1;
      setCurrentAgent(id);
      journal('info', 'agent_switched', change, timestamp);
      talkLine('system', `主代理已切换: ${change}`);
      drawAgents();
    },

    error(data, timestamp) {
      const code = asText(data.errorCode);
      const message = asText(data.message) || (typeof data.data === 'string' ? data.data : '');
      let prompt = (Object.hasOwn(ERROR_TEXT, code) && ERROR_TEXT[code]) || message || code || '未知错误';
      state.errorsSeen += 1;
      finishMessage();
      if (state.pending) state.shownAgentId = state.pending.from;
      state.pending = null;
      const refreshed = Array.isArray(data.availableAgents) && state.listReceived;
      if (refreshed) state.agents = readAgents(data.availableAgents);
      if (refreshed && code === 'agent_not_found') {
        prompt += `\n可用主代理: ${state.agents.map((agent) => agent.name).join(', ') || '(无)'}`;
      }
      journal('error', 'error', code ? `${code}: ${prompt}` : prompt, timestamp);
      if (refreshed) return drawAgents(prompt);
      draw();
      window.alert(prompt);
    },

    message(data) {
      if (typeof data.content !== 'string') return;
      const role = asText(data.role) || 'assistant';
      if (role === 'user' && data.content === state.ownWords) return void (state.ownWords = null);
      if (state.growing && state.growing.dataset.role !== role) finishMessage();
      if (!state.growing) {
        state.growing = talkLine(role, data.content);
      } else {
        // A piece may be the text so far or only what is new; a final message is always whole.
        const words = state.growing.lastChild;
        const whole = data.content.length > words.textContent.length && data.content.startsWith(words.textContent);
        if (!data.streaming) words.textContent = data.content || words.textContent;
        else words.textContent = whole ? data.content : words.textContent + data.content;
      }
      state.growing.classList.add('is-growing');
      if (!data.streaming) finishMessage();
      talk.scrollTop = talk.scrollHeight;
    },

    complete(data, timestamp) {
      finishMessage();
      journal('info', 'complete', data.cancelled ? '已终止' : '已完成', timestamp);
      if (data.cancelled) talkLine('system', '对话已终止');
    },

    tool_confirmation_request: () => talkLine('system', '服务端请求确认工具,本页面无法应答,可点击“终止”'),
    user_question_request: () => talkLine('system', '服务端在提问,本页面无法应答,可点击“终止”'),
  };

  function finishMessage() {
    if (state.growing) state.growing.classList.remove('is-growing');
    state.growing = null;
  }

  /** Takes `{type, data, timestamp}`, and also bare data whose type is the name of the SSE event. */
  function receive(event) {
    const body = parsed(event.data);
    if (!isObject(body)) return;
    const type = event.type === 'message' && typeof body.type === 'string' ? body.type : event.type;
    const data = isObject(body.data) ? { ...body, ...body.data } : body;
    if (Object.hasOwn(handlers, type)) dispatch(type, data, body.timestamp ?? data.timestamp);
  }

  function dispatch(type, data, timestamp) {
    const owner = asId(data.sessionId);
    if (owner === null || owner === state.sessionId || owner === state.opening?.sessionId) handlers[type](data, timestamp);
    // It may belong to the session that is just being created: the stream can be faster than the answer.
    else state.opening?.held.push(() => dispatch(type, data, timestamp));
  }

  // ---- the connection
  function goOnline() {
    const base = el('api-address').value.trim().replace(/\/+$/, '');
    if (!/^https?:/i.test(base) || !URL.canParse(base)) return window.alert(TEXT.badAddress);
    if (base !== state.base) state.sessions.clear(); // another server knows other sessions
    state.base = base;
    state.retries = 0;
    openStream();
  }

  function openStream() {
    const stream = new EventSource(state.base + '/events');
    const take = (event) => stream === state.stream && receive(event);
    state.stream = stream;
    state.retryTimer = 0;
    for (const type of Object.keys(handlers)) if (type !== 'error') stream.addEventListener(type, take);
    stream.addEventListener('error', (event) => {
      if (event instanceof MessageEvent) take(event); // a server event that is named "error"
      else if (stream === state.stream) connectionLost();
    });
    draw();
  }

  /** Forgets everything that belongs to the connection; the preselection stays. */
  function closeStream() {
    state.stream?.close();
    clearTimeout(state.retryTimer);
    finishMessage();
    Object.assign(state, unconnected());
  }

  function connectionLost() {
    closeStream();
    const delay = Math.min(FIRST_RETRY_MS * 2 ** state.retries, LONGEST_RETRY_MS);
    state.retries += 1;
    state.retryTimer = setTimeout(openStream, delay);
    journal('error', 'connection', `连接中断, ${delay / 1000} 秒后重连`);
    draw();
  }

  function goOffline() {
    closeStream();
    journal('info', 'connection', '已断开');
    draw();
  }

  // ---- requests
  async function post(path, body) {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(state.base + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const read = parsed(await response.text());
    const answer = isObject(read) ? read : {};
    if (!response.ok || answer.success === false) {
      const text = asText(answer.message) || asText(answer.error) || `HTTP ${response.status}`;
      throw Object.assign(new Error(text), { answer });
    }
    return answer;
  }

  /** Posts; a failure is shown once, be it told by the HTTP answer, by an error event or by both. */
  async function tryPost(path, body, stillMatters) {
    const { stream, errorsSeen } = state;
    try {
      const answer = await post(path, body);
      return stream === state.stream ? answer : null;
    } catch (problem) {
      await pause(STREAM_GRACE_MS);
      if (stream === state.stream && errorsSeen === state.errorsSeen && (!stillMatters || stillMatters())) {
        handlers.error({ ...problem.answer, message: problem.message });
      }
      return null;
    }
  }

  async function openSession(how, knownId) {
    if (!state.listReceived || state.opening) return;
    const opening = { sessionId: knownId || null, held: [] };
    const wish = how === 'create' ? state.preferredAgentIdForNewSession : null;
    const newsBefore = state.agentNews;
    // What is undefined is not sent.
    const body = { connectionId: state.connectionId ?? undefined, sessionId: knownId, initialAgentId: wish ?? undefined };
    state.opening = opening;
    draw();

    const answer = await tryPost(`/session/${how}`, body);
    if (state.opening !== opening) return; // the connection has gone meanwhile
    state.opening = null;
    const id = answer && (asId(isObject(answer.session) ? answer.session.id : null) || knownId || null);
    if (id) {
      if (wish !== null && state.preferredAgentIdForNewSession === wish) state.preferredAgentIdForNewSession = null;
      const assumed = how === 'load' ? state.sessions.get(id) ?? null : wish ?? state.defaultAgentId;
      finishMessage();
      talk.replaceChildren();
      state.pending = null;
      state.sessionId = id;
      // What the server has said about the agent since we asked is better than our guess.
      setCurrentAgent(state.agentNews === newsBefore ? assumed : state.currentAgentId);
      journal('info', 'session', `${how === 'load' ? '已加载会话' : '已创建会话'}: ${id}`);
      drawAgents();
    } else {
      draw();
      if (answer) window.alert(TEXT.noSession);
    }
    for (const again of opening.held) again();
  }

  function pickAgent() {
    const id = picker.value;
    if (!id || id === state.shownAgentId || state.pending) return;
    if (state.sessionId === null) {
      state.preferredAgentIdForNewSession = id;
      state.shownAgentId = id;
      draw();
      return window.alert(`已预选主代理: ${nameOf(id)},新建会话时将自动使用该主代理`);
    }
    const pending = { from: state.shownAgentId };
    state.pending = pending;
    state.shownAgentId = id;
    draw();
    const message = { type: 'switch_agent', agentId: id, sessionId: state.sessionId };
    tryPost('/message', message, () => state.pending === pending);
  }

  function dropWish() {
    state.preferredAgentIdForNewSession = null;
    if (state.sessionId === null) state.shownAgentId = state.currentAgentId;
    draw();
  }

  function say(event) {
    event.preventDefault();
    const content = el('say').value.trim();
    if (!content || !state.listReceived) return;
    if (state.sessionId === null) return window.alert(ERROR_TEXT.session_not_found);
    el('say').value = '';
    finishMessage();
    talkLine('user', content);
    state.ownWords = content;
    tryPost('/message', { type: 'chat', content, sessionId: state.sessionId });
  }

  function stop() {
    if (state.sessionId !== null) tryPost('/message', { type: 'abort', sessionId: state.sessionId });
  }

  // ---- start
  el('api-address').value = new URLSearchParams(location.search).get('api') || 'http://localhost:3000';
  el('go-online').addEventListener('click', goOnline);
  el('go-offline').addEventListener('click', goOffline);
  el('new-chat').addEventListener('click', () => openSession('create'));
  el('drop-wish').addEventListener('click', dropWish);
  el('say-form').addEventListener('submit', say);
  el('stop-it').addEventListener('click', stop);
  picker.addEventListener('change', pickAgent);
  draw();
})();
