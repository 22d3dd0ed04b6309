// A client of an agent-select server, as somebody might write one.
export class Client {
  agent = null;
  #waiting = [];
  #ended = new AbortController();

  static async connect(url) {
    const client = new Client();
    client.url = url;
    const stream = await fetch(url + '/events', { headers: { Accept: 'text/event-stream' }, signal: client.#ended.signal });
    client.listening = client.#listen(stream.body).catch(() => {});
    client.connectionId = (await client.#next((e) => e.type === 'connected')).data.connectionId;
    client.agent = (await client.#next((e) => e.type === 'agent_list')).data.currentAgentId;
    client.session = (await client.#post('/session/create', {})).session.id;
    return client;
  }

  // switch returns what a person would read.
  async switch(agentId) {
    const answer = this.#next((e) => e.type === 'agent_switched' || e.type === 'error');
    await this.#post('/message', { type: 'switch_agent', agentId, sessionId: this.session });
    const { type, data } = await answer;
    if (type === 'error') {
      return data.errorCode === 'agent_busy' ? 'One moment: the agent is busy.' : data.message;
    }
    this.agent = data.currentAgentId;
    return `You are talking to ${data.agentName}.`;
  }

  async close() {
    this.#ended.abort();
    await this.listening;
  }

  async #post(path, body) {
    const answer = await fetch(this.url + path, { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...body, connectionId: this.connectionId }) });
    return answer.json();
  }

  #seen = [];

  // next resolves to the first event that fits and has not been taken.
  #next(fits) {
    const at = this.#seen.findIndex(fits);
    if (at >= 0) {
      return Promise.resolve(this.#seen.splice(at, 1)[0]);
    }
    return new Promise((resolve) => this.#waiting.push({ fits, resolve }));
  }

  async #listen(body) {
    let text = '';
    for await (const bytes of body.pipeThrough(new TextDecoderStream())) {
      text += bytes;
      const lines = text.split('\n');
      text = lines.pop();
      for (const line of lines.filter((l) => l.startsWith('data:'))) {
        const event = JSON.parse(line.slice(5));
        const at = this.#waiting.findIndex((w) => w.fits(event));
        if (at >= 0) {
          this.#waiting.splice(at, 1)[0].resolve(event);
        } else {
          this.#seen.push(event);
        }
      }
    }
  }
}
