/**
 * The endpoints of the API but those of calls and messages (call-endpoints.ts, message-endpoint.ts): reads each one's parameters,
 * has the core do it, and writes the answer. Source: API doc, Endpoints 1 and 2; events.md, Reading.
 */
import { queryConnectivity, type ConnectivityDeps } from '../../core/devices/query-connectivity.ts';
import {
  queryConnectivityBatch,
  type ConnectivityBatchDeps,
} from '../../core/devices/query-connectivity-batch.ts';
import type { ApplicationLimit } from '../../core/devices/request-limits.ts';
import { readEvents, type ReadEventsDeps } from '../../core/events/read-events.ts';
import type { AnsweredWakeups } from '../../core/wakeups/answered-wakeups.ts';
import type { WakeupDeps } from '../../core/wakeups/do-wakeup.ts';
import { queryWakeupOutcome, type WakeupOutcomeDeps } from '../../core/wakeups/query-wakeup-outcome.ts';
import { submitWakeup } from '../../core/wakeups/submit-wakeup.ts';
import {
  decodeConnectivityBatchBody,
  encodeConnectivityBatch,
  encodeConnectivityEntry,
} from '../../protocol/rest/connectivity-batch.ts';
import {
  encodeConnectivityRecord,
  decodeWakeupBody,
  decodeWakeupOutcomeQuery,
  encodeWakeupReceipt,
  encodeWakeupRecord,
} from '../../protocol/rest/device-requests.ts';
import { decodeEventsQuery, encodeEventPage } from '../../protocol/rest/events.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { overload } from '../../model/codes.ts';
import type { WakeupRecord } from '../../model/wakeup.ts';
import {
  coded,
  plain,
  refuse,
  refuseParameter,
  replyWith,
  type Call,
  type Reply,
  type Route,
} from './route.ts';

const replyConnectivity = replyWith(encodeConnectivityRecord);

export function connectivityRoute(deps: ConnectivityDeps): Route {
  return {
    name: 'connectivity',
    method: 'GET',
    path: '/v1/device/connectivity',
    permission: 'connectivity:read',
    ...plain,
    handle(call) {
      const deviceId = decodeDeviceQuery(call.query);
      if (!deviceId.ok) return refuseParameter(deviceId.error);
      return replyConnectivity(queryConnectivity(deps, call.credential.appId, deviceId.value));
    },
  };
}

export interface BatchRouteDeps extends ConnectivityBatchDeps {
  /** How often an application may query; a batch is as many queries as it has ids. Null: as often as it likes. */
  readonly queries: ApplicationLimit | null;
}

const replyBatch = replyWith(encodeConnectivityBatch);

export function connectivityBatchRoute(deps: BatchRouteDeps): Route {
  return {
    name: 'connectivity-batch',
    method: 'POST',
    path: '/v1/devices/connectivity',
    permission: 'connectivity:read',
    ...plain,
    tellsWhenToRetry: true,
    handle(call) {
      const deviceIds = decodeConnectivityBatchBody(call.body);
      const { appId } = call.credential;
      // Its price is in its body; one that cannot be read is one query, and refused like one.
      const waitMs = deps.queries?.take(appId, deviceIds.ok ? deviceIds.value.length : 1) ?? 0;
      if (waitMs > 0) return refuse(overload(waitMs));
      if (!deviceIds.ok) return refuseParameter(deviceIds.error);
      const onGone = (listener: () => void): void => call.onGone(listener);
      const batch = { appId, deviceIds: deviceIds.value, entryOf: encodeConnectivityEntry, onGone };
      return replyBatch(queryConnectivityBatch(deps, batch));
    },
  };
}

const replyReceipt = replyWith(encodeWakeupReceipt);

export function wakeupRoute(deps: WakeupDeps, account: AnsweredWakeups): Route {
  return {
    name: 'wakeup',
    method: 'POST',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    ...coded,
    successStatus: 202,
    takesRequestId: true,
    handle: (call) => submit(deps, call),
    answered: (answer) => account.note(answer),
  };
}

function submit(deps: WakeupDeps, call: Call): Reply | Promise<Reply> {
  const { requestId, credential, signature, signatureExpiresMs } = call;
  if (requestId.origin === 'invalid')
    return refuseParameter('X-Request-ID must be 1-128 printable ASCII characters, given once');
  const body = decodeWakeupBody(call.body);
  if (!body.ok) return refuseParameter(body.error);
  const { deviceId, customData, customDataText } = body.value;
  call.deviceId = deviceId;
  const answer = submitWakeup(deps, {
    appId: credential.appId,
    deviceId,
    customData,
    customDataText,
    requestId: requestId.id,
    signature,
    signatureExpiresMs,
  });
  return replyReceipt(answer);
}

export function wakeupOutcomeRoute(deps: WakeupOutcomeDeps): Route {
  return {
    name: 'wakeup-outcome',
    method: 'GET',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    ...coded,
    asksAgain: true,
    handle(call) {
      const query = decodeWakeupOutcomeQuery(call.query);
      if (!query.ok) return refuseParameter(query.error);
      const { requestId, waitMs } = query.value;
      const { appId } = call.credential;
      call.isLongPoll = waitMs > 0;
      const onGone = (listener: () => void): void => call.onGone(listener);
      const answer = queryWakeupOutcome(deps, { appId, ...query.value, onGone });
      return replyWith((record: WakeupRecord) => encodeWakeupRecord(requestId, record))(answer);
    },
  };
}

const replyEvents = replyWith(encodeEventPage);

export function eventsRoute(deps: ReadEventsDeps): Route {
  return {
    name: 'events',
    method: 'GET',
    path: '/v1/events',
    permission: 'events:read',
    ...plain,
    asksAgain: true,
    handle(call) {
      const query = decodeEventsQuery(call.query);
      if (!query.ok) return refuseParameter(query.error);
      const { appId } = call.credential;
      call.isLongPoll = query.value.waitMs > 0;
      const onGone = (listener: () => void): void => call.onGone(listener);
      return replyEvents(readEvents(deps, { appId, ...query.value, onGone }));
    },
  };
}
