/**
 * The encoding of all messages between members and of shared values: the version, then one msgpack value; with schemas of names,
 * stamps and bytes. The version is read first: only members of one version agree about the rest. Source: cluster.md, Without
 * NATS.
 */
import { z } from 'zod';
import { decodeJsonObject } from '../../lib/utf8.ts';
import { parseMemberId, type MemberId } from '../../model/cluster.ts';
import {
  parseApplicationId,
  parseDeviceId,
  parseProductId,
  parseRequestId,
  type ApplicationId,
  type DeviceId,
  type ProductId,
  type RequestId,
} from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';

/** Incremented with every change that an older member would not understand. */
const wireVersion = 1;

/** `value`: plain. The result may exceed `peerMessageBytesMax`; then it must not be sent. */
export function encodeVersioned(value: object): Uint8Array {
  const packed = packPlain(value);
  const bytes = Buffer.allocUnsafe(1 + packed.length);
  bytes[0] = wireVersion;
  bytes.set(packed, 1);
  return bytes;
}

/** The value validated by `shape`, or the fault as a sentence. Never throws. */
export function decodeVersioned<Value>(bytes: Uint8Array, shape: z.ZodType<Value>): Result<Value, string> {
  const packed = packedOf(bytes);
  if (!packed.ok) return packed;
  if (bytes.length > peerMessageBytesMax)
    return fail(`${bytes.length} bytes, where at most ${peerMessageBytesMax} are allowed`);
  const result = shape.safeParse(unpackPlain(packed.value));
  if (result.success) return succeed(result.data);
  const [issue] = result.error.issues;
  return fail(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

function packedOf(bytes: Uint8Array): Result<Uint8Array, string> {
  const [version] = bytes;
  if (version === undefined) return fail('no bytes');
  if (version !== wireVersion) return fail(`version ${version}, this member speaks ${wireVersion}`);
  return succeed(bytes.subarray(1));
}

function parsed<Id extends string>(name: string, parse: (text: string) => Id | null) {
  return z.custom<Id>((value) => typeof value === 'string' && parse(value) !== null, `is no ${name}`);
}

export const deviceId = parsed<DeviceId>('device id', parseDeviceId);
export const applicationId = parsed<ApplicationId>('application id', parseApplicationId);
export const productId = parsed<ProductId>('product id', parseProductId);
export const requestId = parsed<RequestId>('request id', parseRequestId);
export const memberId = parsed<MemberId>('member id', parseMemberId);

const wordForm = /^[\x21-\x7e]{1,128}$/;

/** Text created by the server itself: ids of sessions, events and messages, and digests. */
export function word<Branded extends string>() {
  return z.custom<Branded>((value) => typeof value === 'string' && wordForm.test(value), 'is no word');
}

export const digest = word<string>();

/** Text for people: a host name, a version, a fault. */
export const line = z.string().max(4096);
export const whole = z.int().min(0);
/** Wall milliseconds, or Unix seconds; negative if a clock was set to before 1970. */
export const stamp = z.int();
export const stampOrNone = stamp.nullable();

export const signedRequest = { signature: digest, signatureExpiresMs: stamp };

/** The two bytes of a wake packet, copied. */
export const customData = z
  .custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 2, 'is not two bytes')
  .transform((bytes): Uint8Array => Uint8Array.from(bytes))
  .nullable();

/** A caller's JSON stays encoded as JSON, because the caller controls its nesting and keys. */
export const jsonObject = z.instanceof(Uint8Array).transform((bytes, context): JsonObject => {
  const decoded = decodeJsonObject(bytes);
  if (decoded.ok) return decoded.value;
  context.addIssue(decoded.error);
  return z.NEVER;
});

export function encodeJsonObject(object: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(object));
}

export function result<Value, Failure>(
  value: z.ZodType<Value>,
  error: z.ZodType<Failure>,
): z.ZodType<Result<Value, Failure>> {
  return z.discriminatedUnion('ok', [
    z.strictObject({ ok: z.literal(true), value }),
    z.strictObject({ ok: z.literal(false), error }),
  ]);
}
