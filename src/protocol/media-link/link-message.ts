/**
 * The messages of the link between the server and its media process, both ways, and their bytes. Legs go by the number of
 * the admission that opened them, which the server gave; questions by a number of the asker's. A message about a leg that
 * is gone is ignored, since both ends may end one at a time. Source: calls-and-media.md, The media process.
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

/** Changed with every change in this file. */
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
  /** In place of a hello: the server has a media process. The link ends behind it. */
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
  /** `instance`: of the process, the same each time it connects. */
  message('hello', { ...hello, instance: z.string().max(64) }),
  heartbeat,
  /** Behind the greetings: legs that are open already. The first one goes by the number 1 from now on, the next by 2, and so on. */
  message('bring', { legs: z.array(broughtLeg).max(linkBroughtMax) }),
  /** There are no more of them; legs are admitted from now on. */
  message('brought', {}),
  /** `advertise`: its origins for clients, comma separated, by its own settings; null: it has none. */
  message('listening', { address: mediaAddress, advertise: origins.nullable() }),
  message('failed', { sentence }),
  message('drained', {}),
  message('admit-device', { question, token: z.string().max(callTokenBytesMax) }),
  message('admit-bridge', { question, key: shown, sessionId: shown.nullable() }),
  message('admit-viewer', { question, ticket: shown }),
  message('open', { leg }),
  /** Answered when everything before it has been done. */
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
  /** `problem`: it keeps the certificate that it has. */
  message('tls-reloaded', { question, problem: sentence.nullable() }),
  message('viewed', { question, view: mediaView.nullable() }),
]);

export type ServerMessage = z.infer<typeof fromServer>;
export type MediaMessage = z.infer<typeof fromMedia>;
export type AdmittedLeg = z.infer<typeof admittedLeg>;
export type BroughtLeg = Readonly<z.infer<typeof broughtLeg>>;
export type Tally = z.infer<typeof tally>;

/** Reads a value as a message, or says what is wrong with it. */
export type ReadMessage<Message> = (value: unknown) => Result<Message, string>;

export function readServerMessage(value: unknown): Result<ServerMessage, string> {
  return readAs(fromServer, value);
}

export function readMediaMessage(value: unknown): Result<MediaMessage, string> {
  return readAs(fromMedia, value);
}

function readAs<Message>(schema: z.ZodType<Message>, value: unknown): Result<Message, string> {
  const result = schema.safeParse(value);
  if (result.success) return succeed(result.data);
  const [issue] = result.error.issues;
  return fail(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
}

/** Of plain values: no undefined, no class but Buffer. */
export function encodeLinkMessage(message: object): Buffer {
  const bytes = packPlain(message);
  assert(bytes.length <= linkMessageBytesMax, 'messages of the link keep to their limit');
  return bytes;
}

/**
 * The first message of a peer: a hello of our version, or a decline. Its version is read before the rest of it, which only
 * ends of one version agree about. A fault is the end of a sentence about the peer.
 */
export function decodeLinkGreeting<Message>(
  bytes: Uint8Array,
  read: ReadMessage<Message>,
): Result<Message, string> {
  const value = unpackPlain(bytes);
  const { version } = fieldsOf(value);
  if (!isGreeting(value) || typeof version !== 'number')
    return fail('does not speak the language of the link');
  if (version === linkVersion) return checked(read(value));
  return fail(
    `speaks version ${version} of the link, and this end version ${linkVersion}: run the same release on both`,
  );
}

/** Every later message; the same. */
export function decodeLinkMessage<Message>(
  bytes: Uint8Array,
  read: ReadMessage<Message>,
): Result<Message, string> {
  const value = unpackPlain(bytes);
  return isGreeting(value) ? fail('said hello twice') : checked(read(value));
}

function checked<Message>(message: Result<Message, string>): Result<Message, string> {
  return message.ok ? message : fail(`sent what is no message of the link: ${message.error}`);
}

function isGreeting(value: unknown): boolean {
  const { kind } = fieldsOf(value);
  return kind === 'hello' || kind === 'declined';
}

function fieldsOf(value: unknown): { readonly kind?: unknown; readonly version?: unknown } {
  return typeof value === 'object' && value !== null ? value : {};
}
