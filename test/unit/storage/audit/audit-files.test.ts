/** Reading the audit log: across rotations, while it is written. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { test } from 'node:test';
import { AuditFiles, auditPath, type AuditPlace } from '../../../../src/storage/audit/audit-files.ts';
import { anIntent, openAudit } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const ok = () => ({ result: 'ok' }) as const;

/** Each call continues after the one before. */
function readerOf(directory: string): () => Promise<unknown[]> {
  let end: AuditPlace | undefined;
  return async () => {
    const files = new AuditFiles(directory, end);
    const names: unknown[] = [];
    for await (const { line } of files.read()) names.push(line.ids.name);
    ({ end } = files);
    await files.close();
    return names;
  };
}

test('lines are read oldest first across all files, each once, also if files rotate between two reads', async (t) => {
  const directory = temporaryDirectory(t);
  const { audit } = openAudit(directory, new DrivenClock(), { fileBytesMax: 2500, oldFilesMax: 7 });
  const namesBehind = readerOf(directory);
  assert.deepEqual(await namesBehind(), []);
  const written: string[] = [];
  const seen: unknown[] = [];
  for (const burst of [1, 2, 9, 1, 3]) {
    for (let i = 0; i < burst; i++) {
      const name = `n${written.length}`;
      await audit.record(anIntent({ ids: { name } }), () => Promise.resolve(), ok);
      written.push(name);
    }
    seen.push(...(await namesBehind()));
  }
  assert.deepEqual(seen, written);
  assert.deepEqual(await readerOf(directory)(), written);
});

test('foreign lines are skipped, an incomplete line is read later, and a file without lines does not block', async (t) => {
  const directory = temporaryDirectory(t);
  const path = auditPath(directory);
  const { audit } = openAudit(directory, new DrivenClock());
  appendFileSync(path, `${'x'.repeat(200_000)}\nnonsense\n\n[]\n`);
  await audit.record(anIntent({ ids: { name: 'a' } }), () => Promise.resolve(), ok);
  const namesBehind = readerOf(directory);
  assert.deepEqual(await namesBehind(), ['a']);
  const line = JSON.stringify({ action: 'device.kick', result: 'ok', ids: { name: 'b' } });
  appendFileSync(path, line.slice(0, 10));
  assert.deepEqual(await namesBehind(), []);
  appendFileSync(path, `${line.slice(10)}\n`);
  assert.deepEqual(await namesBehind(), ['b']);
});
