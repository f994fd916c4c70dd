/**
 * Handlers of the routes of devices' connections, wakeups, messages and events: each has the core do it and encodes the
 * answer. Source: API doc, Endpoints 1 and 2; events.md, Reading; signal-wire.md, Sending a message.
 */
import { queryConnectivity } from '../../core/devices/query-connectivity.ts';
import { queryConnectivityBatch } from '../../core/devices/query-connectivity-batch.ts';
import { readEvents } from '../../core/events/read-events.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { sendWakingMessage } from '../../core/messages/send-waking-message.ts';
import { queryWakeupOutcome } from '../../core/wakeups/query-wakeup-outcome.ts';
import { submitWakeup } from '../../core/wakeups/submit-wakeup.ts';
import { fail, type Result } from '../../lib/result.ts';
import { overload } from '../../model/codes.ts';
import type { DeviceId } from '../../model/ids.ts';
import { holdsPermission } from '../../model/registry.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import {
  decodeConnectivityBatchBody,
  encodeConnectivityBatch,
  encodeConnectivityEntry,
} from '../../protocol/rest/connectivity-batch.ts';
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
import {
  refuse,
  refuseParameter,
  refusePermission,
  replyWith,
  type Call,
  type Handler,
  type Route,
} from './route.ts';

const replyConnectivity = replyWith(encodeConnectivityRecord);

export const queryDevice: Handler<DeviceId> = (deviceId, { credential }, { connectivity }) =>
  replyConnectivity(queryConnectivity(connectivity, credential.appId, deviceId));

const replyBatch = replyWith(encodeConnectivityBatch);

export const queryDevices: Route['handle'] = (call, { batches, limits }) => {
  const deviceIds = decodeConnectivityBatchBody(call.body);
  const { appId } = call.credential;
  // A batch is as many queries as it has ids; one that cannot be read is one query, and refused like one.
  const waitMs = limits.queries?.take(appId, deviceIds.ok ? deviceIds.value.length : 1) ?? 0;
  if (waitMs > 0) return refuse(overload(waitMs));
  if (!deviceIds.ok) return refuseParameter(deviceIds.error);
  const batch = { appId, deviceIds: deviceIds.value, entryOf: encodeConnectivityEntry, onGone: goneOf(call) };
  return replyBatch(queryConnectivityBatch(batches, batch));
};

export function parseWakeup({ requestId, body }: Call): Result<WakeupBody, string> {
  return requestId.origin === 'invalid'
    ? fail('X-Request-ID must be 1-128 printable ASCII characters, given once')
    : decodeWakeupBody(body);
}

const replyReceipt = replyWith(encodeWakeupReceipt);

export const wakeDevice: Handler<WakeupBody> = (wakeup, call, { wakeups }) => {
  const { deviceId, customData, customDataText } = wakeup;
  const { requestId, credential, signature, signatureExpiresMs } = call;
  call.deviceId = deviceId;
  const answer = submitWakeup(wakeups, {
    appId: credential.appId,
    deviceId,
    customData,
    customDataText,
    requestId: requestId.id,
    signature,
    signatureExpiresMs,
  });
  return replyReceipt(answer);
};

export const queryOutcome: Handler<WakeupOutcomeQuery> = (query, call, { outcomes }) => {
  call.isLongPoll = query.waitMs > 0;
  const { appId } = call.credential;
  const answer = queryWakeupOutcome(outcomes, { appId, ...query, onGone: goneOf(call) });
  return replyWith((record: WakeupRecord) => encodeWakeupRecord(query.requestId, record))(answer);
};

const replyMessage = replyWith(encodeMessageReceipt, encodeMessageRefusal);

export const deliverMessage: Handler<MessageBody> = ({ wake, waitMs, ...asked }, call, { messages }) => {
  const { credential, signature, signatureExpiresMs } = call;
  const message = { appId: credential.appId, ...asked, signature, signatureExpiresMs };
  if (!wake) return replyMessage(sendMessage(messages, message));
  if (!holdsPermission(credential, 'wakeup:write')) return refusePermission('wakeup:write');
  call.isLongPoll = waitMs > 0;
  const answer = sendWakingMessage(messages, { message, waitMs, credential, onGone: goneOf(call) });
  return replyMessage(answer);
};

const replyEvents = replyWith(encodeEventPage);

export const listEvents: Handler<EventsQuery> = (query, call, { events }) => {
  call.isLongPoll = query.waitMs > 0;
  const { appId } = call.credential;
  return replyEvents(readEvents(events, { appId, ...query, onGone: goneOf(call) }));
};

/** Calls its listener if the caller hangs up. */
function goneOf(call: Call): Call['onGone'] {
  return (listener) => call.onGone(listener);
}
