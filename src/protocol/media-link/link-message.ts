/**
 * Messages of the link between the server and a media process, and their encoding. Legs are identified by the number of their
 * admission, which the server assigns; questions by a number of the asker. A message about an unknown leg is ignored, since both
 * ends may end one at the same time. Source: calls-and-media.md, The media process.
 */
import { z } from 'zod';
import { assert } from '../../lib/assert.ts';
import { packPlain, unpackPlain } from '../../lib/plain-msgpack.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { legCloseReasons, legRefusals } from '../../model/call.ts';
import { reservationRefusals } from '../../model/media/picture.ts';
import {
  callTokenBytesMax,
  legRequestBytesMax,
  linkBroughtMax,
  linkLogCharactersMax,
  linkMessageBytesMax,
} from '../../model/limits.ts';
import {
  admittedLeg,
  broughtLeg,
  callElsewhere,
  callReport,
  legMessage,
  mediaAddress,
  mediaProcessCounts,
  mediaView,
  origins,
  sessionId,
  tally,
  tokenKeys,
} from './media-values.ts';

/** Incremented with every change in this file. */
export const linkVersion = 7;

/** From the head of a request. */
const shown = z.string().max(legRequestBytesMax);
const sentence = z.string().max(4096);
const question = z.int().min(0);
const leg = question;
const hello = { version: z.literal(linkVersion) };

function message<const Kind extends string, Fields extends z.core.$ZodLooseShape>(
  kind: Kind,
  fields: Fields,
) {
  return z.strictObject({ kind: z.literal(kind), ...fields });
}

const heartbeat = message('heartbeat', {});

const fromServer = z.discriminatedUnion('kind', [
  /** Instead of a hello: the server already has a media process. Then the link ends. */
  message('declined', { ...hello, sentence }),
  message('hello', { ...hello, tokenKeys }),
  heartbeat,
  message('keys', { tokenKeys }),
  message('admitted', { question, leg, admitted: admittedLeg }),
  message('refused', { question, refusal: z.enum(legRefusals) }),
  message('elsewhere', { question, call: callElsewhere }),
  message('heard', { question }),
  message('tell', { leg, message: legMessage }),
  message('close', { leg, reason: z.enum(legCloseReasons) }),
  message('reload-tls', { question }),
  message('drain', {}),
  message('view', { question, sessionId }),
]);

const fromMedia = z.discriminatedUnion('kind', [
  /** `instance`: identifies the process; stays the same when it reconnects. */
  message('hello', { ...hello, instance: z.string().max(64) }),
  heartbeat,
  /** After the greetings: legs that are already open. They are numbered from 1 in this order. */
  message('bring', { legs: z.array(broughtLeg).max(linkBroughtMax) }),
  /** All open legs have been reported; admissions follow. */
  message('brought', {}),
  /** `advertise`: its origins for clients, comma separated, from its own settings; null: none. */
  message('listening', { address: mediaAddress, advertise: origins.nullable() }),
  message('failed', { sentence }),
  message('drained', {}),
  message('admit-device', { question, token: z.string().max(callTokenBytesMax) }),
  message('admit-bridge', { question, key: shown, sessionId: shown.nullable() }),
  message('admit-viewer', { question, ticket: shown }),
  message('open', { leg }),
  /** Answered when all earlier messages have been processed. */
  message('ask-heard', { question }),
  message('report', { leg, report: callReport, about: shown.nullable() }),
  message('answer', { leg, accepted: z.boolean() }),
  message('uncarried', { leg, why: z.enum(reservationRefusals) }),
  message('alive', { leg, by: z.enum(['media', 'ping']) }),
  message('gone', { leg }),
  message('counts', { counts: mediaProcessCounts }),
  message('tally', { tally }),
  message('log', {
    level: z.enum(['debug', 'info', 'warn', 'error']),
    /** JSON text of an object. */
    fields: z.string().max(linkLogCharactersMax),
    message: sentence,
  }),
  /** `problem`: it keeps its present certificate; null: reloaded. */
  message('tls-reloaded', { question, problem: sentence.nullable() }),
  message('viewed', { question, view: mediaView.nullable() }),
]);

export type ServerMessage = z.infer<typeof fromServer>;
export type MediaMessage = z.infer<typeof fromMedia>;
export type AdmittedLeg = z.infer<typeof admittedLeg>;
export type BroughtLeg = Readonly<z.infer<typeof broughtLeg>>;
export type Tally = z.infer<typeof tally>;

export type ReadMessage<Message> = (value: unknown) => Result<Message, string>;

export const readServerMessage = readerOf(fromServer);
export const readMediaMessage = readerOf(fromMedia);

function readerOf<Message>(schema: z.ZodType<Message>): ReadMessage<Message> {
  return (value) => {
    const result = schema.safeParse(value);
    if (result.success) return succeed(result.data);
    const [issue] = result.error.issues;
    return fail(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
  };
}

/** `message`: plain: no undefined, no classes except Buffer. */
export function encodeLinkMessage(message: object): Buffer {
  const bytes = packPlain(message);
  assert(bytes.length <= linkMessageBytesMax, 'messages of the link keep to their limit');
  return bytes;
}

/**
 * The first message of a peer: a hello of this version, or a decline. The version is read first, because only ends of one
 * version agree about the rest. A fault is the end of a sentence about the peer.
 */
export function decodeLinkGreeting<Message>(
  bytes: Uint8Array,
  read: ReadMessage<Message>,
): Result<Message, string> {
  const value = unpackPlain(bytes);
  const { version } = fieldsOf(value);
  if (!isGreeting(value) || typeof version !== 'number')
    return fail('does not speak the protocol of the link');
  if (version === linkVersion) return checked(read(value));
  return fail(
    `speaks version ${version} of the link, and this end version ${linkVersion}: run the same release on both`,
  );
}

/** Decodes every message after the greeting, with the same kind of fault. */
export function decodeLinkMessage<Message>(
  bytes: Uint8Array,
  read: ReadMessage<Message>,
): Result<Message, string> {
  const value = unpackPlain(bytes);
  return isGreeting(value) ? fail('sent hello twice') : checked(read(value));
}

function checked<Message>(message: Result<Message, string>): Result<Message, string> {
  return message.ok ? message : fail(`sent an invalid message: ${message.error}`);
}

function isGreeting(value: unknown): boolean {
  const { kind } = fieldsOf(value);
  return kind === 'hello' || kind === 'declined';
}

function fieldsOf(value: unknown): { readonly kind?: unknown; readonly version?: unknown } {
  return typeof value === 'object' && value !== null ? value : {};
}
