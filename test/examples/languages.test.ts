/** Tests the one-file backends of docs/examples in five languages against the signing vectors and a real server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { signRequest } from '../../src/protocol/tgv1/sign-request.ts';
import { toolPath } from '../support/debian-tools.ts';
import { signingVectors } from '../support/signing-vectors.ts';
import { startTestServer, testCredentials, type TestServer } from '../support/test-server.ts';
import { receiverSecret } from '../support/webhook-receiver.ts';
import { examples, ExampleProcess, type ProgramEnd } from './example-process.ts';

const built = mkdtempSync(join(tmpdir(), 'reveille-examples-'));
after(() => rmSync(built, { recursive: true, force: true }));

/** Compiled once, as for a deployment; the head of each file shows how to run it from source. */
function build(program: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(program, args, {
    cwd: examples,
    env: { PATH: toolPath, HOME: built },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
}

const languages: Readonly<Record<string, { readonly source: string; readonly command: readonly string[] }>> =
  {
    python: { source: 'python/reveille.py', command: ['python3', 'python/reveille.py'] },
    go: { source: 'go/reveille.go', command: [join(built, 'reveille')] },
    java: { source: 'java/Reveille.java', command: ['java', '-Xshare:auto', '-cp', built, 'Reveille'] },
    php: { source: 'php/reveille.php', command: ['php', 'php/reveille.php'] },
    curl: { source: 'curl/reveille.sh', command: ['bash', 'curl/reveille.sh'] },
  };

let server: TestServer;
before(async () => {
  build('go', 'build', '-o', join(built, 'reveille'), 'go/reveille.go');
  build('javac', '-Xlint:all', '-Werror', '-d', built, 'java/Reveille.java');
  server = await startTestServer();
});
after(() => server.stop());

const { credential, vectors } = signingVectors;
const vectorAccess = {
  API_ACCESS_KEY_ID: credential.access_key_id,
  API_SECRET_KEY: credential.secret_key,
  API_APP_ID: credential.app_id,
};
/** The examples sign the long set of headers. */
const longVectors = vectors.filter(({ header_set }) => header_set === 'long');

test('the vectors include the header set of the examples', () => {
  assert.equal(longVectors.length, 9);
});

const date = '20261120T083000Z';
/** Requests of every method with the long header set; a nonce is signed if present. */
const ownCases = [
  { method: 'DELETE', rawQuery: 'device_id=a+b%20c', body: '', nonce: 'n-1' },
  { method: 'DELETE', rawQuery: 'device_id=a', body: '{"seen":true}', nonce: '' },
  { method: 'PUT', rawQuery: 'device_id=a', body: '{"device_id":"Tür 1"}', nonce: 'n-2' },
  { method: 'PUT', rawQuery: '', body: '', nonce: '' },
  { method: 'PATCH', rawQuery: 'x=1', body: '{}', nonce: 'n-3' },
  { method: 'POST', rawQuery: '', body: '{}', nonce: 'n-4' },
  { method: 'GET', rawQuery: 'after=latest', body: '', nonce: 'n-5' },
];

for (const [language, { source, command }] of Object.entries(languages)) {
  const start = (
    t: { after(fn: () => void): void },
    args: readonly string[],
    input = '',
    env: Readonly<Record<string, string>> = {},
  ): ExampleProcess => {
    const { accessKeyId, secretKey, appId } = testCredentials.all;
    const access = {
      API_ORIGIN: `http://127.0.0.1:${server.ports.api}`,
      API_ACCESS_KEY_ID: accessKeyId,
      API_SECRET_KEY: secretKey,
      API_APP_ID: appId,
      API_WEBHOOK_SECRET: receiverSecret,
    };
    return new ExampleProcess(t, [...command, ...args], { ...access, ...env }, input);
  };
  const run = (...args: Parameters<typeof start>): Promise<ProgramEnd> => start(...args).ended;

  test(`${language}: one file of fewer than 165 lines`, () => {
    const lines = readFileSync(join(examples, source), 'utf8').split('\n').length - 1;
    assert.ok(lines > 50 && lines < 165, String(lines));
  });

  test(`${language}: signs like the vectors`, async (t) => {
    for (const { name, method, path, raw_query, body, headers } of longVectors) {
      const target = raw_query === '' ? path : `${path}?${raw_query}`;
      const args = ['sign', method, target, headers['X-Tg-Date'] ?? '', ...(body === '' ? [] : [body])];
      const { stdout, stderr } = await run(t, args, '', vectorAccess);
      assert.equal(stdout.trim(), headers['Authorization'], `${name} ${stderr}`);
    }
  });

  test(`${language}: signs each method by the rules of its body, and a nonce`, async (t) => {
    const path = '/v1/devices';
    for (const { method, rawQuery, body, nonce } of ownCases) {
      const { Authorization: expected } = signRequest({
        credential: {
          accessKeyId: credential.access_key_id,
          secretKey: credential.secret_key,
          appId: credential.app_id,
        },
        method,
        path,
        rawQuery,
        body: Buffer.from(body),
        headerSet: 'long',
        atMs: Date.UTC(2026, 10, 20, 8, 30),
        furtherHeaders: nonce === '' ? {} : { 'x-tg-nonce': nonce },
      });
      const target = rawQuery === '' ? path : `${path}?${rawQuery}`;
      const { stdout, stderr } = await run(t, ['sign', method, target, date, body, nonce], '', vectorAccess);
      assert.equal(stdout.trim(), expected, `${method} ${body} ${nonce} ${stderr}`);
    }
  });

  test(`${language}: queries a device, also with an id that must be encoded, and an unknown one`, async (t) => {
    for (const deviceId of ['TESTDEVICE01', 'a b c+']) {
      const known = await run(t, ['status', deviceId]);
      assert.equal(known.code, 0, known.stderr);
      const { data } = JSON.parse(known.stdout) as { data: { device_id: string } };
      assert.equal(data.device_id, deviceId);
    }
    const unknown = await run(t, ['status', 'NOPE']);
    assert.equal(unknown.code, 1);
    assert.equal((JSON.parse(unknown.stdout) as { code: number }).code, 40403);
  });

  test(`${language}: wakes a device with custom data, also twice, and reports a device that is not asleep`, async (t) => {
    const module = await server.module('SLEEPING01');
    t.after(() => void module.close());
    const twice = [start(t, ['wake', 'SLEEPING01', '0x12ab']), start(t, ['wake', 'SLEEPING01', '0x12ab'])];
    for (const { ended } of twice) {
      const woken = await ended;
      assert.equal(woken.code, 0, woken.stdout + woken.stderr);
      assert.equal((await module.nextPacket()).toString('hex'), '983b16f8f39c12ab');
    }
    const nowhere = await run(t, ['wake', 'SLEEPING02']);
    assert.equal(nowhere.code, 1);
    assert.equal((JSON.parse(nowhere.stdout) as { code: number }).code, 40412);
  });

  test(`${language}: follows the events from a cursor`, async (t) => {
    const latest = await server.api.call({ path: '/v1/events', query: 'after=latest' });
    const reader = start(t, ['events', String(latest.json.data?.['next'])]);
    for (const round of [1, 2]) {
      const module = await server.module('SLEEPING02');
      const login = await reader.line((line) => line.includes('"device.sleep.login"'), round);
      assert.match(login, /SLEEPING02/);
      module.close();
      await module.closed;
    }
    reader.kill('SIGKILL');
    await reader.ended;
  });

  test(`${language}: accepts an authentic webhook, and refuses a changed or old one`, async (t) => {
    const body = '{"type":"device.signal.online","device_id":"Tür 1"}';
    const now = new Date();
    const sign = (at: Date): string[] => {
      const signature = new Webhook(receiverSecret).sign('msg_1', at, body);
      return ['verify', 'msg_1', String(Math.floor(at.getTime() / 1000)), `v1,AAAA ${signature}`];
    };
    assert.deepEqual(await run(t, sign(now), body), { code: 0, stdout: 'valid', stderr: '' });
    const changed = await run(t, sign(now), body.replace('online', 'offline'));
    assert.equal(changed.code, 1, changed.stdout);
    const old = await run(t, sign(new Date(now.getTime() - 301_000)), body);
    assert.equal(old.code, 1, old.stdout);
  });

  test(`${language}: exits with 2 without a command`, async (t) => {
    assert.equal((await run(t, [])).code, 2);
    assert.equal((await run(t, ['wake'])).code, 2);
  });
}
