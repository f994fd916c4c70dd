/** Checks that a webhook was sent by Reveille, and reads its event. Source: events.md, Webhooks; Standard Webhooks. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { SystemClock } from '../lib/system-clock.ts';
import { decodeJsonObject } from '../lib/utf8.ts';
import type { ApiEvent } from './answers.ts';

/** The message of `reveille webhook test`. */
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
  /** The age of a webhook may be so many seconds at most, as may its lead. Default 300. */
  readonly toleranceS?: number | undefined;
  /** For tests. */
  readonly clock?: Pick<Clock, 'wallMs'> | undefined;
}

/** By lower-case name, as Node's server has them. */
export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const secretForm = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const secondsForm = /^[0-9]{1,12}$/;

/**
 * The event of a webhook; null: it is not signed with this secret, or its time is not now: answer 401. `body`: the bytes as
 * they came, before any parser. Throws a TypeError when the secret is none.
 */
export function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: Uint8Array,
  { toleranceS = 300, clock = new SystemClock() }: WebhookOptions = {},
): ApiEvent | WebhookTest | null {
  if (!secretForm.test(secret)) throw new TypeError('the secret of a webhook is whsec_ followed by Base64');
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

/** In constant time. */
function isEqual(expected: Uint8Array, given: Uint8Array): boolean {
  return given.length === expected.length && timingSafeEqual(expected, given);
}
