/** Reading and following the audit log. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { auditRoutes, type AuditAnswer } from '../../../../src/gateways/admin/audit-routes.ts';
import { auditResultMsMax } from '../../../../src/model/limits.ts';
import type { AuditAction, AuditLine } from '../../../../src/model/audit.ts';
import { askRoute } from '../../../support/ask-route.ts';
import { anIntent, openAudit } from '../../../support/audit-scene.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

/** A log whose files have room for a line or two, and its route. */
function scene(t: Ending) {
  const directory = temporaryDirectory(t);
  const clock = new DrivenClock();
  const { audit } = openAudit(directory, clock, { fileBytesMax: 1500, oldFilesMax: 3 });
  const routes = auditRoutes(directory, clock);
  const ask = async (query: Record<string, string>): Promise<AuditAnswer> => {
    const reply = await askRoute(routes, 'GET', '/v1/audit', new URLSearchParams(query).toString());
    assert.equal(reply.status, 200, JSON.stringify(reply.body));
    return reply.body as AuditAnswer;
  };
  const change = (id: string, act = () => Promise.resolve()): Promise<void> =>
    audit.record(anIntent({ ids: { device_id: id } }), act, () => ({ result: 'ok' }));
  return { clock, audit, ask, change };
}

const idsOf = (lines: readonly AuditLine[]): unknown[] => lines.map(({ ids }) => ids.device_id);

test('each read continues after the previous one, across rotations and from an empty log', async (t) => {
  const { ask, change } = scene(t);
  let { next, lines } = await ask({});
  assert.deepEqual(lines, []);
  const seen: unknown[] = [];
  for (let round = 0; round < 4; round++) {
    for (const each of ['a', 'b', 'c']) await change(`${round}${each}`);
    ({ next, lines } = await ask({ after: next, limit: '2' }));
    assert.equal(lines.length, 2);
    seen.push(...idsOf(lines));
    ({ next, lines } = await ask({ after: next }));
    seen.push(...idsOf(lines));
  }
  assert.deepEqual(seen, ['0a', '0b', '0c', '1a', '1b', '1c', '2a', '2b', '2c', '3a', '3b', '3c']);
  assert.deepEqual((await ask({ after: next })).lines, []);
});

test('the newest lines are filtered by number, age, action and operator', async (t) => {
  const { clock, audit, ask } = scene(t);
  const record = (operator: string, action: AuditAction): Promise<void> =>
    audit.record(
      anIntent({ operator, action }),
      () => Promise.resolve(),
      () => ({ result: 'ok' }),
    );
  await record('alice', 'device.kick');
  clock.advance(3_600_000);
  await record('bob', 'device.disable');
  await record('bob', 'credential.revoke');
  const shown = async (query: Record<string, string>): Promise<string[]> =>
    (await ask(query)).lines.map(({ action }) => action);
  assert.deepEqual(await shown({ limit: '2' }), ['device.disable', 'credential.revoke']);
  assert.deepEqual(await shown({ action: 'device.*' }), ['device.kick', 'device.disable']);
  assert.deepEqual(await shown({ action: 'device.kick,credential.revoke' }), [
    'device.kick',
    'credential.revoke',
  ]);
  assert.deepEqual(await shown({ operator: 'alice' }), ['device.kick']);
  assert.deepEqual(await shown({ since: String(clock.wallMs() - 60_000) }), [
    'device.disable',
    'credential.revoke',
  ]);
});

test('a change is shown once, with its result; one without a result is shown after a minute', async (t) => {
  const { clock, ask, change } = scene(t);
  await change('first');
  const { next } = await ask({ limit: '1' });
  let finish = (): void => undefined;
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const slow = change('slow', () => new Promise((resolve) => (begun(), (finish = resolve))));
  await hasBegun;
  assert.deepEqual((await ask({ after: next })).lines, []);
  clock.advance(auditResultMsMax);
  const [overdue] = (await ask({ after: next })).lines;
  assert.equal(overdue?.result, 'unknown');
  finish();
  await slow;
  const [ended] = (await ask({ after: next })).lines;
  assert.equal(ended?.result, 'ok');
});

test('an unknown place sorts before all lines kept', async (t) => {
  const { ask, change } = scene(t);
  await change('one');
  const { next } = await ask({});
  for (const after of ['1:0', next.replace(/\d+$/, '999999')])
    assert.deepEqual(idsOf((await ask({ after })).lines), ['one'], after);
});
