/**
 * A media process under an attacker's control: valid and damaged messages of the link, in any order. The server never throws,
 * reports one end, and keeps no leg of it; a call that the attacker does not carry is left alone. The canary is a service that
 * keeps legs that have left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Packr } from 'msgpackr';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { hashBridgeKey } from '../../src/model/registry.ts';
import { linkVersion, readMediaMessage } from '../../src/protocol/media-link/link-message.ts';
import { ServerEnd } from '../../src/media/link/server-end.ts';
import type { CoreLegService } from '../../src/core/ports/leg-service.ts';
import { LoopProgress } from '../../src/lib/loop-progress.ts';
import { linkFrame, LinkFrames } from '../support/link-frames.ts';
import { callOrder } from '../support/call-scene.ts';
import { bridgeKey, LegServiceScene } from '../support/leg-service-scene.ts';
import { DuplexPair } from '../support/duplex-pair.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 400);
const messagesPerRound = 30;
const packr = new Packr({ useRecords: false });

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  return items[chance.below(items.length)] as Item;
}

const strange: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  NaN,
  Infinity,
  2 ** 53,
  2n ** 63n,
  '',
  'x'.repeat(5000),
  [],
  {},
  [[[[[[[[[[1]]]]]]]]]],
  { kind: 'open' },
  Buffer.alloc(100),
  new Date(0),
  new Set([1]),
  /x/,
];

function message(chance: Chance, token: string, ticket: string): Record<string, unknown> {
  const leg = chance.below(8);
  const question = chance.below(8);
  return pick<Record<string, unknown>>(chance, [
    { kind: 'heartbeat' },
    { kind: 'listening', address: { host: 'h', port: 1 }, advertise: null },
    { kind: 'failed', sentence: 's' },
    { kind: 'drained' },
    { kind: 'brought' },
    { kind: 'admit-device', question, token },
    { kind: 'admit-bridge', question, key: bridgeKey, sessionId: null },
    { kind: 'admit-viewer', question, ticket },
    { kind: 'open', leg },
    { kind: 'open', leg },
    { kind: 'report', leg, report: { kind: 'progress', state: 'ringing' }, about: null },
    { kind: 'report', leg, report: { kind: 'end', reason: 'error' }, about: 'another' },
    { kind: 'answer', leg, accepted: chance.below(2) === 0 },
    { kind: 'alive', leg, by: 'media' },
    { kind: 'gone', leg },
    {
      kind: 'counts',
      counts: {
        legs: 1,
        sockets: 1,
        sessions: 1,
        workers: [{ busy: 0.5, taken: 0.6, room: 1 }],
        engine: null,
        soundEncoders: [],
        certificate: null,
      },
    },
    { kind: 'tally', tally: { logins: [['accepted', 3]], frames: [], rebuilds: 1, frameSeconds: [0.1] } },
    { kind: 'log', level: 'warn', fields: pick(chance, ['{}', '{', '['.repeat(9000)]), message: 'm' },
    { kind: 'viewed', question, view: null },
  ]);
}

function legsMessage(chance: Chance, sessionId: SessionId, deviceId: DeviceId): Record<string, unknown> {
  const legs = Array.from({ length: chance.below(5) }, () =>
    pick<Record<string, unknown>>(chance, [
      { kind: 'device', sessionId, deviceId, tokenId: 'token' },
      { kind: 'device', sessionId, deviceId: 'another', tokenId: 'token' },
      { kind: 'bridge', keySha256: hashBridgeKey(bridgeKey), sessionId: null },
      { kind: 'bridge', keySha256: hashBridgeKey(bridgeKey), sessionId },
      { kind: 'bridge', keySha256: '0'.repeat(64), sessionId },
      { kind: 'viewer', sessionId },
    ]),
  );
  return { kind: 'bring', legs };
}

/** Mostly valid, or the attacker would not get far. */
function bytesOf(chance: Chance, fields: Record<string, unknown>): Buffer {
  const dice = chance.below(200);
  if (dice === 0) fields[pick(chance, Object.keys(fields))] = pick(chance, strange);
  if (dice === 1) delete fields[pick(chance, Object.keys(fields))];
  if (dice === 2) fields['more'] = pick(chance, strange);
  const payload = packr.pack(fields);
  const frame = Buffer.alloc(4 + payload.length);
  frame.writeUInt32BE(payload.length);
  frame.set(payload, 4);
  if (dice === 3) frame[chance.below(frame.length)] = chance.below(256);
  return dice === 4 ? frame.subarray(0, chance.below(frame.length)) : frame;
}

interface Sightings {
  cuts: number;
  opened: number;
  whole: number;
}

