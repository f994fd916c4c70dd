/** Alarms of a whole server without Prometheus: `GET /v1/alarms`. Source: docs/alerts.md. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { test } from 'node:test';
import type { AlarmJson, AlarmsAnswer } from '../../src/server/health/alarm-watch.ts';
import type { MediaCarrier } from '../../src/server/children/media-child.ts';
import { alarmsEveryMs, checksEveryMs } from '../../src/model/console-limits.ts';
import { metricsOf, opsOf, startDrivenServer, type DrivenServer } from '../support/driven-server.ts';
import { startMediaInside } from '../support/inside-media.ts';

const roundsMax = 100;

function find({ alarms, resolved }: AlarmsAnswer, name: string): AlarmJson | undefined {
  return [...alarms, ...resolved].find((alarm) => alarm.name === name);
}

/** Advances the clock, one evaluation at a time, until the alarm has this state; undefined: no alarm. */
async function until(server: DrivenServer, name: string, state: string | undefined): Promise<AlarmsAnswer> {
  for (let round = 0; round < roundsMax; round++) {
    const answer = await opsOf(server).ask<AlarmsAnswer>('/v1/alarms');
    if (find(answer, name)?.state === state) return answer;
    server.clock.advance(alarmsEveryMs);
    await metricsOf(server);
  }
  return assert.fail(`${name} is not ${state}`);
}

test('media lost for a minute is an alarm, which is resolved when it is back', async (t) => {
  let isAway = false;
  let carrier: MediaCarrier | null = null;
  const server = await startDrivenServer({
    startMedia: (own) => {
      if (isAway) throw new Error('no process to give');
      return (carrier = startMediaInside(own));
    },
  });
  t.after(() => server.stop());
  const well = await until(server, 'ReveilleMediaDown', undefined);
  assert.deepEqual([well.node === '', well.version], [false, '0.1.0']);
  server.clock.advance(alarmsEveryMs);
  await metricsOf(server);

  isAway = true;
  (carrier as MediaCarrier | null)?.kill();
  await until(server, 'ReveilleMediaDown', 'pending');
  const down = await until(server, 'ReveilleMediaDown', 'firing');
  const alarm = find(down, 'ReveilleMediaDown');
  assert.match(down.health, /\d alarms?: .*ReveilleMediaDown/);
  assert.deepEqual([alarm?.severity, alarm?.of, alarm?.found], ['critical', '', '0']);
  assert.match(String(alarm?.meaning), /calls cannot connect/);
  assert.match(String(alarm?.cure), /media process: died/);

  isAway = false;
  const back = await until(server, 'ReveilleMediaDown', 'resolved');
  assert.notEqual(find(back, 'ReveilleMediaDown')?.resolved_at, null);
  assert.doesNotMatch(back.health, /ReveilleMediaDown/);
});

test('a failed check of the doctor is an alarm of the running server, with its advice', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  chmodSync(server.dataDirectory, 0o755);
  server.clock.advance(checksEveryMs);
  const { alarms } = await until(server, 'doctor', 'firing');
  const place = alarms.find(({ of }) => of === 'data directory');
  assert.match(String(place?.found), /has mode 0755/);
  assert.match(String(place?.cure), /chmod 700/);
});

test('a viewer may read the alarms', async (t) => {
  const server = await startDrivenServer();
  t.after(() => server.stop());
  const { token } = await opsOf(server).change<{ token: string }>('/v1/ops-tokens/create', {
    name: 'viola',
    role: 'viewer',
  });
  const answer = await fetch(`http://127.0.0.1:${server.ports.ops}/v1/alarms`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 200);
});
