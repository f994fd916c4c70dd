/**
 * Thousands of peers that mean harm at the sleep port, while 10 000 good sessions stay and heartbeat: none of the
 * good ones is lost, and every heartbeat is seen.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import { ApiClient } from '../support/api-client.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { startServerProcess, type ServerProcess } from '../support/server-process.ts';

const goodSessions = 10_000;
const atOnce = 250;
const credential = { accessKeyId: 'AKhostile', secretKey: 'the secret of a backend', appId: '1' };

/** Of the kinds that must be closed; each kind comes from an address of its own. */
const silent = 300;
const slow = 300;
const endless = 200;
const garbled = 200;
const flooding = 50;
const notReading = 50;
const halfDone = 3000;

async function writeRegistry(directory: string): Promise<string> {
  const file = join(directory, 'registry.ndjson');
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = credential;
  const entries: object[] = [
    { app_id, name: 'hostile' },
    {
      access_key_id,
      secret_key,
      app_id,
      permissions: ['*'],
      not_before: null,
      not_after: null,
      revoked: false,
    },
    { product_id: 'p', app_ids: [app_id] },
  ];
  for (let i = 0; i < goodSessions + flooding + notReading; i++)
    entries.push({
      device_id: `D${i}`,
      product_id: 'p',
      secret: `the secret of D${i}`,
      expires_at: null,
      disabled: false,
    });
  await writeFile(file, entries.map((entry) => JSON.stringify(entry)).join('\n'));
  return file;
}

function logIn(port: number, i: number): Promise<SleepingModule> {
  const localAddress = `127.0.1.${1 + (i % 100)}`;
  return SleepingModule.connect(port, {
    deviceId: `D${i}`,
    secret: `the secret of D${i}`,
    heartbeatSeconds: 5,
    localAddress,
  });
}

async function inRounds<Item>(count: number, make: (i: number) => Promise<Item>): Promise<Item[]> {
  const made: Item[] = [];
  for (let from = 0; from < count; from += atOnce) {
    const round = Array.from({ length: Math.min(atOnce, count - from) }, (_, i) => make(from + i));
    made.push(...(await Promise.all(round)));
  }
  return made;
}

/** Each has its session key before it does its worst. */
async function hostiles(
  port: number,
  count: number,
  host: number,
  worst: (peer: RawPeer, i: number) => void,
): Promise<RawPeer[]> {
  return inRounds(count, async (i) => {
    const peer = await RawPeer.connect(port, `127.0.${2 + host}.${1 + (i % 200)}`);
    worst(peer, i);
    return peer;
  });
}

async function metric(server: ServerProcess, line: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${server.ports.ops}/metrics`)).text();
  const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
  return Number(found?.split(' ').at(-1) ?? 0);
}

async function heartbeatOf(api: ApiClient, i: number): Promise<number> {
  const answer = await api.connectivity(`D${i}`);
  assert.equal(answer.json.code, 0, answer.text);
  const { sleep } = answer.json.data as { sleep: Record<string, number | null> };
  return Number(sleep['last_heartbeat_at']);
}

test('hostile peers cost no good session and no heartbeat', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-hostile-'));
  const server = await startServerProcess(t, [
    `data.dir=${directory}`,
    `registry.file=${await writeRegistry(directory)}`,
    'sleep.login_deadline_ms=2000',
  ]);
  const port = server.ports.sleep;
  const api = new ApiClient(server.ports.api, credential);
  const good = await inRounds(goodSessions, (i) => logIn(port, i));
  let lost = 0;
  for (const module of good) void module.closed.then(() => (lost += 1));
  const heartbeat = (): void => good.forEach((module) => module.heartbeat());
  heartbeat();

  const reluctant = await inRounds(notReading, (i) => logIn(port, goodSessions + i));
  const floods = await inRounds(flooding, (i) => logIn(port, goodSessions + notReading + i));
  const closing = [
    ...(await hostiles(port, silent, 0, () => undefined)),
    ...(await hostiles(port, slow, 1, (peer) => peer.send('R'))),
    ...(await hostiles(port, endless, 2, (peer) => peer.send('R'.repeat(5000)))),
    ...(await hostiles(port, garbled, 3, (peer) => peer.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))),
    ...(await hostiles(port, halfDone, 4, (peer, i) => peer.send(halfLogin(i)))),
  ];
  heartbeat();
  for (const module of floods) for (let i = 0; i < 80; i++) module.heartbeat();
  await Promise.all(floods.map(({ closed }) => closed));
  await Promise.all(closing.map(({ gone }) => gone));
  const beforeS = Math.floor(Date.now() / 1000);
  heartbeat();

  for (let i = 0; i < goodSessions; i += 199) while ((await heartbeatOf(api, i)) < beforeS);
  assert.equal(lost, 0);
  assert.equal(await metric(server, 'reveille_sleep_sessions'), goodSessions + notReading);
  assert.equal(await metric(server, 'reveille_sleep_ends_total{reason="flood"}'), flooding);
  assert.equal(await metric(server, 'reveille_sleep_ends_total{reason="heartbeat_timeout"}'), 0);
  assert.ok(
    (await metric(server, 'reveille_sleep_logins_total{result="timeout"}')) >= silent + slow + halfDone,
  );
  const woken = await api.wake({ device_id: 'D17' });
  assert.equal(woken.status, 202);
  assert.equal((await good[17]?.nextPacket())?.toString('hex'), '983b16f8f39c0000');

  api.close();
  for (const module of [...good, ...reluctant]) void module.close();
  assert.equal(await server.command.stop('SIGTERM'), 0);
  await rm(directory, { recursive: true });
});

/** All but the last byte of a line that would not even be right. */
function halfLogin(i: number): string {
  const credentials = {
    deviceId: `D${i}`,
    secret: 'wrong',
    wakeMode: 'fixed',
    heartbeatSeconds: 5,
    wantsReply: false,
  } as const;
  return encodeLoginLine(credentials, 'k'.repeat(32)).slice(0, -1);
}
