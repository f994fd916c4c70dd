/** Tests the firmware kit of docs/examples/module-c: compiled without warnings, and run as a device against a real server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { toolPath } from '../support/debian-tools.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { examples, ExampleProcess } from './example-process.ts';

const kit = mkdtempSync(join(tmpdir(), 'reveille-module-'));
const objects = ['mac.o', 'sleep.o', 'websocket.o', 'signal.o'];
after(() => rmSync(kit, { recursive: true, force: true }));

function make(target: string): string {
  const { status, stdout, stderr } = spawnSync('make', [target], {
    cwd: kit,
    env: { PATH: toolPath },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

before(() => {
  cpSync(join(examples, 'module-c'), kit, { recursive: true });
  make('clean');
});

test('the kit compiles as C99 without warnings, in less than 8 KB of code, and passes its own checks', () => {
  assert.match(readFileSync(join(kit, 'Makefile'), 'utf8'), /-std=c99 -Wall -Wextra -Werror -pedantic -Os/);
  const sizes = make('device').matchAll(/^\s*(\d+)\s+\d+\s+\d+\s+\d+\s+\w+\s+(\w+\.o)$/gm);
  const bytes = new Map([...sizes].map(([, size, file]) => [file, Number(size)]));
  assert.deepEqual([...bytes.keys()], objects);
  const all = [...bytes.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(all > 1000 && all < 8192, `${all} bytes`);
  assert.match(make('check'), /all checks passed/);
});

test('the kit allocates no heap memory', () => {
  const { stdout } = spawnSync('nm', ['-u', ...objects], { cwd: kit, encoding: 'utf8' });
  const taken = [...stdout.matchAll(/ U (\w+)/g)].map(([, name = '']) => name);
  assert.ok(taken.includes('rvl_hmac_start'));
  assert.deepEqual(
    taken.filter((name) => /alloc|free/.test(name)),
    [],
  );
});

type Ending = { after(fn: () => void): void };

function startDevice(t: Ending, server: TestServer, ...more: string[]): ExampleProcess {
  const { sleep, signal } = server.ports;
  const where = ['--sleep', `127.0.0.1:${sleep}`, '--signal', `127.0.0.1:${signal}`];
  const who = ['--device', 'SLEEPING01', '--secret', 'secret of SLEEPING01', '--retry-s', '1:2'];
  return new ExampleProcess(t, [join(kit, 'device'), ...where, ...who, ...more]);
}

const wake = { method: 'POST', path: '/v1/device/wakeup-request' } as const;
const isWord = (word: string) => (line: string) => line === word;

test('the kit logs in, sends 50 heartbeats, is woken, logs in its controller, receives a message and sleeps again', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const device = startDevice(t, server, '--heartbeat-ms', '20', '--awake-s', '2');
  await device.line(isWord('asleep'));
  await device.line(isWord('heartbeat'), 50);
  const asleep = await server.api.connectivity('SLEEPING01');
  const sleep = asleep.json.data?.['sleep'] as { readonly last_heartbeat_at: number | null } | undefined;
  assert.equal(typeof sleep?.last_heartbeat_at, 'number', 'the server has seen them');

  const woken = await server.api.call({ ...wake, body: '{"device_id":"SLEEPING01","custom_data":"0x12ab"}' });
  assert.equal(woken.status, 202);
  await device.line(isWord('woken 12ab'));
  await device.line((line) => line.startsWith('online, epoch '));
  const message = { device_id: 'SLEEPING01', name: 'msga_join_voip_room', payload: { id: 'not the id' } };
  const sent = await server.api.call({
    method: 'POST',
    path: '/v1/device/message',
    body: JSON.stringify(message),
  });
  assert.equal(sent.status, 200, sent.text);
  await device.line(isWord('message msga_join_voip_room'));
  const outcome = await server.api.call({
    path: '/v1/device/wakeup-request',
    query: `request_id=${String(woken.json['request_id'])}`,
  });
  assert.equal(outcome.json.data?.['status'], 'completed');

  await device.line(isWord('controller off: back to sleep'));
  const heartbeats = device.lines.filter(isWord('heartbeat')).length;
  await device.line(isWord('heartbeat'), heartbeats + 1);
});

test('the kit retries with backoff after a refused secret and a server restart', async (t) => {
  const server = await startTestServer();
  const refused = startDevice(t, server, '--secret', 'another secret');
  await refused.line((line) => /^refused: denied; next attempt in \d+ ms$/.test(line), 2);
  refused.kill('SIGKILL');

  const device = startDevice(t, server);
  await device.line(isWord('asleep'));
  const { dataDirectory, ports } = server;
  await server.halt();
  await device.line((line) => line.startsWith('connection lost; next attempt in '));
  const again = await startTestServer({
    dataDirectory,
    overrides: [`sleep.listen=127.0.0.1:${ports.sleep}`],
  });
  t.after(() => again.stop());
  await device.line(isWord('asleep'), 2);
});

test('a module that requests no answer to its login is logged in and woken too', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const device = startDevice(t, server, '--reply', '0', '--wake', 'fixed');
  await device.line(isWord('asleep'));
  const until = async (): Promise<number> => {
    const { status } = await server.api.call({ ...wake, body: '{"device_id":"SLEEPING01"}' });
    return status === 404 ? until() : status;
  };
  assert.equal(await until(), 202);
  await device.line(isWord('woken 0000'));
});
