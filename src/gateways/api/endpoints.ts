/**
 * Handlers of the routes of connections, wakeups, messages and events: each calls the core and encodes its answer.
 * Source: API doc, Endpoints 1 and 2; events.md, Reading; signal-wire.md, Sending a message.
 */
import { queryConnectivity } from '../../core/devices/query-connectivity.ts';
import { queryConnectivityBatch } from '../../core/devices/query-connectivity-batch.ts';
import { readEvents } from '../../core/events/read-events.ts';
import type { MessageAnswer } from '../../core/messages/deliver-message.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { sendWakingMessage } from '../../core/messages/send-waking-message.ts';
import { queryWakeupOutcome } from '../../core/wakeups/query-wakeup-outcome.ts';
import { submitWakeup } from '../../core/wakeups/submit-wakeup.ts';
import { fail, type Result } from '../../lib/result.ts';
import type { DeviceId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { hasPermission } from '../../model/registry.ts';
import { encodeConnectivityBatch } from '../../protocol/rest/connectivity-batch.ts';
import {
  decodeWakeupBody,
  encodeConnectivityRecord,
  encodeMessageReceipt,
  encodeMessageRefusal,
  encodeWakeupReceipt,
  encodeWakeupRecord,
  type MessageBody,
  type WakeupBody,
  type WakeupOutcomeQuery,
} from '../../protocol/rest/device-requests.ts';
import { encodeEventPage, type EventsQuery } from '../../protocol/rest/events.ts';
import { refusePermission, replyWith, signedBy, type Call, type Handler, type UnreadCall } from './route.ts';

export const queryDevice: Handler<DeviceId> = (deviceId, { credential }, { connectivity }) =>
  replyWith(queryConnectivity(connectivity, credential.appId, deviceId), encodeConnectivityRecord);

export const queryDevices: Handler<readonly string[]> = (deviceIds, call, { batches }) => {
  const { appId } = call.credential;
  const answer = queryConnectivityBatch(batches, { appId, deviceIds, onGone: hangUpOf(call) });
  return replyWith(answer, (answers) => encodeConnectivityBatch(deviceIds, answers));
};

export function parseWakeup({ requestId, body }: UnreadCall): Result<WakeupBody, string> {
  return requestId.origin === 'invalid'
    ? fail('X-Request-ID must be 1-128 printable ASCII characters, given once')
    : decodeWakeupBody(body);
}

/** Field by field: V8 copies objects with `...` in its runtime, and this is a hot path. */
export const wakeDevice: Handler<WakeupBody> = ({ deviceId, customData, customDataText }, call, services) => {
  call.deviceId = deviceId;
  const answer = submitWakeup(services.wakeups, {
    deviceId,
    customData,
    customDataText,
    requestId: call.requestId.id,
    appId: call.credential.appId,
    signature: call.signature,
    signatureExpiresMs: call.signatureExpiresMs,
  });
  return replyWith(answer, encodeWakeupReceipt);
};

export const queryOutcome: Handler<WakeupOutcomeQuery> = (query, call, { outcomes }) => {
  call.isLongPoll = query.waitMs > 0;
  const { appId } = call.credential;
  const answer = queryWakeupOutcome(outcomes, { appId, ...query, onGone: hangUpOf(call) });
  return replyWith(answer, (record) => encodeWakeupRecord(query.requestId, record));
};

export const deliverMessage: Handler<MessageBody> = (
  { wake, waitMs, payload, ...asked },
  call,
  { messages },
) => {
  const { credential } = call;
  const message = { ...asked, payload: JSON.parse(payload) as JsonObject, ...signedBy(call) };
  const reply = (answer: Promise<MessageAnswer>): ReturnType<Handler<MessageBody>> =>
    replyWith(answer, encodeMessageReceipt, encodeMessageRefusal);
  if (!wake) return reply(sendMessage(messages, message));
  if (!hasPermission(credential, 'wakeup:write')) return refusePermission('wakeup:write');
  call.isLongPoll = waitMs > 0;
  return reply(sendWakingMessage(messages, { message, waitMs, credential, onGone: hangUpOf(call) }));
};

export const listEvents: Handler<EventsQuery> = (query, call, { events }) => {
  call.isLongPoll = query.waitMs > 0;
  const { appId } = call.credential;
  return replyWith(readEvents(events, { appId, ...query, onGone: hangUpOf(call) }), encodeEventPage);
};

function hangUpOf(call: Call): Call['onGone'] {
  return (listener) => call.onGone(listener);
}
