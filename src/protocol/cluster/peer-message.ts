/**
 * Encodes and decodes questions, answers and notices between members. An answer names the kind of its question, so that it can
 * be validated on its own; the asker checks that it matches. Source: cluster.md, Route.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { connectionKinds, type MemberId } from '../../model/cluster.ts';
import { batchDevicesMax, peerMessageBytesMax } from '../../model/limits.ts';
import {
  listedStates,
  type PeerAnswer,
  type PeerKind,
  type PeerNotice,
  type PeerQuestion,
} from '../../model/peer.ts';
import { listedDevicesMax } from '../../model/console-limits.ts';
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
  result,
} from './wire-values.ts';
import { callEnd, callEndOrder, callOrder, callRejection } from './call-values.ts';
import {
  acceptedWakeup,
  callEndRefusal,
  deviceSlots,
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

const question: z.ZodType<PeerQuestion> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('heartbeats'), deviceIds: z.array(deviceId).max(batchDevicesMax) }),
  z.strictObject({ kind: z.literal('wake'), request: wakeupRequest, slots: deviceSlots }),
  z.strictObject({ kind: z.literal('write'), deviceId, session: sessionId, customData }),
  z.strictObject({ kind: z.literal('message'), request: messageRequest }),
  z.strictObject({ kind: z.literal('issue-call'), order: callOrder }),
  z.strictObject({ kind: z.literal('end-call'), order: callEndOrder }),
  z.strictObject({ kind: z.literal('reject-call'), deviceId, rejection: callRejection }),
  z.strictObject({ kind: z.literal('find-call'), sessionId }),
  z.strictObject({ kind: z.literal('disconnect'), deviceId }),
  z.strictObject({ kind: z.literal('wakeups'), requestId, deviceId: deviceId.nullable() }),
  z.strictObject({
    kind: z.literal('held-devices'),
    sought: z.strictObject({
      prefix: line,
      contains: line,
      label: line.optional(),
      product_id: line.optional(),
      state: z.enum(listedStates).optional(),
      after: line.optional(),
      limit: z.number().int().min(1).max(listedDevicesMax),
    }),
  }),
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
  'find-call': z.strictObject({ appId: applicationId, mediaUrl: text }).nullable(),
  disconnect: z.boolean(),
  wakeups: wakeupsKnown,
  'held-devices': z.array(deviceId).max(listedDevicesMax + 1),
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
]);

export type PeerAnswerMessage<Kind extends PeerKind = PeerKind> = {
  [One in Kind]: {
    readonly kind: 'answer';
    readonly id: number;
    readonly to: One;
    readonly answer: PeerAnswer<One>;
  };
}[Kind];

/** `id`: the asker's number for the question, 0 to 2^32 - 1. */
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
    answerTo('end-call'),
    answerTo('reject-call'),
    answerTo('find-call'),
    answerTo('disconnect'),
    answerTo('wakeups'),
    answerTo('held-devices'),
  ]),
  z.strictObject({ kind: z.literal('notice'), from: memberId, notice }),
]);

/** The result may exceed `peerMessageBytesMax`; then it must not be sent. */
export function encodePeerMessage(message: PeerMessage): Uint8Array {
  if (message.kind !== 'question' || message.question.kind !== 'message') return encodeVersioned(message);
  const { request } = message.question;
  const payload = encodeJsonObject(request.payload);
  return encodeVersioned({ ...message, question: { kind: 'message', request: { ...request, payload } } });
}

/** The message, or the fault as a sentence. Never throws. */
export function decodePeerMessage(bytes: Uint8Array): Result<PeerMessage, string> {
  return decodeVersioned<PeerMessage>(bytes, message);
}
