/** What members ask, answer and tell each other, checked as it is read. */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { peerMessageBytesMax } from '../../model/limits.ts';
import type { PeerAnswer, PeerKind, PeerNotice, PeerQuestion } from '../../model/peer.ts';
import { wakeCauses } from '../../model/signal.ts';
import { applicationId, customData, deviceId, digest, requestId, stamp } from './name-values.ts';
import {
  callOrder,
  callSessions,
  deviceSlots,
  memberStatus,
  sessionHeartbeat,
  sessionId,
} from './session-values.ts';
import {
  callRefusal,
  messageReceipt,
  messageRefusal,
  messageRequest,
  wakeupReceipt,
  wakeupRefusal,
  wakeupRequest,
} from './wakeup-values.ts';

export const question: z.ZodType<PeerQuestion> = z.discriminatedUnion('kind', [
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

export const answers: { readonly [Kind in PeerKind]: z.ZodType<PeerAnswer<Kind>> } = {
  heartbeats: z.strictObject({ sleep: sessionHeartbeat.nullable(), signal: sessionHeartbeat.nullable() }),
  wake: outcome(wakeupReceipt, wakeupRefusal),
  write: z.enum(['written', 'refused', 'unknown', 'busy', 'absent', 'unwakeable']),
  message: outcome(messageReceipt, messageRefusal),
  'issue-call': outcome(z.strictObject({ peerId: text, token: text }), callRefusal),
  'take-calls': z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('given'), deviceId, sessions: callSessions }),
    z.strictObject({ kind: z.enum(['in-use', 'absent']) }),
  ]),
  disconnect: z.boolean(),
  metrics: text,
  status: memberStatus,
};

function outcome<Value, Failure>(
  value: z.ZodType<Value>,
  error: z.ZodType<Failure>,
): z.ZodType<Result<Value, Failure>> {
  return z.discriminatedUnion('ok', [
    z.strictObject({ ok: z.literal(true), value }),
    z.strictObject({ ok: z.literal(false), error }),
  ]);
}

export const notice: z.ZodType<PeerNotice> = z.discriminatedUnion('kind', [
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
