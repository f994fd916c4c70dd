/** Corrupts frames: random bytes, cuts, repetitions, wrong sizes. */
import assert from 'node:assert/strict';
import { videoFrameFormats, type SourceFrame } from '../../src/model/media/picture.ts';
import type { Chance } from './seeded-random.ts';

/** Maximum size of a message from a leg. */
const payloadBytesMax = 1024 * 1024;

type Breakage = (frame: SourceFrame, chance: Chance) => SourceFrame;

const breakages: readonly Breakage[] = [
  (frame) => frame,
  (frame, chance) => withBytes(frame, frame.payload.slice(0, chance.below(frame.payload.length + 1))),
  (frame, chance) => withBytes(frame, frame.payload.slice(chance.below(frame.payload.length + 1))),
  (frame, chance) => overwrite(frame, chance, 0, frame.payload.length),
  (frame, chance) => overwrite(frame, chance, 0, Math.min(64, frame.payload.length)),
  (frame, chance) => flipBits(frame, chance),
  (frame, chance) => removeBytes(frame, chance),
  (frame, chance) => repeat(frame, chance),
  (frame, chance) => multiply(frame, chance),
  (frame) => withBytes(frame, new Uint8Array(0)),
  (frame, chance) => withBytes(frame, noise(chance.below(5000), chance)),
  (frame, chance) => ({ ...frame, format: videoFrameFormats[chance.below(4)] ?? 'h264' }),
  (frame, chance) => ({ ...frame, width: chance.below(65_536), height: chance.below(65_536) }),
  (frame, chance) => ({ ...frame, isKeyFrame: chance.below(2) === 0 }),
  (frame, chance) => forgeSize(frame, chance),
  (frame, chance) => padded(frame, chance),
];

/** Applies one corruption, or up to three on top of each other; sometimes none. */
export function brokenFrame(frame: SourceFrame, chance: Chance): SourceFrame {
  let broken = frame;
  for (let left = 1 + chance.below(3); left > 0; left -= 1) {
    const breakage = breakages[chance.below(breakages.length)];
    assert(breakage !== undefined);
    broken = breakage(broken, chance);
  }
  return broken;
}

function withBytes(frame: SourceFrame, payload: Uint8Array<ArrayBuffer>): SourceFrame {
  return { ...frame, payload };
}

function noise(length: number, chance: Chance): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, () => chance.below(256));
}

/** Overwrites some bytes between two positions, sometimes with bytes that have a meaning. */
function overwrite(frame: SourceFrame, chance: Chance, from: number, to: number): SourceFrame {
  const payload = frame.payload.slice();
  if (to === from) return frame;
  const meaningful = [0x00, 0x01, 0x03, 0x67, 0x68, 0x65, 0x41, 0xd8, 0xd9, 0xda, 0xc0, 0xc2, 0xff];
  for (let left = 1 + chance.below(12); left > 0; left -= 1)
    payload[from + chance.below(to - from)] =
      chance.below(2) === 0 ? chance.below(256) : (meaningful[chance.below(meaningful.length)] ?? 0);
  return withBytes(frame, payload);
}

function flipBits(frame: SourceFrame, chance: Chance): SourceFrame {
  const payload = frame.payload.slice();
  for (let left = 1 + chance.below(4); left > 0 && payload.length > 0; left -= 1) {
    const at = chance.below(payload.length);
    payload[at] = (payload[at] ?? 0) ^ (1 << chance.below(8));
  }
  return withBytes(frame, payload);
}

function removeBytes(frame: SourceFrame, chance: Chance): SourceFrame {
  const at = chance.below(frame.payload.length + 1);
  const until = at + chance.below(200);
  return withBytes(frame, joined(frame.payload.subarray(0, at), frame.payload.subarray(until)));
}

function repeat(frame: SourceFrame, chance: Chance): SourceFrame {
  const at = chance.below(frame.payload.length + 1);
  return withBytes(frame, joined(frame.payload, frame.payload.subarray(at)));
}

function multiply(frame: SourceFrame, chance: Chance): SourceFrame {
  const at = chance.below(frame.payload.length + 1);
  const piece = Buffer.from(frame.payload.subarray(at, at + 1 + chance.below(100)));
  const pieces = Array<Buffer>(piece.length === 0 ? 0 : chance.below(500)).fill(piece);
  return withBytes(
    frame,
    joined(frame.payload.subarray(0, at), joined(Buffer.concat(pieces), frame.payload.subarray(at))),
  );
}

/** Pads some frames to the maximum size. */
function padded(frame: SourceFrame, chance: Chance): SourceFrame {
  if (chance.below(20) !== 0) return frame;
  const filler = new Uint8Array(payloadBytesMax - Math.min(payloadBytesMax, frame.payload.length));
  return withBytes(frame, joined(frame.payload, filler.fill(chance.below(256))));
}

function forgeSize(frame: SourceFrame, chance: Chance): SourceFrame {
  const payload = frame.payload.slice();
  const at = Buffer.from(payload.buffer).indexOf(Buffer.of(0xff, 0xc0));
  if (at === -1 || at + 9 > payload.length)
    return { ...frame, width: chance.below(200), height: chance.below(200) };
  payload.set([chance.below(20), chance.below(256), chance.below(20), chance.below(256)], at + 5);
  return withBytes(frame, payload);
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(one.length + other.length);
  bytes.set(one);
  bytes.set(other, one.length);
  return bytes;
}
