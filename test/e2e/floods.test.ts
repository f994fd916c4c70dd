/**
 * A connection that sends as fast as the server reads, of every known kind, is closed before it has sent much, and a sleeping module and
 * a backend are not affected. `npm run bench -- hostile` measures the cost for others.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { RefusedAnswer } from '../../src/gateways/admin/refused-route.ts';
import { flood, floodKinds } from '../support/floods.ts';
import { startTestSite } from '../support/test-site.ts';

/** Far more than any limit of the server, and than it reads while it closes. */
const bytesMax = 256 * 1024 * 1024;

const rate = 'limits.device_logins_per_second=1';
const site = await startTestSite({ after }, rate);
const edgeSite = await startTestSite({ after }, rate, 'sleep.edges=1');
const device = { deviceId: 'TESTDEVICE01', secret: 'secret of TESTDEVICE01' };

for (const [where, flooded, kinds] of [
  ['', site, floodKinds],
  [' at an edge', edgeSite, floodKinds.filter(({ listener }) => listener === 'sleep')],
] as const) {
  const { api } = flooded;
  const module = await flooded.module('SLEEPING01');
  for (const kind of kinds)
    test(`${kind.name}${where}, without end: the connection is closed, and others are not affected`, async () => {
      let isAsleep = true;
      void module.closed.then(() => (isAsleep = false));
      const flooding = flood(kind, { ...flooded.ports, ...device }, { bytesMax });
      const { json } = await api.connectivity('SLEEPING01');
      assert.equal(json.code, 0);
      const { by, bytesSent } = await flooding;
      assert.equal(by, 'server', `${bytesSent} bytes were taken`);
      module.heartbeat();
      assert.equal((await api.connectivity('SLEEPING01')).json.code, 0);
      assert.ok(isAsleep, 'the module beside it keeps its session');
    });
}

test('a controller that floods receives 4429, and its session ends as flood', async () => {
  const heartbeats = floodKinds.find(({ name }) => name === 'heartbeats of a controller');
  assert.ok(heartbeats !== undefined);
  await flood(heartbeats, { ...site.ports, ...device }, { bytesMax });
  const { json } = await site.api.call({ path: '/v1/events', query: 'limit=1000' });
  const { events } = json.data as { events: { type: string; data: { reason?: string } }[] };
  const ends = events.filter(({ type }) => type === 'device.signal.offline').map(({ data }) => data.reason);
  assert.ok(ends.length > 0);
  assert.deepEqual([...new Set(ends)], ['flood']);
});

for (const [kind, where, flooded] of [
  ['module', '', site],
  ['module', ' at an edge', edgeSite],
  ['controller', '', site],
] as const)
  test(`two ${kind}s${where} with one id are busy beyond their rate, and are one conflict: others are not affected`, async () => {
    const { api } = flooded;
    const deviceId = 'SLEEPING02';
    const connection = kind === 'module' ? 'sleep' : 'signal';
    let refused = 0;
    for (let i = 0; i < 60; i++) await flooded[kind](deviceId).catch(() => (refused += 1));
    assert.ok(refused > 0);
    assert.equal((await api.connectivity('SLEEPING01')).json.code, 0);
    const line = await flooded.server.command.line(
      (text) => text.includes('keep replacing each other') && text.includes(`"connection":"${connection}"`),
    );
    assert.deepEqual((JSON.parse(line) as { addresses: string[] }).addresses, ['127.0.0.1']);
    const { json } = await api.call({ path: '/v1/events', query: 'limit=1000' });
    const events = (json.data as { events: { type: string; device_id: string; data: object }[] }).events;
    const conflicts = events
      .filter(({ type, device_id }) => type === 'device.conflict' && device_id === deviceId)
      .map(({ data }) => data)
      .filter((data) => 'connection' in data && data.connection === connection);
    assert.deepEqual(conflicts, [{ connection, replacements: 5 }]);
    const query = new URLSearchParams({ device_id: deviceId, connection }).toString();
    const { refused: rows } = await flooded.ops<RefusedAnswer>(`/v1/refused?${query}`);
    const counts = Object.fromEntries(rows.map(({ reason, count }) => [reason, count]));
    assert.deepEqual(counts, { conflict: 5, too_fast: refused });
    assert.ok(!JSON.stringify(events).includes('127.0.0.1'));
  });
