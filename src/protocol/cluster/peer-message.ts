/**
 * Encodes and decodes questions, answers and notices between members. An answer names the kind of its question, so that it can
 * be validated on its own; the asker checks that it matches. Source: cluster.md, Route.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { connectionKinds, type MemberId } from '../../model/cluster.ts';
import { batchDevicesMax, peerMessageBytesMax } from '../../model/limits.ts';
import { listedStates } from '../../model/peer.ts';
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

/** Questions between members, by kind. */
const question = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('heartbeats'), deviceIds: z.array(deviceId).max(batchDevicesMax) }),
  /** A whole wakeup, sent to the member with the device's first sleep slot; includes the slots that the asker has just read. */
  z.strictObject({ kind: z.literal('wake'), request: wakeupRequest, slots: deviceSlots }),
  /** Only the 8 bytes, on one session. */
  z.strictObject({ kind: z.literal('write'), deviceId, session: sessionId, customData }),
  z.strictObject({ kind: z.literal('message'), request: messageRequest }),
  /** Sent to the member that has the device's calls, like the next two. */
  z.strictObject({ kind: z.literal('issue-call'), order: callOrder }),
  /** Ends a call on behalf of a backend. */
  z.strictObject({ kind: z.literal('end-call'), order: callEndOrder }),
  /** A rejection by the device's controller. */
  z.strictObject({ kind: z.literal('reject-call'), deviceId, rejection: callRejection }),
  /** The media listener of a call, for a leg that connected to the asker. */
  z.strictObject({ kind: z.literal('find-call'), sessionId }),
  z.strictObject({ kind: z.literal('disconnect'), deviceId }),
  /** This member's wakeups with a request id; `deviceId` null: of any device. */
  z.strictObject({ kind: z.literal('wakeups'), requestId, deviceId: deviceId.nullable() }),
  /** A search over all devices, as in `GET /v1/device/list`. */
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

type Fixed<Value> = Value extends readonly (infer Item)[]
  ? readonly Item[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Value[Name] extends (infer Item)[] ? readonly Item[] : Value[Name] }
    : Value;

export type PeerKind = z.output<typeof question>['kind'];
type Questions = {
  readonly [One in z.output<typeof question> as One['kind']]: Fixed<One>;
};
export type PeerQuestion<Kind extends PeerKind = PeerKind> = { [One in Kind]: Questions[One] }[Kind];
export type SoughtDevices = PeerQuestion<'held-devices'>['sought'];

const text = z.string().max(peerMessageBytesMax);

/** The token is a secret. */
const credentials = { peerId: text, token: text, mediaUrl: text.nullable(), note: text.optional() };

const answers = {
  /** A device's sessions at this member, in the order of the question; null: no session there. */
  heartbeats: z
    .array(z.strictObject({ sleep: sessionHeartbeat.nullable(), signal: sessionHeartbeat.nullable() }))
    .max(batchDevicesMax),
  wake: wakeupAnswer,
  /** `absent`: the session is gone; `unwakeable`: its module does not support this packet. */
  write: z.enum(['written', 'refused', 'unknown', 'busy', 'unreachable', 'absent', 'unwakeable']),
  message: result(messageReceipt, messageRefusal),
  'issue-call': result(z.strictObject(credentials), callRefusal),
  /** 40414: the member does not have the session or the room. */
  'end-call': result(callEnd, callEndRefusal),
  /** `stray`: the device has no such call that it may reject. */
  'reject-call': z.enum(['taken', 'stray']),
  /** Null: the call is not here. */
  'find-call': z.strictObject({ appId: applicationId, mediaUrl: text }).nullable(),
  /** True: the device had a session here. */
  disconnect: z.boolean(),
  wakeups: wakeupsKnown,
  /** The first matching devices in the given state here, up to one more than the limit. */
  'held-devices': z.array(deviceId).max(listedDevicesMax + 1),
} satisfies Readonly<Record<PeerKind, z.ZodType>>;

export type PeerAnswers = { readonly [Kind in PeerKind]: Fixed<z.output<(typeof answers)[Kind]>> };
export type PeerAnswer<Kind extends PeerKind = PeerKind> = PeerAnswers[Kind];
export type DeviceHeartbeats = PeerAnswer<'heartbeats'>[number];

/** Messages without an answer, by kind. */
const notice = z.discriminatedUnion('kind', [
  /** A later login has taken the slot of this session, which is to be closed as replaced. */
  z.strictObject({
    kind: z.literal('superseded'),
    connection: z.enum(connectionKinds),
    deviceId,
    session: sessionId,
  }),
  /** To all members: each answers a repeat of one of these wakeups alike. */
  z.strictObject({ kind: z.literal('wakeups-accepted'), wakeups: z.array(acceptedWakeup) }),
  /** To all members: each answers a repeat of this message alike. */
  z.strictObject({
    kind: z.literal('message-answered'),
    ...signedRequest,
    answer: result(messageReceipt, messageRefusal),
  }),
  /** A controller's report of its wake cause, for the member that watches the wakeup. */
  z.strictObject({
    kind: z.literal('wake-reported'),
    deviceId,
    session: sessionId,
    report: z.strictObject({ cause: z.enum(wakeCauses), requestId: requestId.nullable() }),
  }),
  /** To all members that may issue the device's next call: a repeat issues no second call. */
  z.strictObject({
    kind: z.literal('call-issued'),
    ...signedRequest,
    sessionId,
    ...credentials,
  }),
  /** To all members: each answers a repeat alike, with 40414 if there was no call. */
  z.strictObject({
    kind: z.literal('call-end-answered'),
    ...signedRequest,
    end: callEnd.nullable(),
  }),
]);
export type PeerNotice = Fixed<z.output<typeof notice>>;

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
