/** Names, stamps and bytes as they cross between members, checked as they are read. */
import { z } from 'zod';
import { decodeJsonObject } from '../../lib/json-object.ts';
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
