/**
 * Questions, answers and notices between members, and the hello on a connection between two processes of one machine, as
 * bytes. An answer names the kind of its question, so that it can be checked by itself; whether that is what was asked is
 * for the asker to see. Source: cluster.md, Route.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { MemberId } from '../../model/cluster.ts';
import type { JsonObject } from '../../model/json.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import { wakeCauses } from '../../model/signal.ts';
import {
  applicationId,
  customData,
  deviceId,
  digest,
  encodeJsonObject,
  line,
  memberId,
  requestId,
  stamp,
} from './name-values.ts';
import {
  callOrder,
  callSessions,
  deviceSlots,
  memberStatus,
  sessionHeartbeat,
  sessionId,
} from './session-values.ts';
import { decodeVersioned, encodeVersioned, unpackVersioned } from './versioned.ts';
import {
  callRefusal,
  messageReceipt,
  messageRefusal,
  messageRequest,
  wakeupReceipt,
  wakeupRefusal,
  wakeupRequest,
} from './wakeup-values.ts';

/** First from both ends: processes of one release only go on. The connection ends behind `refused`. */
export type PeerHello =
  | { readonly kind: 'hello'; readonly member: MemberId; readonly release: string }
  | { readonly kind: 'refused'; readonly sentence: string };

const hello: z.ZodType<PeerHello> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hello'), member: memberId, release: line }),
  z.strictObject({ kind: z.literal('refused'), sentence: line }),
]);

export function encodePeerHello(hello: PeerHello): Uint8Array {
  return encodeVersioned(hello);
}

/** The hello, or what is wrong with the bytes, as a sentence. Never throws. */
export function decodePeerHello(bytes: Uint8Array): Result<PeerHello, string> {
  return decodeVersioned(bytes, hello);
}

const question: z.ZodType<PeerQuestion> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('heartbeats'), deviceId }),
  z.strictObject({ kind: z.literal('wake'), request: wakeupRequest, slots: deviceSlots }),
  z.strictObject({ kind: z.literal('write'), deviceId, session: sessionId, customData }),
  z.strictObject({ kind: z.literal('message'), request: messageRequest }),
  z.strictObject({ kind: z.literal('issue-call'), order: callOrder }),
  z.strictObject({ kind: z.literal('take-calls'), sessionId }),
  z.strictObject({ kind: z.literal('disconnect'), deviceId }),
  z.strictObject({ kind: z.literal('metrics') }),
  z.strictObject({ kind: z.literal('status') }),
]);

const text = z.string().max(peerMessageBytesMax);

const answers: { readonly [Kind in PeerKind]: z.ZodType<PeerAnswer<Kind>> } = {
  heartbeats: z.strictObject({ sleep: sessionHeartbeat.nullable(), signal: sessionHeartbeat.nullable() }),
  wake: result(wakeupReceipt, wakeupRefusal),
  write: z.enum(['written', 'refused', 'unknown', 'busy', 'absent', 'unwakeable']),
  message: result(messageReceipt, messageRefusal),
  'issue-call': result(z.strictObject({ peerId: text, token: text }), callRefusal),
  'take-calls': z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('given'), deviceId, sessions: callSessions }),
    z.strictObject({ kind: z.enum(['in-use', 'absent']) }),
  ]),
  disconnect: z.boolean(),
  metrics: text,
  status: memberStatus,
};

function result<Value, Failure>(
  value: z.ZodType<Value>,
  error: z.ZodType<Failure>,
): z.ZodType<Result<Value, Failure>> {
  return z.discriminatedUnion('ok', [
    z.strictObject({ ok: z.literal(true), value }),
    z.strictObject({ ok: z.literal(false), error }),
  ]);
}

