/** The metrics and the request log of a whole server. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { metric, metricsOf } from '../support/driven-server.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

test('figures that a server has once are in its metrics', async () => {
  const text = await metricsOf(server);
  for (const [name, least] of [
    ['reveille_store_bytes{file="registry"}', 4096],
    ['reveille_store_bytes{file="state"}', 4096],
    ['reveille_store_bytes{file="webhooks"}', 4096],
    ['reveille_store_map_bytes{file="state"}', 4096],
    ['reveille_disk_free_bytes', 1],
    ['reveille_disk_bytes', 1],
    ['process_open_fds', 5],
  ] as const)
    assert.ok((metric(text, name) ?? 0) >= least, `${name}: ${metric(text, name)}`);
  assert.equal(metric(text, 'reveille_registry_entries{kind="device"}'), 8);
  assert.equal(metric(text, 'reveille_registry_entries{kind="application"}'), 2);
  assert.equal(metric(text, 'reveille_webhook_backlog_events{state="behind"}'), 0);
  assert.equal(metric(text, 'reveille_webhook_oldest_event_seconds'), 0);
});

test('long polls are counted separately on every endpoint that supports them', async () => {
  const { api } = server;
  const module = await server.module('SLEEPING01');
  const woken = await api.wake({ device_id: 'SLEEPING01' });
  assert.equal(woken.status, 202);
  await module.nextPacket();
  const outcome = `request_id=${String(woken.json.data?.['request_id'] ?? woken.json['request_id'])}`;
  const wait = 'wait=0.001';
  for (const query of ['after=latest', `after=latest&${wait}`]) await api.call({ path: '/v1/events', query });
  for (const query of [outcome, `${outcome}&${wait}`])
    await api.call({ path: '/v1/device/wakeup-request', query });
  const message = { device_id: 'SLEEPING02', name: 'msga_join_voip_room', payload: {} };
  for (const wake of [{}, { wake: true, wait: 0.001 }])
    await api.call({
      method: 'POST',
      path: '/v1/device/message',
      body: JSON.stringify({ ...message, ...wake }),
    });
  const text = await metricsOf(server);
  const counts = (name: string, route: string): number =>
    Array.from(text.matchAll(new RegExp(`^${name}_count\\{route="${route}",[^}]*\\} (\\d+)$`, 'gm')))
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
  for (const route of ['events', 'wakeup-outcome', 'message'])
    assert.deepEqual(
      [
        counts('reveille_http_request_duration_seconds', route),
        counts('reveille_http_long_poll_duration_seconds', route),
      ],
      [1, 1],
      route,
    );
  await module.close();
});

test('a refused request has one log line, a success none', async () => {
  const { api, log } = server;
  const before = log.lines.length;
  await api.connectivity('TESTDEVICE01');
  const refused = await api.connectivity('FOREIGN01');
  const lines = log.lines.slice(before).filter(({ message }) => message.startsWith('request '));
  assert.deepEqual(
    lines.map(({ level, message, fields }) => ({ level, message, ...fields, ms: 0 })),
    [
      {
        level: 'info',
        message: 'request refused',
        request_id: refused.json['request_id'] ?? refused.headers['x-tg-request-id'],
        app_id: '2818153',
        route: 'connectivity',
        status: 200,
        ms: 0,
        code: refused.json.code,
        reason: refused.json['message'],
      },
    ],
  );
});
