/** Verifies the signature of a webhook and parses its event. Source: events.md, Webhooks; Standard Webhooks. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { SystemClock } from '../lib/system-clock.ts';
import { decodeJsonObject } from '../lib/utf8.ts';
import type { ApiEvent } from './answers.ts';

/** The message that `reveille webhook test` sends. */
export interface WebhookTest {
  readonly id: string;
  readonly type: 'webhook.test';
  readonly at: string;
  readonly device_id: null;
  readonly seq: null;
  readonly epoch: null;
  readonly data: object;
}

export interface WebhookOptions {
  /** Maximum age and maximum lead of the timestamp, seconds. Default: 300. */
  readonly toleranceS?: number | undefined;
  /** For tests. */
  readonly clock?: Pick<Clock, 'wallMs'> | undefined;
}

/** Names in lower case, as in Node's `request.headers`. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const secretForm = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const secondsForm = /^[0-9]{1,12}$/;

/**
 * Returns the event of a webhook; null: the signature is not of this secret, or the timestamp is out of tolerance: answer
 * 401. `body`: the raw bytes, before any parser. Throws a TypeError on an invalid secret.
 */
export function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: Uint8Array,
  { toleranceS = 300, clock = new SystemClock() }: WebhookOptions = {},
): ApiEvent | WebhookTest | null {
  if (!secretForm.test(secret))
    throw new TypeError('invalid webhook secret: expected whsec_ followed by Base64');
  const sent = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => headers[name]);
  const [id, timestamp, signatures] = sent;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return null;
  if (!secondsForm.test(timestamp)) return null;
  if (Math.abs(clock.wallMs() / 1000 - Number(timestamp)) > toleranceS) return null;
  const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
  const expected = Buffer.from(`v1,${mac.update(`${id}.${timestamp}.`).update(body).digest('base64')}`);
  const isSigned = signatures.split(' ').some((given) => isEqual(expected, Buffer.from(given)));
  if (!isSigned) return null;
  const event = decodeJsonObject(body);
  return event.ok ? (event.value as unknown as ApiEvent | WebhookTest) : null;
}

function isEqual(expected: Uint8Array, given: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(expected, given);
}
