/**
 * 1 200 hostile peers at the sleep port, next to 1 000 good sessions: no good session is lost, and every heartbeat is seen, in one process
 * and with edges. `npm run soak -- hostile` does the same with 10 000 sessions for a long time.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import type { ApiClient } from '../support/api-client.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { secretOf, siteDevice, siteRegistry, SiteServer } from '../support/site-server.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

const goodSessions = 1000;
const atOnce = 250;
/** Kinds of peers that must be closed; each has its own address. */
const silent = 200;
const slow = 200;
const endless = 200;
const garbled = 200;
const flooding = 50;
const notReading = 50;
const halfDone = 500;

function logIn(port: number, i: number): Promise<SleepingModule> {
  const deviceId = siteDevice(i);
  const localAddress = `127.0.1.${1 + (i % 100)}`;
  return SleepingModule.connect(port, {
    deviceId,
    secret: secretOf(deviceId),
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

/** Each attacks after it has its session key. */
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

async function heartbeatOf(api: ApiClient, i: number): Promise<number> {
  const answer = await api.connectivity(siteDevice(i));
  assert.equal(answer.json.code, 0, answer.text);
  const { sleep } = answer.json.data as { sleep: Record<string, number | null> };
  return Number(sleep['last_heartbeat_at']);
}

for (const [where, edges] of [
  ['in process', 0],
  ['through edges', 2],
] as const)
  test(`hostile peers cost no good session and no heartbeat, ${where}`, async (t) => {
    const file = join(temporaryDirectory(t), 'registry.json');
    writeFileSync(file, JSON.stringify(siteRegistry({ devices: goodSessions + flooding + notReading })));
    const settings = [`registry.file=${file}`, 'sleep.login_deadline_ms=2000', `sleep.edges=${edges}`];
    const server = new SiteServer(t, temporaryDirectory(t), settings);
    await server.start();
    const { api } = server;
    const port = server.server.ports.sleep;
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

    for (let i = 0; i < goodSessions; i += 97) while ((await heartbeatOf(api, i)) < beforeS);
    assert.equal(lost, 0);
    // Edges report a few times a second.
    let metrics = '';
    const count = (name: string): number => metric(metrics, name) ?? 0;
    const timeouts = (): number => count('reveille_sleep_logins_total{result="timeout"}');
    do metrics = await metricsOf(server.server);
    while (timeouts() < silent + slow + halfDone);
    assert.equal(count('reveille_sleep_sessions'), goodSessions + notReading);
    assert.equal(count('reveille_sleep_ends_total{reason="flood"}'), flooding);
    assert.equal(count('reveille_sleep_ends_total{reason="heartbeat_timeout"}'), 0);
    const woken = await api.wake({ device_id: siteDevice(17) });
    assert.equal(woken.status, 202);
    assert.equal((await good[17]?.nextPacket())?.toString('hex'), '983b16f8f39c0000');

    for (const module of [...good, ...reluctant]) void module.close();
    assert.equal(await server.stop(), 0);
  });

/** All but the last byte of an invalid line. */
function halfLogin(i: number): string {
  const credentials = {
    deviceId: siteDevice(i),
    secret: 'wrong',
    wakeMode: 'fixed',
    heartbeatSeconds: 5,
    wantsReply: false,
  } as const;
  return encodeLoginLine(credentials, 'k'.repeat(32)).slice(0, -1);
}
