// Tests of client.mjs, with Parley as its server.
import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client } from './client.mjs';
import { peer } from './parley.mjs';

// What the peer answers where a test does not leave it to the bundled server (docs/simulator-scripts.md).
const refuses = `
script: refuses
protocol: agent-select
as: server
rules:
- on: {open: /events}
  answer:
  - send: {type: connected, data: {connectionId: "\${id}"}}
  - send: {type: agent_list, data: {agents: [], currentAgentId: general}}
- on: {request: POST /session/create}
  answer: [{respond: 200, body: {success: true, session: {id: s1}}}]
- on: {request: POST /message, type: switch_agent}
  answer:
  - respond: 200
    body: {success: true}
  - send: {type: error, data: {errorCode: agent_not_found, message: "There is no \${/agentId}."}}
`;

let server;
before(async () => { server = await peer(); });
after(() => server.close());

// connected gives a test a client of a peer that has forgotten the tests before.
async function connected(use) {
  const client = await Client.connect(server.url);
  try {
    await use(client);
  } finally {
    await client.close();
  }
}

test('a switch is sent with the session, and its success shown', async () => {
  await server.call('POST', '/reset');
  await connected(async (client) => {
    assert.equal(await client.switch('debugger'), 'You are talking to Debugger.');
    const sent = await server.call('POST', '/wait', { type: 'switch_agent', dir: 'received', within: '5s' });
    const { agentId, sessionId } = JSON.parse(sent.text);
    assert.deepEqual({ agentId, sessionId }, { agentId: 'debugger', sessionId: client.session });
  });
});

test('a refused switch keeps the agent', async () => {
  await server.call('POST', '/reset');
  await server.call('PUT', '/script', { script: refuses });
  await server.call('PUT', '/mind', { mind: 'script' });
  await connected(async (client) => {
    assert.equal(await client.switch('debugger'), 'There is no debugger.');
    assert.equal(client.agent, 'general');
  });
});

test('a server with a known fault is taken as it is', async () => {
  await server.call('POST', '/reset');
  await server.call('PUT', '/mutant', { mutant: 'name-as-current-agent' });
  await connected(async (client) => assert.equal(client.agent, 'General')); // its author decides whether that is good enough
});
