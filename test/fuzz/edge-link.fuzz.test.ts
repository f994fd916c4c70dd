/**
 * An edge under an attacker's control: valid and damaged messages of its link, in any order. The core never throws, ends every
 * session that it admitted there once, and leaves the sessions of another edge alone. The canary is a core that does not end
 * sessions.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Packr } from 'msgpackr';
import type { sleepSessions } from '../../src/core/devices/admit-session.ts';
import { encodeLengthFrame } from '../../src/lib/link/length-frame.ts';
import type { DeviceId, SessionId } from '../../src/model/ids.ts';
import { edgeAwayMsMax } from '../../src/model/sleep.ts';
import { decodeCoreMessage, decodeEdgeMessage } from '../../src/protocol/edge-link/edge-codec.ts';
import { encodeEdgeMessage } from '../../src/protocol/edge-link/edge-codec.ts';
import { decodeCoreHello, decodeEdgeHello } from '../../src/protocol/edge-link/edge-greeting.ts';
import { edgeLinkVersion, type SentByEdge } from '../../src/protocol/edge-link/edge-message.ts';
import { computeLoginMac } from '../../src/protocol/sleep/login-line.ts';
import { DuplexPair } from '../support/duplex-pair.ts';
import { EdgeScene, untilIdle } from '../support/edge-scene.ts';
import { nextTurn } from '../support/event-loop.ts';
import { testDevice } from '../support/fakes.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_128);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 300);
const messagesPerRound = 30;
const packr = new Packr({ useRecords: false });
const devices = ['D0', 'D1', 'D2', 'D3'] as DeviceId[];

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
  2 ** 32,
  2n ** 63n,
  '',
  'x'.repeat(5000),
  [],
  {},
  [[[[[[[[[[1]]]]]]]]]],
  Buffer.alloc(100),
  new Date(0),
  new Set([1]),
  /x/,
];

function loginLine(deviceId: DeviceId, sessionKey: string): string {
  const signedText = `RVL1 ${Buffer.from(deviceId).toString('base64url')} fixed 50 0`;
  return `${signedText} ${computeLoginMac('device-secret', sessionKey, signedText).toString('hex')}`;
}

function message(chance: Chance, sessionId: SessionId): SentByEdge {
  const number = chance.below(60);
  const deviceId = pick(chance, devices);
  const sessionKey = 'k'.repeat(32);
  const brought = {
    deviceId,
    sessionId,
    epoch: 1,
    wakeMode: 'fixed',
    secretMark: 1,
    lastHeartbeatAt: 5,
  } as const;
  return pick<SentByEdge>(chance, [
    { kind: 'heartbeat' },
    { kind: 'brought' },
    { kind: 'admit', number, line: loginLine(deviceId, sessionKey), sessionKey, hasRoom: true, address: '' },
    { kind: 'admit', number, line: loginLine(deviceId, 'another'), sessionKey, hasRoom: true, address: '' },
    { kind: 'ended', number, reason: 'reset', lastHeartbeatAt: 1 },
    { kind: 'heartbeats', at: 2 ** 32 - 1, numbers: Uint32Array.of(number, number + 1) },
    { kind: 'woken', ask: number, result: 'written' },
    { kind: 'counts', sockets: 2 ** 31 - 1 },
    { kind: 'tally', logins: [['busy', 3]], ends: [['flood', 1]], wakeupWriteSeconds: [0.1] },
    { kind: 'log', level: 'warn', fields: pick(chance, ['{}', '{', '['.repeat(9000)]), message: 'm' },
    { kind: 'drained', ask: number, left: 1 },
    { kind: 'tls-reloaded', ask: number, problem: 'p' },
    { kind: 'listening', host: 'h', port: 1 },
    { kind: 'bring', sessions: [{ number, endedBy: pick(chance, [null, 'reset']), ...brought }] },
  ]);
}

/** Mostly valid, or the attacker would not get far. */
function bytesOf(chance: Chance, whole: SentByEdge): Buffer {
  const dice = chance.below(200);
  const fields = packr.unpack(encodeEdgeMessage(whole)) as unknown[];
  if (dice === 0) fields[chance.below(fields.length)] = pick(chance, strange);
  if (dice === 1) fields.pop();
  if (dice === 2) fields.push(pick(chance, strange));
  const frame = encodeLengthFrame(packr.pack(fields));
  if (dice === 3) frame[chance.below(frame.length)] = chance.below(256);
  return dice === 4 ? frame.subarray(0, chance.below(frame.length)) : frame;
}

