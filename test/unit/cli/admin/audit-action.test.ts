/** `reveille audit` over the files of a directory, and what commands on a store at rest leave there. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { showAudit, type AuditOptions } from '../../../../src/cli/admin/audit-action.ts';
import { followAudit } from '../../../../src/cli/admin/audit-follow.ts';
import { changeRegistry } from '../../../../src/cli/admin/change-registry.ts';
import {
  createOpsToken,
  listOpsTokens,
  revokeOpsToken,
} from '../../../../src/cli/admin/ops-token-actions.ts';
import type { AuditLine } from '../../../../src/model/audit.ts';
import { auditResultMsMax } from '../../../../src/model/limits.ts';
import { AuditFiles, auditPath } from '../../../../src/storage/audit/audit-files.ts';
import { AuditRefusal } from '../../../../src/storage/audit/audit-log.ts';
import { anIntent, linesInFile, openAudit } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { HeardOutput } from '../../../support/received-output.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

const ok = () => ({ result: 'ok' }) as const;
const nothing = (): Promise<void> => Promise.resolve();

function scene(t: Ending) {
  const clock = new DrivenClock();
  const dataDirectory = join(temporaryDirectory(t), 'data');
  return { clock, dataDirectory, output: new HeardOutput() };
}

test('changes are shown oldest first, the newest so many, by age, action and operator', async (t) => {
  const context = scene(t);
  const { clock, dataDirectory } = context;
  mkdirSync(dataDirectory);
  const { audit } = openAudit(dataDirectory, clock);
  await audit.record(anIntent({ ids: { device_id: 'a\n\u001b[2J' } }), nothing, () => {
    return { result: 'refused', reason: 'no such device' };
  });
  clock.advance(3_600_000);
  await audit.record(anIntent({ action: 'device.disable', operator: 'bob' }), nothing, ok);
  await audit.record(anIntent({ action: 'credential.revoke', operator: 'bob' }), nothing, ok);
  const shown = async (options: Partial<AuditOptions>): Promise<readonly string[]> => {
    const output = new HeardOutput();
    await showAudit({ ...context, output }, { limit: 50, ...options });
    return output.texts.map((text) => /(?:device|credential)\.\w+/.exec(text)?.[0] ?? text);
  };
  assert.deepEqual(await shown({}), ['device.kick', 'device.disable', 'credential.revoke']);
  assert.deepEqual(await shown({ limit: 2 }), ['device.disable', 'credential.revoke']);
  assert.deepEqual(await shown({ action: ['device.*'] }), ['device.kick', 'device.disable']);
  assert.deepEqual(await shown({ operator: 'alice' }), ['device.kick']);
  assert.deepEqual(await shown({ since: (nowMs) => nowMs - 60_000 }), [
    'device.disable',
    'credential.revoke',
  ]);
  await showAudit(context, { limit: 50, operator: 'alice' });
  assert.match(
    context.output.text,
    /device\.kick +alice +refused {2}device_id="a\\n\\u001b\[2J" {2}from 10\.0\.0\.7: no such device$/,
  );
  await showAudit(context, { limit: 50, operator: 'nobody' });
  assert.deepEqual(context.output.remarks, ['no such change is in the audit log']);
});

test('a follower shows a change once, when its result is known, and one without end after a minute', async (t) => {
  const { clock, dataDirectory } = scene(t);
  mkdirSync(dataDirectory);
  const { audit } = openAudit(dataDirectory, clock);
  const files = new AuditFiles(dataDirectory);
  const shown: AuditLine[] = [];
  const interruption = new AbortController();
  let showing = (): void => undefined;
  const show = (line: AuditLine): void => {
    shown.push(line);
    showing();
  };
  const following = followAudit({ clock, files, show }, interruption.signal);
  const looking = async (count: number, stepMs: number): Promise<void> => {
    while (shown.length < count) {
      clock.advance(stepMs);
      await new Promise((resolve) => {
        showing = () => resolve(null);
        setImmediate(resolve);
      });
    }
  };
  let finish = (): void => undefined;
  const slow = new Promise<void>((resolve) => (finish = resolve));
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const act = (): Promise<void> => (begun(), slow);
  const change = audit.record(anIntent({ ids: { name: 'slow' } }), act, ok);
  await hasBegun;
  await audit.record(anIntent({ ids: { name: 'quick' } }), nothing, ok);
  await looking(1, 300);
  finish();
  await change;
  await looking(2, 300);
  await new Promise<void>((resolve) => {
    const endless = (): Promise<void> => (resolve(), new Promise(() => undefined));
    void audit.record(anIntent({ ids: { name: 'endless' } }), endless, ok);
  });
  await looking(3, auditResultMsMax);
  assert.deepEqual(
    shown.map(({ ids, result }) => [ids.name, result]),
    [
      ['quick', 'ok'],
      ['slow', 'ok'],
      ['endless', 'unknown'],
    ],
  );
  interruption.abort();
  await following;
  await files.closeOld(0);
});

test('a command on a store at rest has its line, under the user of the system, and is refused without', async (t) => {
  const { clock, dataDirectory } = scene(t);
  const disable = () => changeRegistry(dataDirectory, clock, (changes) => changes.disableDevice('X', true));
  await assert.rejects(disable(), /no device "X"/);
  const [line] = linesInFile(dataDirectory);
  assert.deepEqual(
    [line?.operator, line?.role, line?.from, line?.action, line?.result],
    ['cli', null, `pid ${process.pid}`, 'device.disable', 'refused'],
  );
  assert.ok(line?.user !== undefined);
  const { dataDirectory: other } = scene(t);
  mkdirSync(auditPath(other), { recursive: true });
  await assert.rejects(
    changeRegistry(other, clock, (changes) => changes.addBridge('b', ['a'])),
    AuditRefusal,
  );
});

test('tokens are made, listed and revoked at rest, a token shown once and never written', async (t) => {
  const context = scene(t);
  const { output } = context;
  await listOpsTokens(context);
  assert.match(output.text, /no named tokens/);
  await createOpsToken(context, 'alice', 'viewer');
  const { token } = output.json as { token: string };
  assert.equal(output.text, `made a token for alice (viewer)\ntoken  ${token}  (shown this once)`);
  await assert.rejects(createOpsToken(context, 'alice', 'viewer'), /a token "alice" already/);
  await listOpsTokens(context);
  assert.match(output.text, /^NAME +ROLE +MADE +LAST USED\nalice +viewer +2026-11-20T08:30:00Z +never$/);
  await revokeOpsToken(context, 'alice');
  await assert.rejects(revokeOpsToken(context, 'alice'), /no token "alice"/);
  const lines = linesInFile(context.dataDirectory);
  assert.deepEqual(
    lines.map(({ action, ids, result }) => [action, ids.name, result]),
    [
      ['ops-token.create', 'alice', 'ok'],
      ['ops-token.create', 'alice', 'refused'],
      ['ops-token.revoke', 'alice', 'ok'],
      ['ops-token.revoke', 'alice', 'refused'],
    ],
  );
  assert.equal(JSON.stringify(lines).includes(token), false);
});