const notice: z.ZodType<PeerNotice> = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('superseded'),
    connection: z.enum(['sleep', 'signal']),
    deviceId,
    session: sessionId,
  }),
  z.strictObject({
    kind: z.literal('wakeup-accepted'),
    appId: applicationId,
    requestId,
    isCallersId: z.boolean(),
    signature: digest,
    signatureExpiresMs: stamp,
    bodySha256: digest,
    receipt: wakeupReceipt,
  }),
  z.strictObject({
    kind: z.literal('wake-reported'),
    deviceId,
    session: sessionId,
    report: z.strictObject({ cause: z.enum(wakeCauses), requestId: requestId.nullable() }),
  }),
  z.strictObject({
    kind: z.literal('call-issued'),
    signature: digest,
    signatureExpiresMs: stamp,
    sessionId,
    peerId: text,
    token: text,
  }),
  z.strictObject({ kind: z.literal('registry-changed') }),
  z.strictObject({ kind: z.literal('log-grew') }),
  z.strictObject({ kind: z.literal('token-keys-changed') }),
]);

export type PeerAnswerMessage<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: {
    readonly kind: 'answer';
    readonly id: number;
    /** The kind of the question. */
    readonly to: One;
    readonly answer: PeerAnswer<One>;
  };
}[Kind];

/** `id`: the asker's number of the question, 0 to 2^32 - 1. */
export type PeerMessage =
  | {
      readonly kind: 'question';
      readonly id: number;
      readonly from: MemberId;
      readonly question: PeerQuestion;
    }
  | PeerAnswerMessage
  | { readonly kind: 'notice'; readonly from: MemberId; readonly notice: PeerNotice };

const id = z.int().min(0).max(0xffff_ffff);

function answerTo<Kind extends PeerKind>(to: Kind) {
  return z.strictObject({ kind: z.literal('answer'), id, to: z.literal(to), answer: answers[to] });
}

const message = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('question'), id, from: memberId, question }),
  z.discriminatedUnion('to', [
    answerTo('heartbeats'),
    answerTo('wake'),
    answerTo('write'),
    answerTo('message'),
    answerTo('issue-call'),
    answerTo('take-calls'),
    answerTo('disconnect'),
    answerTo('metrics'),
    answerTo('status'),
  ]),
  z.strictObject({ kind: z.literal('notice'), from: memberId, notice }),
]);

/** May be larger than `peerMessageBytesMax`, and is then not to be sent. */
export function encodePeerMessage(message: PeerMessage): Uint8Array {
  if (message.kind !== 'question' || message.question.kind !== 'message') return encodeVersioned(message);
  const { request } = message.question;
  const payload = encodeJsonObject(request.payload);
  return encodeVersioned({ ...message, question: { kind: 'message', request: { ...request, payload } } });
}

/** The message, or what is wrong with the bytes, as a sentence. Never throws. */
export function decodePeerMessage(bytes: Uint8Array): Result<PeerMessage, string> {
  return decodeVersioned<PeerMessage>(bytes, message);
}

/**
 * The same from a process of our release on this machine, where no stranger can write: nothing is checked but that it is
 * a message.
 */
export function readPeerMessage(bytes: Uint8Array): Result<PeerMessage, string> {
  const unpacked = unpackVersioned(bytes);
  if (!unpacked.ok) return unpacked;
  const message = unpacked.value as PeerMessage | null | undefined;
  switch (message?.kind) {
    case 'question':
      return succeed({ ...message, question: readQuestion(message.question) });
    case 'answer':
    case 'notice':
      return succeed(message);
    default:
      return fail('neither a question nor an answer nor a notice');
  }
}

/** What `decodePeerMessage` makes of it: JSON as a value, and bytes in memory of their own. */
function readQuestion(question: PeerQuestion): PeerQuestion {
  switch (question.kind) {
    case 'message': {
      const { request } = question;
      return { ...question, request: { ...request, payload: readJsonObject(request.payload) } };
    }
    case 'wake': {
      const { request } = question;
      return { ...question, request: { ...request, customData: ownBytes(request.customData) } };
    }
    case 'write':
      return { ...question, customData: ownBytes(question.customData) };
    default:
      return question;
  }
}

function ownBytes(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : Uint8Array.from(bytes);
}

/** `packed`: what `encodeJsonObject` wrote. */
function readJsonObject(packed: unknown): JsonObject {
  return JSON.parse((packed as Buffer).toString()) as JsonObject;
}
