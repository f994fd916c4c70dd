/** The console at a whole server: login, rights of the cookie, and the routes of the page. */
import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders } from 'node:http';
import { after, before, test } from 'node:test';
import type { ConsoleSessionJson, KnownSessionJson } from '../../src/gateways/console/console-service.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { linesInFile } from '../support/audit-scene.ts';
import { clearDevices, opsOf, startDrivenServer, type DrivenServer } from '../support/driven-server.ts';

let server: DrivenServer;

before(async () => {
  server = await startDrivenServer();
});
after(() => server.stop());

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

type Headers = Readonly<Record<string, string>>;

/** Headers of a browser, changed by the test. */
function ask(method: string, path: string, headers: Headers = {}, body?: unknown): Promise<Answer> {
  const port = server.ports.ops;
  const origin: Headers = method === 'GET' ? {} : { Origin: `http://127.0.0.1:${port}` };
  const json: Headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, method, path, headers: { ...origin, ...json, ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        answer.on('end', () => {
          const isJson = answer.headers['content-type']?.includes('json') === true;
          const parsed = isJson ? (JSON.parse(text) as Answer['json']) : {};
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, json: parsed });
        });
      },
    );
    asked.on('error', reject);
    asked.end(body === undefined ? '' : JSON.stringify(body));
  });
}

async function tokenOf(name: string, role: 'viewer' | 'operator'): Promise<string> {
  const { token } = await opsOf(server).change<{ token: string }>('/v1/ops-tokens/create', { name, role });
  return token;
}

function sessionIn({ json }: Answer): ConsoleSessionJson | null {
  return (json as unknown as KnownSessionJson).session;
}

/** Headers of requests by the page. */
async function logIn(token: string): Promise<Headers> {
  const answer = await ask('POST', '/console/login', {}, { token });
  assert.equal(answer.status, 200, answer.text);
  const cookie = (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';
  return { Cookie: cookie, 'X-Reveille-Csrf': sessionIn(answer)?.csrf ?? '' };
}

function localToken(): string {
  return findOpsToken(server.dataDirectory) ?? '';
}

test('a login with a token returns the proof, and a cookie that scripts cannot read and other sites cannot send', async () => {
  const answer = await ask('POST', '/console/login', {}, { token: localToken() });
  assert.equal(answer.status, 200, answer.text);
  const [cookie = ''] = answer.headers['set-cookie'] ?? [];
  const name = `reveille_console_${server.ports.ops}`;
  assert.match(
    cookie,
    new RegExp(`^${name}=[\\w.-]{100,160}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict$`),
  );
  const { name: operator, role } = sessionIn(answer) ?? {};
  assert.deepEqual([operator, role], ['local', 'operator']);
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.ok(!answer.text.includes(localToken()));
});

test('behind TLS the cookie is sent over TLS only', async () => {
  const origin = { Origin: `https://127.0.0.1:${server.ports.ops}` };
  const answer = await ask('POST', '/console/login', origin, { token: localToken() });
  assert.match(answer.headers['set-cookie']?.[0] ?? '', /; Secure$/);
});

test('a login with a wrong token, without one, or from another site is refused without a cookie', async () => {
  const wrong: readonly (readonly [status: number, headers: Headers, body: unknown])[] = [
    [401, {}, { token: 'x'.repeat(43) }],
    [400, {}, {}],
    [400, {}, { token: 'x'.repeat(257) }],
    [400, {}, { token: localToken(), more: 1 }],
    [415, { 'Content-Type': 'text/plain' }, { token: localToken() }],
    [403, { Origin: 'https://evil.example' }, { token: localToken() }],
    [403, { Host: 'evil.example' }, { token: localToken() }],
  ];
  for (const [status, headers, body] of wrong) {
    const answer = await ask('POST', '/console/login', headers, body);
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [status, undefined], answer.text);
  }
});

