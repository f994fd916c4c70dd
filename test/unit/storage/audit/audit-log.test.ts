/** Writing the audit log: one line per change, on disk before it, or no change. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { test } from 'node:test';
import { unexplainedFault } from '../../../../src/storage/lmdb/store-fault.ts';
import type { AuditLine } from '../../../../src/model/audit.ts';
import { auditedAtOnceMax } from '../../../../src/model/limits.ts';
import { auditPath } from '../../../../src/storage/audit/audit-files.ts';
import { AuditRefusal } from '../../../../src/storage/audit/audit-log.ts';
import { anIntent, linesInFile, openAudit, type AuditScene } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

interface Scene extends AuditScene {
  readonly directory: string;
}

function scene(t: Ending, limits: { fileBytesMax?: number; oldFilesMax?: number } = {}): Scene {
  const directory = temporaryDirectory(t);
  return { directory, ...openAudit(directory, new DrivenClock(), limits) };
}

const ok = () => ({ result: 'ok' }) as const;
const nothing = (): Promise<void> => Promise.resolve();

const whole: AuditLine = {
  at: '2026-11-20T08:30:00.000Z',
  operator: 'alice',
  role: 'operator',
  from: '10.0.0.7',
  action: 'device.kick',
  ids: { device_id: 'DOOR-1' },
  result: 'ok',
};

test('a change has one line on disk: with an unknown result while it is under way, with its result afterwards', async (t) => {
  const { audit, directory, told } = scene(t);
  const during = await audit.record(
    anIntent(),
    async () => ({ lines: linesInFile(directory), told: [...told] }),
    () => ({ result: 'ok', ids: { kicked: true } }),
  );
  assert.deepEqual(during, { lines: [{ ...whole, result: 'unknown' }], told: [] });
  const ended = { ...whole, ids: { device_id: 'DOOR-1', kicked: true } };
  assert.deepEqual(linesInFile(directory), [ended]);
  assert.deepEqual(told, [ended]);
  assert.equal(statSync(auditPath(directory)).mode & 0o777, 0o600);
});

test('the error of a change is rethrown, and its line has no details of it', async (t) => {
  const { audit, directory } = scene(t);
  const fault = new Error('the secret is xyzzy');
  await assert.rejects(
    audit.record(anIntent(), () => Promise.reject(fault), ok),
    fault,
  );
  assert.deepEqual(linesInFile(directory), [{ ...whole, result: 'failed', reason: unexplainedFault }]);
});

const obstacles: Readonly<Record<string, (path: string) => void>> = {
  'a directory': (path) => mkdirSync(path),
  'a full disk': (path) => symlinkSync('/dev/full', path),
  'a device that discards writes': (path) => symlinkSync('/dev/null', path),
  'a directory that is gone': (path) => rmSync(path.slice(0, path.lastIndexOf('/')), { recursive: true }),
};

for (const [what, obstruct] of Object.entries(obstacles))
  test(`a change whose line cannot be written, because of ${what}, is refused before it happens`, async (t) => {
    const { audit, directory, told } = scene(t);
    obstruct(auditPath(directory));
    let happened = false;
    const act = async (): Promise<void> => void (happened = true);
    await assert.rejects(audit.record(anIntent(), act, ok), AuditRefusal);
    assert.deepEqual([happened, told], [false, []]);
  });

test('concurrent changes have a line each, and a slow one delays no other', async (t) => {
  const { audit, directory } = scene(t);
  let finish = (): void => undefined;
  const slow = new Promise<void>((resolve) => (finish = resolve));
  const first = audit.record(anIntent({ ids: { device_id: 'slow' } }), () => slow, ok);
  const others = Array.from({ length: 20 }, (_, i) =>
    audit.record(anIntent({ ids: { device_id: `quick-${i}` } }), nothing, ok),
  );
  await Promise.all(others);
  assert.equal(linesInFile(directory).filter(({ result }) => result === 'unknown').length, 1);
  finish();
  await first;
  const lines = linesInFile(directory);
  assert.equal(lines.length, 21);
  assert.ok(lines.every(({ result }) => result === 'ok'));
});

test('changes beyond the concurrent maximum are refused until others end', async (t) => {
  const { audit } = scene(t);
  let finish = (): void => undefined;
  const slow = new Promise<void>((resolve) => (finish = resolve));
  const running = Array.from({ length: auditedAtOnceMax }, () => audit.record(anIntent(), () => slow, ok));
  await assert.rejects(audit.record(anIntent(), nothing, ok), /64 changes are under way already/);
  finish();
  await Promise.all(running);
  await audit.record(anIntent(), nothing, ok);
});

test('files rotate by size, the oldest is removed, no other line is lost, and a change under way keeps its line', async (t) => {
  const { audit, directory } = scene(t, { fileBytesMax: 4500, oldFilesMax: 2 });
  let finish = (): void => undefined;
  const slow = new Promise<void>((resolve) => (finish = resolve));
  const named = (id: string) => anIntent({ ids: { device_id: id } });
  for (let i = 0; i < 4; i++) await audit.record(named(`old-${i}`), nothing, ok);
  const first = audit.record(named('slow'), () => slow, ok);
  for (let i = 0; i < 11; i++) await audit.record(named(`new-${i}`), nothing, ok);
  finish();
  await first;
  assert.equal(existsSync(auditPath(directory, 3)), false);
  const lines = [2, 1, 0].flatMap((age) => linesInFile(directory, age));
  const newest = ['slow', ...Array.from({ length: 11 }, (_, i) => `new-${i}`)];
  assert.deepEqual(
    lines.map(({ ids, result }) => [ids.device_id, result]).slice(-newest.length),
    newest.map((id) => [id, 'ok']),
  );
  for (const age of [0, 1, 2]) {
    const { size, mode } = statSync(auditPath(directory, age));
    assert.ok(size <= 4500);
    assert.equal(mode & 0o777, 0o600);
  }
});

test('a line torn by a crash does not corrupt the next, and a file open to others is closed', async (t) => {
  const { audit, directory } = scene(t);
  appendFileSync(auditPath(directory), '{"at":"2026-');
  chmodSync(auditPath(directory), 0o644);
  await audit.record(anIntent(), nothing, ok);
  const [torn, line] = readFileSync(auditPath(directory), 'utf8').split('\n');
  assert.equal(torn, '{"at":"2026-');
  assert.deepEqual(JSON.parse(line ?? ''), whole);
  assert.equal(statSync(auditPath(directory)).mode & 0o777, 0o600);
});

test('a result is recorded even if its reason does not fit', async (t) => {
  const { audit, directory, told, lost } = scene(t);
  const reason = '\u0001'.repeat(200);
  await audit.record(anIntent(), nothing, () => ({ result: 'refused', reason }));
  assert.deepEqual(linesInFile(directory), [{ ...whole, result: 'refused' }]);
  assert.equal(told[0]?.reason, reason);
  assert.deepEqual(lost, []);
});

test('long ids are truncated, and URLs are recorded without credentials and query', async (t) => {
  const { audit, directory } = scene(t);
  const ids = {
    device_id: 'L'.repeat(1000),
    app_ids: Array.from({ length: 100 }, (_, i) => `app-${i}`),
    url: 'https://user:hunter2@backend.example/hook?key=hunter2',
    name: { nested: 'hunter2' },
    counts: { device: 5 },
  };
  await audit.record(anIntent({ ids }), nothing, ok);
  const [line] = linesInFile(directory);
  assert.equal(String(line?.ids.device_id).length, 256);
  assert.ok(Array.isArray(line?.ids.app_ids) && line.ids.app_ids.length === 16);
  assert.equal(line?.ids.url, 'https://user:***@backend.example/hook?key=***');
  assert.deepEqual(line?.ids.counts, { device: 5 });
  assert.doesNotMatch(JSON.stringify(line), /hunter2/);
});
