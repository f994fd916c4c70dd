/**
 * The bytes of all that members send each other and keep where they all see it: the version, then one value of msgpack.
 * The version is read first: only members of one version agree about the rest. Source: cluster.md, Without NATS.
 */
import type { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackOwn, unpackPlain } from '../../lib/plain-msgpack.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';

/** Raised with every change of what is here that an older member would not understand. */
const wireVersion = 1;

/** Of plain values. May be larger than `peerMessageBytesMax`, and is then not to be sent. */
export function encodeVersioned(value: object): Uint8Array {
  const packed = packPlain(value);
  const bytes = Buffer.allocUnsafe(1 + packed.length);
  bytes[0] = wireVersion;
  bytes.set(packed, 1);
  return bytes;
}

/** What `shape` makes of it, or what is wrong with it, as a sentence. Never throws. */
export function decodeVersioned<Value>(bytes: Uint8Array, shape: z.ZodType<Value>): Result<Value, string> {
  const packed = packedOf(bytes);
  if (!packed.ok) return packed;
  if (bytes.length > peerMessageBytesMax)
    return fail(`${bytes.length} bytes, where at most ${peerMessageBytesMax} are in order`);
  const result = shape.safeParse(unpackPlain(packed.value));
  if (result.success) return succeed(result.data);
  const [issue] = result.error.issues;
  return fail(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

/** The value in bytes that a process of our own release wrote, unchecked; undefined: there is none. Never throws. */
export function unpackVersioned(bytes: Uint8Array): Result<unknown, string> {
  const packed = packedOf(bytes);
  return packed.ok ? succeed(unpackOwn(packed.value)) : packed;
}

function packedOf(bytes: Uint8Array): Result<Uint8Array, string> {
  const [version] = bytes;
  if (version === undefined) return fail('no bytes');
  if (version !== wireVersion) return fail(`version ${version}, this member speaks ${wireVersion}`);
  return succeed(bytes.subarray(1));
}