test('the cookie has the rights of the token, but only with the proof of its page', async () => {
  const { Cookie = '', 'X-Reveille-Csrf': csrf = '' } = await logIn(localToken());
  const counts = '/v1/registry/counts';
  assert.equal((await ask('GET', counts, { Cookie, 'X-Reveille-Csrf': csrf })).status, 200);
  for (const headers of [{ Cookie }, { Cookie, 'X-Reveille-Csrf': 'x' }, { 'X-Reveille-Csrf': csrf }])
    assert.equal((await ask('GET', counts, headers)).status, 401);
  const body = { device_id: 'SLEEPING01' };
  const kick = (headers: Headers): Promise<Answer> => ask('POST', '/v1/device/kick', headers, body);
  assert.equal((await kick({ Cookie })).status, 401);
  const foreign = { Cookie, 'X-Reveille-Csrf': csrf, Origin: 'http://127.0.0.1:1' };
  assert.equal((await kick(foreign)).status, 403);
  assert.equal((await kick({ Cookie, 'X-Reveille-Csrf': csrf })).status, 200);
});

test('a reopened page continues its session, and a logout ends it', async () => {
  const headers = await logIn(localToken());
  const { Cookie = '' } = headers;
  const session = await ask('GET', '/console/session', { Cookie });
  assert.equal(sessionIn(session)?.csrf, headers['X-Reveille-Csrf']);
  assert.equal(
    (await ask('POST', '/console/logout', { Cookie }, {})).status,
    401,
    'no page of others ends it',
  );
  const out = await ask('POST', '/console/logout', headers, {});
  assert.match(out.headers['set-cookie']?.[0] ?? '', /=; Path=\/; Max-Age=0;/);
  assert.equal(sessionIn(await ask('GET', '/console/session', { Cookie })), null);
  assert.equal((await ask('GET', '/v1/registry/counts', headers)).status, 401);
});

test('a change by the console is in the audit log under the name of its operator', async () => {
  const headers = await logIn(await tokenOf('olga', 'operator'));
  const body = { device_id: 'SLEEPING01', disabled: true };
  assert.equal((await ask('POST', '/v1/device/disable', headers, body)).status, 200);
  assert.equal((await ask('POST', '/v1/device/disable', headers, { ...body, disabled: false })).status, 200);
  const { lines } = (await ask('GET', '/v1/audit?operator=olga', headers)).json as {
    readonly lines: readonly { readonly action: string; readonly ids: object }[];
  };
  assert.deepEqual(
    lines.map(({ action, ids }) => [action, ids]),
    [
      ['device.disable', { device_id: 'SLEEPING01', disabled: true }],
      ['device.disable', { device_id: 'SLEEPING01', disabled: false }],
    ],
  );
});

test('the page runs only its own script, cannot be framed, and is cached', async () => {
  for (const path of ['/console', '/console/console.js', '/console/console.css']) {
    const answer = await ask('GET', path);
    assert.equal(answer.status, 200, path);
    const policy = String(answer.headers['content-security-policy']);
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(part), part);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.equal(answer.headers['x-content-type-options'], 'nosniff');
    assert.equal(answer.headers['cache-control'], 'no-cache');
    const again = await ask('GET', path, { 'If-None-Match': String(answer.headers.etag) });
    assert.deepEqual([again.status, again.text], [304, '']);
    assert.equal((await ask('POST', path, {}, {})).status, 405);
  }
  const { text } = await ask('GET', '/console');
  assert.doesNotMatch(text, /https?:|<script>|<style>|style=|onclick/, 'no asset of others, nothing inline');
  const root = await ask('GET', '/');
  assert.deepEqual([root.status, root.headers.location], [303, '/console']);
  assert.equal((await ask('GET', '/console', { Host: 'evil.example' })).status, 403);
});

