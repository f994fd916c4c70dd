/** The audit log as it is read: by another process, across rotations, while it is written. */
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { test } from 'node:test';
import { AuditFiles, auditPath } from '../../../../src/storage/audit/audit-files.ts';
import { anIntent, openAudit } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const ok = () => ({ result: 'ok' }) as const;

async function namesOf(files: AuditFiles): Promise<unknown[]> {
  const names: unknown[] = [];
  for await (const { line } of files.read()) names.push(line.ids.name);
  return names;
}

test('lines come oldest first, over all files, each once, also when files are rotated between two looks', async (t) => {
  const directory = temporaryDirectory(t);
  const { audit } = openAudit(directory, new DrivenClock(), { fileBytesMax: 2500, oldFilesMax: 7 });
  const files = new AuditFiles(directory);
  t.after(() => files.closeOld(0));
  assert.deepEqual(await namesOf(files), []);
  const written: string[] = [];
  const seen: unknown[] = [];
  for (const burst of [1, 2, 9, 1, 3]) {
    for (let i = 0; i < burst; i++) {
      const name = `n${written.length}`;
      await audit.record(anIntent({ ids: { name } }), () => Promise.resolve(), ok);
      written.push(name);
    }
    seen.push(...(await namesOf(files)));
    await files.closeOld(2);
  }
  assert.deepEqual(seen, written);
  const fresh = new AuditFiles(directory);
  t.after(() => fresh.closeOld(0));
  assert.deepEqual(await namesOf(fresh), written);
});

test('a line is looked at again for its result, also once its file was rotated', async (t) => {
  const directory = temporaryDirectory(t);
  const { audit } = openAudit(directory, new DrivenClock(), { fileBytesMax: 1000, oldFilesMax: 7 });
  const files = new AuditFiles(directory);
  t.after(() => files.closeOld(0));
  let again = (): Promise<unknown> => Promise.resolve();
  const act = async (): Promise<void> => {
    for await (const placed of files.read()) again = () => placed.again().then(({ result }) => result);
    await audit.record(anIntent(), () => Promise.resolve(), ok);
    assert.equal(await again(), 'unknown');
  };
  await audit.record(anIntent(), act, ok);
  assert.equal(await again(), 'ok');
});

test('what is no line of ours is skipped, half a line is waited for, and a file without lines holds nobody up', async (t) => {
  const directory = temporaryDirectory(t);
  const path = auditPath(directory);
  const { audit } = openAudit(directory, new DrivenClock());
  appendFileSync(path, `${'x'.repeat(200_000)}\nnonsense\n\n[]\n`);
  await audit.record(anIntent({ ids: { name: 'a' } }), () => Promise.resolve(), ok);
  const files = new AuditFiles(directory);
  t.after(() => files.closeOld(0));
  assert.deepEqual(await namesOf(files), ['a']);
  const line = JSON.stringify({ action: 'device.kick', result: 'ok', ids: { name: 'b' } });
  appendFileSync(path, line.slice(0, 10));
  assert.deepEqual(await namesOf(files), []);
  appendFileSync(path, `${line.slice(10)}\n`);
  assert.deepEqual(await namesOf(files), ['b']);
});
