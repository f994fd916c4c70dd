/** `reveille audit` over the files of a directory, and what commands on a store at rest leave there. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { test } from 'node:test';
import { addAuditCommand } from '../../../../src/cli/admin/audit-command.ts';
import { followAudit } from '../../../../src/cli/admin/audit-follow.ts';
import { addBridgeCommand } from '../../../../src/cli/admin/bridge-command.ts';
import { addDeviceCommand } from '../../../../src/cli/admin/device-command.ts';
import { addOpsTokenCommand } from '../../../../src/cli/admin/ops-token-command.ts';
import type { AuditLine } from '../../../../src/model/audit.ts';
import { auditResultMsMax } from '../../../../src/model/limits.ts';
import { AuditFiles, auditPath } from '../../../../src/storage/audit/audit-files.ts';
import { AuditRefusal } from '../../../../src/storage/audit/audit-log.ts';
import { anIntent, linesInFile, openAudit } from '../../../support/audit-scene.ts';
import { commandScene, type CommandScene } from '../../../support/command-scene.ts';
import type { Ending } from '../../../support/temporary-store.ts';

const ok = () => ({ result: 'ok' }) as const;
const nothing = (): Promise<void> => Promise.resolve();

function scene(t: Ending): CommandScene {
  return commandScene(t, (program) => {
    for (const add of [addAuditCommand, addBridgeCommand, addDeviceCommand, addOpsTokenCommand]) add(program);
  });
}

test('changes are shown oldest first, the newest so many, by age, action and operator', async (t) => {
  const { clock, dataDirectory, output, run } = scene(t);
  const { audit } = openAudit(dataDirectory, clock);
  await audit.record(anIntent({ ids: { device_id: 'a\n\u001b[2J' } }), nothing, () => {
    return { result: 'refused', reason: 'no such device' };
  });
  clock.advance(3_600_000);
  await audit.record(anIntent({ action: 'device.disable', operator: 'bob' }), nothing, ok);
  await audit.record(anIntent({ action: 'credential.revoke', operator: 'bob' }), nothing, ok);
  const shown = async (...options: readonly string[]): Promise<readonly string[]> => {
    output.texts.length = 0;
    await run('audit', ...options);
    return output.texts.map((text) => /(?:device|credential)\.\w+/.exec(text)?.[0] ?? text);
  };
  assert.deepEqual(await shown(), ['device.kick', 'device.disable', 'credential.revoke']);
  assert.deepEqual(await shown('--limit', '2'), ['device.disable', 'credential.revoke']);
  assert.deepEqual(await shown('--action', 'device.*'), ['device.kick', 'device.disable']);
  assert.deepEqual(await shown('--operator', 'alice'), ['device.kick']);
  assert.deepEqual(await shown('--since', '60s'), ['device.disable', 'credential.revoke']);
  await run('audit', '--operator', 'alice');
  assert.match(
    output.text,
    /device\.kick +alice +refused {2}device_id="a\\n\\u001b\[2J" {2}from 10\.0\.0\.7: no such device$/,
  );
  await run('audit', '--operator', 'nobody');
  assert.deepEqual(output.remarks, ['no such change is in the audit log']);
});

test('a follower shows a change once, when its result is known, and one without end after a minute', async (t) => {
  const { clock, dataDirectory } = scene(t);
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
  const { dataDirectory, run } = scene(t);
  await assert.rejects(run('device', 'disable', 'X'), /no device "X"/);
  const [line] = linesInFile(dataDirectory);
  assert.deepEqual(
    [line?.operator, line?.role, line?.from, line?.action, line?.result],
    ['cli', null, `pid ${process.pid}`, 'device.disable', 'refused'],
  );
  assert.ok(line?.user !== undefined);
  const other = scene(t);
  mkdirSync(auditPath(other.dataDirectory), { recursive: true });
  await assert.rejects(other.run('bridge', 'add', 'b', '--app', 'a'), AuditRefusal);
});

test('tokens are made, listed and revoked at rest, a token shown once and never written', async (t) => {
  const { dataDirectory, output, run } = scene(t);
  await run('ops-token', 'list');
  assert.match(output.text, /no named tokens/);
  await run('ops-token', 'create', 'alice', '--role', 'viewer');
  const { token } = output.json as { token: string };
  assert.equal(output.text, `made a token for alice (viewer)\ntoken  ${token}  (shown this once)`);
  await assert.rejects(run('ops-token', 'create', 'alice', '--role', 'viewer'), /a token "alice" already/);
  await run('ops-token', 'list');
  assert.match(output.text, /^NAME +ROLE +MADE +LAST USED\nalice +viewer +2026-11-20T08:30:00Z +never$/);
  await run('ops-token', 'revoke', 'alice');
  await assert.rejects(run('ops-token', 'revoke', 'alice'), /no token "alice"/);
  const lines = linesInFile(dataDirectory);
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