/** Null: no fault; else the fault. */
async function runRound(
  chance: Chance,
  seen: Sightings,
  spoil: (service: CoreLegService) => CoreLegService,
): Promise<string | null> {
  const scene = new LegServiceScene();
  const { call, token } = await scene.newCall();
  const { deviceId } = scene.registry.addDevice({ deviceId: 'D2' as DeviceId });
  const { call: other, token: otherToken } = await scene.newCall(callOrder({ deviceId }));
  const witness = await scene.openDevice(otherToken);
  const { clock, telemetry, log, keys } = scene;
  const pair = new DuplexPair({ pieceBytesMax: 1 + chance.below(500) });
  const ends: (string | null)[] = [];
  const onEnd = (fault: string | null): number => ends.push(fault);
  void new ServerEnd(pair.here, {
    process: 0,
    elsewhere: () => null,
    onHello: () => undefined,
    onCounts: () => undefined,
    clock,
    telemetry,
    progress: new LoopProgress(clock),
    log,
    keys,
    service: spoil(scene.service),
    onEnd,
  });
  pair.there.resume();
  pair.there.on('error', () => undefined);
  pair.there.write(linkFrame({ kind: 'hello', version: linkVersion, instance: 'media-1' }));
  const callDevice = scene.directory.find(call)?.deviceId ?? assert.fail();
  for (let more = chance.below(3); more > 0; more -= 1)
    pair.there.write(bytesOf(chance, legsMessage(chance, call, callDevice)));
  for (let sent = 0; sent < messagesPerRound && !pair.there.destroyed; sent += 1) {
    pair.there.write(bytesOf(chance, message(chance, token, scene.ticket(call))));
    if (chance.below(2) === 0) await setImmediate();
    if (scene.service.counts().device > 1) seen.opened += 1;
  }
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  if (ends.length === 0) seen.whole += 1;
  else if (typeof ends[0] === 'string') seen.cuts += 1;
  pair.there.destroy();
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  const counts = scene.service.counts();
  if (ends.length !== 1) return `the end was told ${ends.length} times`;
  if (counts.device !== 1 || counts.bridge + counts.idle_bridge + counts.viewer !== 0)
    return `legs are left: ${JSON.stringify(counts)}`;
  if (witness.leg.closes.length > 0 || scene.state(other) !== 'establishing')
    return 'another call was touched';
  return null;
}

async function fuzz(
  seen: Sightings,
  spoil: (service: CoreLegService) => CoreLegService = (service) => service,
): Promise<string | null> {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const fault = await runRound(chance, seen, spoil).catch((error: unknown) => `thrown: ${String(error)}`);
    if (fault !== null) return `seed ${seed}, round ${round}: ${fault}`;
  }
  return null;
}

test('messages of a media process never harm the server, which keeps nothing of it', async () => {
  const seen: Sightings = { cuts: 0, opened: 0, whole: 0 };
  assert.equal(await fuzz(seen), null);
  assert.ok(seen.cuts > rounds / 20 && seen.whole > rounds / 4 && seen.opened > 0, JSON.stringify(seen));
});

test('the fuzzer catches a service that keeps legs that have left', async () => {
  const forgetful = (service: CoreLegService): CoreLegService => ({
    flush: () => service.flush(),
    admitDevice: (token) => service.admitDevice(token),
    admitBridge: (key, session) => service.admitBridge(key, session),
    admitViewer: (ticket) => service.admitViewer(ticket),
    resumeDeviceLeg: (brought, leg) => service.resumeDeviceLeg(brought, leg),
    resumeBridgeLeg: (brought, leg) => service.resumeBridgeLeg(brought, leg),
    openDeviceLeg: (admission, leg) => service.openDeviceLeg(admission, leg),
    openBridgeLeg: (admission, leg) => service.openBridgeLeg(admission, leg),
    openViewer: (admission, leg) => {
      service.openViewer(admission, leg);
      return { disconnected: () => undefined };
    },
  });
  assert.match(String(await fuzz({ cuts: 0, opened: 0, whole: 0 }, forgetful)), /legs are left/);
});

test('random bytes are no messages, and nothing is thrown', () => {
  const chance = chanceFrom(seed);
  const greeting = linkFrame({ kind: 'hello', version: linkVersion, instance: 'media-1' });
  let faults = 0;
  for (let round = 0; round < rounds * 20; round += 1) {
    const payload = Buffer.from(Array.from({ length: 1 + chance.below(40) }, () => chance.below(256)));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(payload.length);
    const reader = new LinkFrames(readMediaMessage);
    for (const read of reader.feed(Buffer.concat([greeting, length, payload]))) if (!read.ok) faults += 1;
  }
  assert.equal(faults, rounds * 20);
});