interface Sightings {
  cuts: number;
  admitted: number;
  whole: number;
}

type Sessions = ReturnType<typeof sleepSessions>;

/** Null: no fault; else the fault. */
async function runRound(
  chance: Chance,
  seen: Sightings,
  spoil: (sessions: Sessions) => Sessions,
): Promise<string | null> {
  const scene = new EdgeScene(1000, spoil);
  for (const deviceId of devices) scene.core.registry.addDevice({ deviceId });
  const witness = await (await scene.edge({ name: 'witness', instance: 'i' }).link()).login();
  const pair = new DuplexPair({ pieceBytesMax: 1 + chance.below(500) });
  scene.gate.accept(pair.here, chance.below(2) === 0);
  pair.there.resume();
  pair.there.on('error', () => undefined);
  const hello = {
    kind: 'hello',
    version: edgeLinkVersion,
    name: 'stranger',
    instance: 'j',
    release: '1',
    pid: 1,
    address: { host: 'h', port: 1 },
    advertise: [],
    maxSessions: 2 + chance.below(10),
  } as const;
  pair.there.write(encodeLengthFrame(encodeEdgeMessage(hello)));
  if (chance.below(8) > 0) pair.there.write(encodeLengthFrame(encodeEdgeMessage({ kind: 'brought' })));
  for (let sent = 0; sent < messagesPerRound && !pair.here.destroyed; sent += 1) {
    const known = scene.core.directory.find('D0' as DeviceId)?.session('sleep') ?? ('s' as SessionId);
    const next = message(chance, known);
    if (next.kind === 'brought' && chance.below(10) > 0) continue;
    if (next.kind === 'bring' && chance.below(10) > 0) continue;
    pair.there.write(bytesOf(chance, next));
    if (chance.below(2) === 0) await nextTurn();
    if (chance.below(5) === 0)
      void scene.core.directory
        .find('D1' as DeviceId)
        ?.connection('sleep')
        ?.wake(null);
  }
  await untilIdle();
  if (pair.here.destroyed) seen.cuts += 1;
  else seen.whole += 1;
  pair.there.destroy();
  await scene.pass(edgeAwayMsMax + 1000);
  for (const deviceId of devices) {
    const history = scene.history(deviceId);
    if (history.length > 0) seen.admitted += 1;
    if (scene.core.directory.find(deviceId)?.session('sleep') !== undefined)
      return `${deviceId} is still here`;
    const ends = history.filter((event) => event.startsWith('closed'));
    const begins = history.filter((event) => event.startsWith('opened'));
    if (ends.length !== begins.length) return `${deviceId}: ${history.join(', ')}`;
  }
  if (scene.core.directory.find(testDevice)?.session('sleep') !== witness.ticket.sessionId)
    return 'another session was touched';
  return scene.gate.sessionCount === 1 ? null : `${scene.gate.sessionCount} sessions are left`;
}

async function fuzz(
  seen: Sightings,
  spoil: (sessions: Sessions) => Sessions = (sessions) => sessions,
): Promise<string | null> {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const fault = await runRound(chance, seen, spoil).catch((error: unknown) => `thrown: ${String(error)}`);
    if (fault !== null) return `seed ${seed}, round ${round}: ${fault}`;
  }
  return null;
}

test('messages of an edge never harm its core, which keeps no session of it', async () => {
  const seen: Sightings = { cuts: 0, admitted: 0, whole: 0 };
  assert.equal(await fuzz(seen), null);
  assert.ok(
    seen.cuts > rounds / 20 && seen.whole > rounds / 10 && seen.admitted > rounds / 2,
    JSON.stringify(seen),
  );
});

test('the fuzzer catches a core that does not end sessions', async () => {
  const forgetful = (sessions: Sessions): Sessions => ({ ...sessions, ended: () => undefined });
  assert.match(String(await fuzz({ cuts: 0, admitted: 0, whole: 0 }, forgetful)), /is still here/);
});

test('random bytes are no messages of either end, and nothing is thrown', () => {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds * 20; round += 1) {
    const bytes = Buffer.from(Array.from({ length: 1 + chance.below(40) }, () => chance.below(256)));
    // The only list of that form: a heartbeat, a probe and the like.
    if (bytes[0] === 0x91 && bytes.length === 2) continue;
    for (const read of [
      decodeEdgeMessage(bytes, false),
      decodeEdgeMessage(bytes, true),
      decodeCoreMessage(bytes),
      decodeEdgeHello(bytes),
      decodeCoreHello(bytes),
    ])
      assert.equal(read.ok, false, bytes.toString('hex'));
  }
});
