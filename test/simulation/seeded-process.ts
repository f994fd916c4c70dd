/**
 * Makes the randomness and the event-loop turns of a process repeatable. No step of a run waits for a thread, socket or file,
 * so that turns alone complete all work that needs no simulated time.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { createInbox } from '@nats-io/nats-core';
import { generateSessionId } from '../../src/model/ids.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';

const real = {
  immediate: globalThis.setImmediate,
  clear: globalThis.clearImmediate,
  random: Math.random,
  fill: crypto.randomFillSync,
  bytes: crypto.randomBytes,
};

// The NATS client draws a random prefix with its first inbox, and counts from there.
createInbox();

const waiting = new Set<NodeJS.Immediate>();

function countedImmediate(run: (...args: never[]) => void, ...args: never[]): NodeJS.Immediate {
  const immediate: NodeJS.Immediate = real.immediate(() => {
    waiting.delete(immediate);
    run(...args);
  });
  waiting.add(immediate);
  return immediate;
}

function clearCounted(immediate: NodeJS.Immediate | undefined): void {
  if (immediate !== undefined) waiting.delete(immediate);
  real.clear(immediate);
}

/** Maximum turns without simulated time passing; more indicate an endless loop. */
const turnsMax = 20_000;

/** Resolves when all work that needs no simulated time is done. */
export async function untilIdle(): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns++) {
    await new Promise<void>((resolve) => void real.immediate(resolve));
    if (waiting.size === 0) return;
  }
  throw new Error('the event loop does not come to rest');
}

let drawn: Chance = chanceFrom(0);
const fills = { count: 0 };

function fill<Bytes extends NodeJS.ArrayBufferView>(bytes: Bytes): Bytes {
  fills.count += 1;
  const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < view.length; at++) view[at] = drawn.below(256);
  return bytes;
}

/** Replaces WebCrypto's `verify`, which would answer from a pool thread at an unpredictable time. */
async function verifyAtOnce(
  _algorithm: unknown,
  key: crypto.webcrypto.CryptoKey,
  signature: NodeJS.ArrayBufferView,
  data: NodeJS.ArrayBufferView,
): Promise<boolean> {
  const made = crypto.createHmac('sha256', crypto.KeyObject.from(key)).update(data).digest();
  return made.equals(new Uint8Array(signature.buffer, signature.byteOffset, signature.byteLength));
}

/** Derives all randomness of the process from the seed. Returns the function that restores it. */
export function seedProcess(seed: number): () => void {
  drawn = chanceFrom(seed ^ 0x5eed);
  Math.random = () => drawn.next();
  Object.assign(crypto, {
    randomFillSync: fill,
    randomBytes: (length: number) => fill(Buffer.alloc(length)),
  });
  Object.assign(globalThis.crypto.subtle, { verify: verifyAtOnce });
  syncBuiltinESMExports();
  // Drop pre-generated ids of an earlier seed.
  fills.count = 0;
  while (fills.count === 0) generateSessionId();
  drawn = chanceFrom(seed ^ 0x5eed);
  Object.assign(globalThis, { setImmediate: countedImmediate, clearImmediate: clearCounted });
  return () => {
    Math.random = real.random;
    Object.assign(crypto, { randomFillSync: real.fill, randomBytes: real.bytes });
    syncBuiltinESMExports();
    Reflect.deleteProperty(globalThis.crypto.subtle, 'verify');
    Object.assign(globalThis, { setImmediate: real.immediate, clearImmediate: real.clear });
    for (const immediate of waiting) real.clear(immediate);
    waiting.clear();
  };
}
