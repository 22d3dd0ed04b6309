// Adds, changes or removes a custom agent in the agents file, as a user with an editor would: hooks of the test profile.
// Usage: edit-agents.mjs add|change|remove FILE; the agent comes from PARLEY_AGENT_ID, _NAME, _DESCRIPTION, _PROMPT, _TOOLS.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const [action, path] = process.argv.slice(2);
const env = (name) => process.env[`PARLEY_AGENT_${name}`] ?? '';
const agent = {
  id: env('ID'), name: env('NAME'), description: env('DESCRIPTION'), prompt: env('PROMPT'),
  tools: env('TOOLS').split(',').filter(Boolean),
};
const kept = JSON.parse(readFileSync(path, 'utf8')).filter((a) => a.id !== agent.id);
if (action !== 'remove') kept.push(agent);
writeFileSync(`${path}.new`, JSON.stringify(kept, null, 2));
renameSync(`${path}.new`, path);
