/**
 * Values in the shared store, as bytes: each is written whole by one member, read by others, and names its own subject. Decoders
 * return the value or the fault as a sentence, and never throw. Source: cluster.md.
 */
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { connectionKinds, type DeviceCalls, type DeviceRow } from '../../model/cluster.ts';
import { deviceTerms, type EventDraft } from '../../model/events.ts';
import type { DeviceId, EventId, WakeupId } from '../../model/ids.ts';
import {
  applicationId,
  deviceId,
  productId,
  requestId,
  stamp,
  word,
  decodeVersioned,
  encodeVersioned,
  encodeJsonObject,
  jsonObject,
  line,
  whole,
} from './wire-values.ts';
import { deviceCalls } from './call-values.ts';
import { deviceRow, knownWakeup, memberStatus, sessionId } from './member-values.ts';
import { callEndReasons, callStates } from '../../model/call.ts';
import { signalEndReasons } from '../../model/signal.ts';
import { sleepEndReasons } from '../../model/sleep.ts';

const common = { deviceId, atMs: stamp, epoch: whole.nullable() };
const login = {
  session: sessionId,
  node: line,
  replaced: z.boolean(),
  recovered: z.literal(true).exactOptional(),
};

function draftOf<Type extends EventDraft['type'], Data extends z.ZodRawShape>(type: Type, data: Data) {
  return z.strictObject({ type: z.literal(type), data: z.strictObject(data), ...common });
}

const call = { session: sessionId, state: z.enum(callStates), reason: z.enum(callEndReasons).nullable() };

const registered = { product_id: productId, by: applicationId.nullable() };

export const eventDraft: z.ZodType<EventDraft> = z.discriminatedUnion('type', [
  draftOf('device.signal.online', { ...login, media: jsonObject.exactOptional() }),
  draftOf('device.sleep.login', login),
  draftOf('device.signal.offline', { session: sessionId, node: line, reason: z.enum(signalEndReasons) }),
  draftOf('device.sleep.offline', { session: sessionId, node: line, reason: z.enum(sleepEndReasons) }),
  draftOf('device.conflict', { connection: z.enum(connectionKinds), replacements: whole }),
  draftOf('device.wakeup.accepted', { request_id: requestId, custom_data: word<string>().nullable() }),
  draftOf('device.wakeup.failed', { request_id: requestId, reason: z.enum(sleepEndReasons) }),
  draftOf('device.wakeup.completed', { request_id: requestId, woke_after_ms: whole }),
  draftOf('device.wakeup.expired', { request_id: requestId }),
  draftOf('call.started', call),
  draftOf('call.state', call),
  draftOf('call.ended', call),
  draftOf('device.registry.added', registered),
  draftOf('device.registry.removed', registered),
  draftOf('device.registry.changed', { ...registered, changed: z.array(z.enum(deviceTerms)) }),
]);

/** In the form that `eventDraft` decodes. */
export function plainDraft(draft: EventDraft): object {
  if (draft.type !== 'device.signal.online' || draft.data.media === undefined) return draft;
  return { ...draft, data: { ...draft.data, media: encodeJsonObject(draft.data.media) } };
}

const storedRow = z.strictObject({ deviceId, row: deviceRow });
export type StoredRow = Readonly<z.output<typeof storedRow>>;

export function encodeDeviceRow(deviceId: DeviceId, row: DeviceRow): Uint8Array {
  return encodeVersioned({ deviceId, row });
}

export function decodeDeviceRow(bytes: Uint8Array): Result<StoredRow, string> {
  return decodeVersioned(bytes, storedRow);
}

const sharedLogEvent = z.strictObject({
  id: word<EventId>(),
  /** Position among the device's events, from 1. */
  seq: z.int().min(1),
  draft: eventDraft,
  productId: productId.nullable(),
});
export type SharedLogEvent = Readonly<z.output<typeof sharedLogEvent>>;

export const { encode: encodeSharedEvent, decode: decodeSharedEvent } = stored(
  sharedLogEvent,
  ({ id, seq, draft, productId }) => ({ id, seq, draft: plainDraft(draft), productId }),
);

export const { encode: encodeMemberStatus, decode: decodeMemberStatus } = stored(
  memberStatus,
  (status) => status,
);

/** Encoded as tuples: field names would be most of the bytes. */
const deviceHeartbeat = z
  .tuple([deviceId, z.boolean(), sessionId, stamp])
  .transform(([deviceId, isSignal, session, heartbeatAt]) => ({
    deviceId,
    connection: isSignal ? ('signal' as const) : ('sleep' as const),
    session,
    /** Unix seconds. */
    heartbeatAt,
  }));
export type DeviceHeartbeat = Readonly<z.output<typeof deviceHeartbeat>>;

/** The caller bounds their bytes. */
export function encodeHeartbeats(heartbeats: readonly DeviceHeartbeat[]): Uint8Array {
  return encodeVersioned(
    heartbeats.map(({ deviceId, connection, session, heartbeatAt }) => [
      deviceId,
      connection === 'signal',
      session,
      heartbeatAt,
    ]),
  );
}

export function decodeHeartbeats(bytes: Uint8Array): Result<readonly DeviceHeartbeat[], string> {
  return decodeVersioned(bytes, z.array(deviceHeartbeat));
}

export const { encode: encodeWakeupRecord, decode: decodeWakeupRecord } = stored(
  knownWakeup,
  ({ appId, requestId, record }) => ({ appId, requestId, record }),
);

/** The latest wakeup with a request id, of an application or of a device. */
const latestWakeup = z.strictObject({
  appId: applicationId,
  requestId,
  deviceId: deviceId.nullable(),
  id: word<WakeupId>(),
});

export type LatestWakeup = Readonly<z.output<typeof latestWakeup>>;

export const { encode: encodeLatestWakeup, decode: decodeLatestWakeup } = stored(
  latestWakeup,
  ({ appId, requestId, deviceId, id }) => ({ appId, requestId, deviceId, id }),
);

const storedCalls = z.strictObject({ deviceId, calls: deviceCalls });
export type StoredCalls = Readonly<z.output<typeof storedCalls>>;

export function encodeDeviceCalls(deviceId: DeviceId, calls: DeviceCalls): Uint8Array {
  return encodeVersioned({ deviceId, calls });
}

export function decodeDeviceCalls(bytes: Uint8Array): Result<StoredCalls, string> {
  return decodeVersioned(bytes, storedCalls);
}

/** `plainOf` leaves out what is not of the shape, and makes plain what msgpack cannot hold. */
function stored<Value>(shape: z.ZodType<Value>, plainOf: (value: Value) => object) {
  return {
    encode: (value: Value): Uint8Array => encodeVersioned(plainOf(value)),
    decode: (bytes: Uint8Array): Result<Value, string> => decodeVersioned(bytes, shape),
  };
}
