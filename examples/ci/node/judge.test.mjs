// Parley judges a server; each clause is a subtest.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PARLEY } from './parley.mjs';

const target = fileURLToPath(new URL('../../profiles/node.yaml', import.meta.url)); // your profile, or a URL
const selected = '@AS-042 or @AS-080'; // leave --tags out for the whole suite

test('conformance', async (t) => {
  const out = await mkdtemp(join(tmpdir(), 'parley-'));
  try {
    const args = ['run', '--target', target, '--tags', selected, '--allow-incomplete', '--format', 'json,html', '--out', out];
    const { code, stderr } = await new Promise((resolve) => {
      execFile(PARLEY, args, (error, _, stderr) => resolve({ code: error ? error.code : 0, stderr }));
    });
    assert.ok(code === 0 || code === 1, stderr); // 2: usage, 3: the target is not there, 4: Parley itself
    const { runs } = JSON.parse(await readFile(join(out, 'results.json'), 'utf8'));
    const clauses = runs.flatMap((run) => run.clauses).filter((c) => c.outcome === 'passed' || c.outcome === 'failed');
    assert.ok(clauses.length > 0, 'nothing was judged');
    for (const c of clauses) {
      await t.test(c.id, () => assert.equal(c.outcome, 'passed', `${c.text}: parley explain ${c.id}`));
    }
  } finally {
    await rm(out, { recursive: true });
  }
});
