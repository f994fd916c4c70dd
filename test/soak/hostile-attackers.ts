/**
 * The process of the attackers: every kind of flood, connections that say nothing at every listener, and bytes that mean
 * nothing, all at once and over and over, until the parent ends it. Takes its targets as JSON; says each second what it did.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { flood, floodKinds, silentConnection, type FloodTargets } from '../support/floods.ts';

export interface AttackTargets extends FloodTargets {
  readonly media: number;
}

export interface AttackReport {
  readonly floodsClosed: number;
  readonly mebibytesSent: number;
  readonly silentClosed: number;
  readonly garbled: number;
}

const targets = JSON.parse(process.argv[2] ?? '') as AttackTargets;
const report = { floodsClosed: 0, mebibytesSent: 0, silentClosed: 0, garbled: 0 };
const never = new Promise<never>(() => undefined);
/** Between two connections of one attacker: the ports of this machine are bounded, too. */
const againMs = 20;
const silentOfListener = 400;
const garbledAtOnce = 5;
const garbledBytesMax = 8192;

for (const [place, kind] of floodKinds.entries()) void floodForEver(place, kind);
for (const port of [targets.api, targets.signal, targets.sleep, targets.media, targets.ops]) {
  for (let i = 0; i < silentOfListener; i++) void beSilentForEver(port, i);
  for (let i = 0; i < garbledAtOnce; i++) void garbleForEver(port, i);
}
setInterval(() => process.send?.(report), 1000);
process.once('disconnect', () => process.exit(0));

async function floodForEver(place: number, kind: (typeof floodKinds)[number]): Promise<void> {
  const from = { ...targets, localAddress: `127.0.9.${1 + place}` };
  for (;;) {
    const end = await flood(kind, from, { bytesMax: Infinity, until: never }).catch(() => null);
    if (end !== null) {
      report.floodsClosed += 1;
      report.mebibytesSent += end.bytesSent / 1024 / 1024;
    }
    await sleep(againMs);
  }
}

async function beSilentForEver(port: number, i: number): Promise<void> {
  for (;;) {
    const socket = await silentConnection(port, `127.0.10.${1 + (i % 4)}`);
    if (socket !== null && !socket.destroyed) {
      socket.resume();
      await once(socket, 'close').catch(() => undefined);
      report.silentClosed += 1;
    }
    await sleep(againMs);
  }
}

async function garbleForEver(port: number, i: number): Promise<void> {
  for (;;) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.11.${1 + i}` });
    socket.on('error', () => undefined).resume();
    const closed = once(socket, 'close').catch(() => undefined);
    socket.write(randomBytes(1 + (report.garbled % garbledBytesMax)));
    await Promise.race([closed, sleep(1000)]);
    socket.destroy();
    report.garbled += 1;
    await sleep(againMs);
  }
}
