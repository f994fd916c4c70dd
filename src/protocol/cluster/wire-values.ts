/**
 * The bytes of all that members send each other and keep where they all see it: the version, then one value of msgpack; and
 * the names, stamps and bytes in it, checked as they are read. The version is read first: only members of one version agree
 * about the rest. Source: cluster.md, Without NATS.
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

/** Made by the server itself: ids of sessions, events and messages, and digests. */
export function word<Branded extends string>() {
  return z.custom<Branded>((value) => typeof value === 'string' && wordForm.test(value), 'is no word');
}

export const digest = word<string>();

/** For people: a host's name, a version, a fault. */
export const line = z.string().max(4096);
export const whole = z.int().min(0);
/** Wall milliseconds, or Unix seconds; a clock may have been set to before 1970. */
export const stamp = z.int();
export const stampOrNone = stamp.nullable();

/** The fields of a SignedRequest. */
export const signedRequest = { signature: digest, signatureExpiresMs: stamp };

/** The two bytes of a wake packet, in memory of their own. */
export const customData = z
  .custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 2, 'is not two bytes')
  .transform((bytes) => Uint8Array.from(bytes))
  .nullable();

/** A caller's JSON stays JSON, for its nesting and its keys are the caller's. */
export const jsonObject = z.instanceof(Uint8Array).transform((bytes, context): JsonObject => {
  const decoded = decodeJsonObject(bytes);
  if (decoded.ok) return decoded.value;
  context.addIssue(decoded.error);
  return z.NEVER;
});

export function encodeJsonObject(object: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(object));
}

/** A value, or why there is none. */
export function result<Value, Failure>(
  value: z.ZodType<Value>,
  error: z.ZodType<Failure>,
): z.ZodType<Result<Value, Failure>> {
  return z.discriminatedUnion('ok', [
    z.strictObject({ ok: z.literal(true), value }),
    z.strictObject({ ok: z.literal(false), error }),
  ]);
}
