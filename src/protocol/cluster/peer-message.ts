/**
 * Questions, answers and notices between members, and the hello on a connection between two processes of one machine, as
 * bytes. An answer names the kind of its question, so that it can be checked by itself; whether that is what was asked is
 * for the asker to see. Source: cluster.md, Route.
 */
import { z } from 'zod';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { connectionKinds, type MemberId } from '../../model/cluster.ts';
import type { JsonObject } from '../../model/json.ts';
import { batchDevicesMax, peerMessageBytesMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import { wakeCauses } from '../../model/signal.ts';
import {
  applicationId,
  customData,
  deviceId,
  encodeJsonObject,
  line,
  memberId,
  requestId,
  signedRequest,
  decodeVersioned,
  encodeVersioned,
  unpackVersioned,
  result,
} from './wire-values.ts';
import { callEnd, callEndOrder, callOrder, callRejection } from './call-values.ts';
import { deviceOutcomes, provisioningRefusal, provisioningRequest } from './provisioning-values.ts';
import {
  acceptedWakeup,
  callEndRefusal,
  deviceSlots,
  loggedSession,
  memberStatus,
  sessionHeartbeat,
  sessionId,
  callRefusal,
  messageReceipt,
  messageRefusal,
  messageRequest,
  wakeupRequest,
  wakeupsKnown,
  wakeupAnswer,
} from './member-values.ts';

/** First from both ends. The connection ends behind `refused`. */
export type PeerHello =
  | { readonly kind: 'hello'; readonly member: MemberId }
  | { readonly kind: 'refused'; readonly sentence: string };

const hello: z.ZodType<PeerHello> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('hello'), member: memberId }),
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
  z.strictObject({ kind: z.literal('heartbeats'), deviceIds: z.array(deviceId).max(batchDevicesMax) }),
  z.strictObject({ kind: z.literal('wake'), request: wakeupRequest, slots: deviceSlots }),
  z.strictObject({ kind: z.literal('write'), deviceId, session: sessionId, customData }),
  z.strictObject({ kind: z.literal('message'), request: messageRequest }),
  z.strictObject({ kind: z.literal('issue-call'), order: callOrder }),
  z.strictObject({ kind: z.literal('end-call'), order: callEndOrder }),
  z.strictObject({ kind: z.literal('reject-call'), deviceId, rejection: callRejection }),
  z.strictObject({ kind: z.literal('provision'), request: provisioningRequest }),
  z.strictObject({ kind: z.literal('find-call'), sessionId }),
  z.strictObject({ kind: z.literal('disconnect'), deviceId }),
  z.strictObject({ kind: z.literal('wakeups'), requestId, deviceId: deviceId.nullable() }),
  z.strictObject({ kind: z.literal('metrics') }),
  z.strictObject({ kind: z.literal('status') }),
]);

const text = z.string().max(peerMessageBytesMax);

const credentials = { peerId: text, token: text, mediaUrl: text.nullable(), note: text.optional() };

const answers: { readonly [Kind in PeerKind]: z.ZodType<PeerAnswer<Kind>> } = {
  heartbeats: z
    .array(z.strictObject({ sleep: sessionHeartbeat.nullable(), signal: sessionHeartbeat.nullable() }))
    .max(batchDevicesMax),
  wake: wakeupAnswer,
  write: z.enum(['written', 'refused', 'unknown', 'busy', 'unreachable', 'absent', 'unwakeable']),
  message: result(messageReceipt, messageRefusal),
  'issue-call': result(z.strictObject(credentials), callRefusal),
  'end-call': result(callEnd, callEndRefusal),
  'reject-call': z.enum(['taken', 'stray']),
  provision: result(deviceOutcomes, provisioningRefusal),
  'find-call': z.strictObject({ appId: applicationId, mediaUrl: text }).nullable(),
  disconnect: z.boolean(),
  wakeups: wakeupsKnown,
  metrics: text,
  status: memberStatus,
};

const notice: z.ZodType<PeerNotice> = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('superseded'),
    connection: z.enum(connectionKinds),
    deviceId,
    session: sessionId,
  }),
  z.strictObject({ kind: z.literal('wakeups-accepted'), wakeups: z.array(acceptedWakeup) }),
  z.strictObject({
    kind: z.literal('message-answered'),
    ...signedRequest,
    answer: result(messageReceipt, messageRefusal),
  }),
  z.strictObject({
    kind: z.literal('wake-reported'),
    deviceId,
    session: sessionId,
    report: z.strictObject({ cause: z.enum(wakeCauses), requestId: requestId.nullable() }),
  }),
  z.strictObject({
    kind: z.literal('call-issued'),
    ...signedRequest,
    sessionId,
    ...credentials,
  }),
  z.strictObject({
    kind: z.literal('call-end-answered'),
    ...signedRequest,
    end: callEnd.nullable(),
  }),
  z.strictObject({ kind: z.literal('registry-changed') }),
  z.strictObject({ kind: z.literal('log-grew') }),
  z.strictObject({ kind: z.literal('log-following'), follows: z.boolean() }),
  z.strictObject({ kind: z.literal('sessions-logged'), sessions: z.array(loggedSession) }),
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
  | { readonly kind: 'notice'; readonly from: MemberId; readonly notice: PeerNotice }
  /** Behind the answers: another process goes on as this member, and is to be asked from now on. Between processes only. */
  | { readonly kind: 'leaving' };

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
    answerTo('end-call'),
    answerTo('reject-call'),
    answerTo('provision'),
    answerTo('find-call'),
    answerTo('disconnect'),
    answerTo('wakeups'),
    answerTo('metrics'),
    answerTo('status'),
  ]),
  z.strictObject({ kind: z.literal('notice'), from: memberId, notice }),
  z.strictObject({ kind: z.literal('leaving') }),
]);

/** False: of another release, which this one cannot answer. */
export function isKnownQuestion({ kind }: PeerQuestion): boolean {
  return Object.hasOwn(answers, kind);
}

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
 * The same from a process of this machine, where no stranger can write: nothing is checked but that it is a message of our
 * version.
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
    case 'leaving':
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
