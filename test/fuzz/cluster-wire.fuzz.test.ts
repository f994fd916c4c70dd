/**
 * Messages from other members, valid and damaged: a decoder never throws, states the fault in a sentence, and an accepted value
 * survives encoding and decoding. The canary is a decoder that accepts any msgpack.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { unpackPlain } from '../../src/lib/plain-msgpack.ts';
import { succeed, type Result } from '../../src/lib/result.ts';
import { decodePeerMessage, encodePeerMessage } from '../../src/protocol/cluster/peer-message.ts';
import * as stored from '../../src/protocol/cluster/stored-values.ts';
import { peerMessages } from '../support/peer-messages.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';
import { storedValues } from '../support/stored-values.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 20_000);

interface Codec {
  readonly decode: (bytes: Uint8Array) => Result<unknown, string>;
  readonly encode: (value: never) => Uint8Array;
}

const codecs: readonly Codec[] = [
  { decode: decodePeerMessage, encode: encodePeerMessage },
  {
    decode: stored.decodeDeviceRow,
    encode: ({ deviceId, row }: stored.StoredRow) => stored.encodeDeviceRow(deviceId, row),
  },
  { decode: stored.decodeSharedEvent, encode: stored.encodeSharedEvent },
  { decode: stored.decodeMemberStatus, encode: stored.encodeMemberStatus },
  { decode: stored.decodeHeartbeats, encode: stored.encodeHeartbeats },
  { decode: stored.decodeWakeupRecord, encode: stored.encodeWakeupRecord },
  {
    decode: stored.decodeDeviceCalls,
    encode: ({ deviceId, calls }: stored.StoredCalls) => stored.encodeDeviceCalls(deviceId, calls),
  },
];

const goodBytes: readonly Uint8Array[] = [
  ...peerMessages.map(encodePeerMessage),
  ...storedValues.map(({ bytes }) => bytes),
];

const strangeBytes = [
  0x00, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc6, 0xc7, 0xcb, 0xcf, 0xd4, 0xdd, 0xdf, 0xff,
];

function spoil(chance: Chance, good: Uint8Array): Uint8Array {
  const bytes = Buffer.from(good);
  const at = chance.below(bytes.length);
  switch (chance.below(6)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      bytes[at] = strangeBytes[chance.below(strangeBytes.length)] ?? 0;
      return bytes;
    case 2:
      bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8));
      return bytes;
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + chance.below(8))]);
    case 4: {
      const other = goodBytes[chance.below(goodBytes.length)] ?? bytes;
      return Buffer.concat([bytes.subarray(0, at), other.subarray(chance.below(other.length))]);
    }
    default:
      return Buffer.from([1, ...Array.from({ length: chance.below(60) }, () => chance.below(256))]);
  }
}

interface Sightings {
  read: number;
  refused: number;
}

/** Null: no fault; else the fault. */
function roundTrip({ decode, encode }: Codec, bytes: Uint8Array, seen: Sightings): string | null {
  const read = decode(bytes);
  if (!read.ok) {
    seen.refused += 1;
    return read.error === '' ? 'nothing was said of what is wrong' : null;
  }
  seen.read += 1;
  const again = decode(encode(read.value as never));
  return isDeepStrictEqual(again, read) ? null : 'another value than was read';
}

function fuzz(seen: Sightings, tried: readonly Codec[] = codecs): string | null {
  const chance = chanceFrom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const good = goodBytes[round % goodBytes.length] ?? Buffer.of(1);
    const bytes = chance.below(10) === 0 ? good : spoil(chance, good);
    for (const codec of tried) {
      try {
        const fault = roundTrip(codec, bytes, seen);
        if (fault !== null) return `seed ${seed}, round ${round}: ${fault}`;
      } catch (error) {
        return `seed ${seed}, round ${round}: thrown: ${String(error)}`;
      }
    }
  }
  return null;
}

test('a message of another member is decoded to a value that can be encoded again, or refused in words', () => {
  const seen: Sightings = { read: 0, refused: 0 };
  assert.equal(fuzz(seen), null);
  assert.ok(seen.read > rounds / 10 && seen.refused > rounds, JSON.stringify(seen));
});

test('the fuzzer catches a decoder that accepts anything but a message', () => {
  const careless: Codec = {
    decode: (bytes) => succeed(unpackPlain(bytes.subarray(1))),
    encode: encodePeerMessage,
  };
  assert.match(String(fuzz({ read: 0, refused: 0 }, [careless])), /thrown|another value/);
});
