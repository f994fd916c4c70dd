/** Wakeups and messages to devices as they cross between members. */
import { z } from 'zod';
import { endpointCodes, type FailureCode, type Refusal } from '../../model/codes.ts';
import type { MessageId } from '../../model/ids.ts';
import type { MessageReceipt, MessageRequest } from '../../model/message.ts';
import { wakeCauses } from '../../model/signal.ts';
import type { WakeupReceipt, WakeupRecord, WakeupRequest } from '../../model/wakeup.ts';
import {
  applicationId,
  customData,
  deviceId,
  digest,
  jsonObject,
  line,
  memberId,
  requestId,
  stamp,
  stampOrNone,
  whole,
  word,
} from './name-values.ts';

export const wakeupRequest: z.ZodType<WakeupRequest> = z.strictObject({
  appId: applicationId,
  deviceId,
  customData,
  customDataText: digest.nullable(),
  requestId,
  isCallersId: z.boolean(),
  signature: digest,
  signatureExpiresMs: stamp,
  bodySha256: digest,
});

export const wakeupReceipt: z.ZodType<WakeupReceipt> = z.strictObject({ deviceId, acceptedAtMs: stamp });

export const wakeupRecord: z.ZodType<WakeupRecord> = z.strictObject({
  deviceId,
  status: z.enum(['accepted', 'unknown', 'failed', 'completed', 'expired']),
  isAwaited: z.boolean(),
  begunAtMs: stamp,
  acceptedAtMs: stampOrNone,
  completedAtMs: stampOrNone,
  wokeAfterMs: whole.nullable(),
  alreadyOnline: z.boolean(),
  cause: z.enum(wakeCauses).nullable(),
  sleepEpoch: whole,
  isCallersId: z.boolean(),
  bodySha256: digest,
  watcher: memberId.nullable(),
});

export const messageRequest: z.ZodType<MessageRequest> = z.strictObject({
  appId: applicationId,
  deviceId,
  name: line,
  payload: jsonObject,
  signature: digest,
  signatureExpiresMs: stamp,
});

export const messageReceipt: z.ZodType<MessageReceipt> = z.strictObject({
  deviceId,
  id: word<MessageId>(),
  acknowledgedAtMs: stamp,
});

export const wakeupRefusal = refusalOf(endpointCodes.wakeup);
export const messageRefusal = refusalOf(endpointCodes.message);
export const callRefusal = refusalOf(endpointCodes['call-credentials']);

function refusalOf<Code extends FailureCode>(codes: readonly Code[]): z.ZodType<Refusal<Code>> {
  return z.strictObject({
    code: z.literal(codes),
    message: line,
    retryAfterS: z.int().min(1).exactOptional(),
  });
}