test('an operator wakes a sleeping device, its application receives the event, and the outcome is shown', async () => {
  const headers = await logIn(localToken());
  const module = await server.module('SLEEPING01');
  const answer = await ask('POST', '/v1/device/wake', headers, { device_id: 'SLEEPING01' });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await module.nextPacket(), Buffer.from('983b16f8f39c0000', 'hex'));
  const requestId = String(answer.json['request_id']);
  const controller = await server.controller('SLEEPING01');
  const { wakeups } = (await ask('GET', `/v1/wakeups?request_id=${requestId}`, headers)).json as {
    readonly wakeups: readonly Readonly<Record<string, unknown>>[];
  };
  assert.equal(wakeups[0]?.['app_id'], answer.json['app_id']);
  assert.equal(typeof wakeups[0]?.['woke_after_ms'], 'number');
  const line = linesInFile(server.dataDirectory).find(({ action }) => action === 'device.wake');
  assert.deepEqual(line?.ids, {
    device_id: 'SLEEPING01',
    app_id: answer.json['app_id'],
    request_id: requestId,
  });
  await controller.close();
  await module.close();
  await clearDevices(server, ['SLEEPING01']);
});

test('an operator wakes a device with custom data', async () => {
  const headers = await logIn(localToken());
  const module = await server.module('SLEEPING01');
  const body = { device_id: 'SLEEPING01', custom_data: '0x12ab' };
  assert.equal((await ask('POST', '/v1/device/wake', headers, body)).status, 200);
  assert.deepEqual(await module.nextPacket(), Buffer.from('983b16f8f39c12ab', 'hex'));
  await module.close();
  await clearDevices(server, ['SLEEPING01']);
});

test('an operator sends an online device a message, and sees its acknowledgement', async () => {
  const headers = await logIn(localToken());
  const body = { device_id: 'SLEEPING01', name: 'ring', payload: { tone: 'loud' } };
  const send = (): Promise<Answer> => ask('POST', '/v1/device/message', headers, body);
  const absent = await send();
  assert.deepEqual(
    [absent.status, absent.json['error']],
    [409, 'the device is not online: wake it first (40412)'],
  );
  const controller = await server.controller('SLEEPING01');
  const sending = send();
  const { name, payload, id } = await controller.nextMessage();
  controller.acknowledge(id);
  const answer = await sending;
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([name, payload], ['ring', { tone: 'loud' }]);
  assert.equal(answer.json['id'], id);
  assert.match(String(answer.json['acknowledged_at']), /^\d{4}-/);
  const line = linesInFile(server.dataDirectory).find(
    ({ action, result }) => action === 'device.message' && result === 'ok',
  );
  assert.deepEqual(line?.ids, { device_id: 'SLEEPING01', name: 'ring', app_id: answer.json['app_id'] });
  assert.equal(
    (await ask('POST', '/v1/device/message', headers, { ...body, device_id: 'NOBODY' })).status,
    404,
  );
  await controller.close();
  await clearDevices(server, ['SLEEPING01']);
});

test('a device that does not sleep is not woken, and the operator sees the reason', async () => {
  const headers = await logIn(localToken());
  const wake = (device_id: string): Promise<Answer> => ask('POST', '/v1/device/wake', headers, { device_id });
  const asleep = await wake('TESTDEVICE01');
  assert.deepEqual(
    [asleep.status, asleep.json['error']],
    [409, 'the device is not sleeping: its module has no session (40412)'],
  );
  assert.equal((await wake('NOBODY')).status, 404);
  assert.equal((await ask('POST', '/v1/device/wake', headers, {})).status, 400);
});

test('a server without a console has neither the page nor the figures', async (t) => {
  const other = await startDrivenServer({ overrides: ['ops.console=false'] });
  t.after(() => other.stop());
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${other.ports.ops}${path}`)).status;
  for (const path of ['/console', '/console/session', '/']) assert.equal(await statusOf(path), 401, path);
  for (const path of ['/watch', '/console/console.js'])
    assert.equal(await statusOf(path), 200, 'a viewer with a link still sees a call');
  await assert.rejects(opsOf(other).ask('/v1/figures'), /no such path/);
});
