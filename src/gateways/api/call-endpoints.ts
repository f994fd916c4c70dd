/** Handlers of the routes of calls: each calls the core and encodes its answer. Source: API doc, Endpoints 3 and 4; calls-and-media.md. */
import { endCall } from '../../core/calls/end-call.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import { queryCallStatus } from '../../core/calls/query-call-status.ts';
import { findMediaProfile } from '../../core/devices/product-defaults.ts';
import type { DeviceId } from '../../model/ids.ts';
import {
  completeCallOrder,
  encodeCallCredentials,
  type ReadCallBody,
} from '../../protocol/rest/call-credentials.ts';
import { encodeCallEnd, type CallEndBody } from '../../protocol/rest/call-end.ts';
import { encodeCallStatus } from '../../protocol/rest/device-requests.ts';
import { refuseParameter, replyWith, signedBy, type Handler } from './route.ts';

export const callStatus: Handler<DeviceId> = (deviceId, { credential }, { calls }) =>
  replyWith(queryCallStatus(calls, credential.appId, deviceId), encodeCallStatus);

export const callEnd: Handler<CallEndBody> = (order, call, { callEnds }) =>
  replyWith(endCall(callEnds, { ...order, ...signedBy(call) }), encodeCallEnd);

/** The device's product supplies defaults for some fields. Throws if the registry cannot be read: 50000. */
export const callCredentials: Handler<ReadCallBody> = (body, call, { calls, mixedFormats }) => {
  const { appId } = call.credential;
  const order = completeCallOrder(body, mixedFormats, (deviceId) =>
    findMediaProfile(calls.registry, appId, deviceId),
  );
  if (!order.ok) return refuseParameter(order.error);
  const answer = issueCallCredentials(calls, { ...order.value, ...signedBy(call) });
  return replyWith(answer, encodeCallCredentials, undefined, ({ note }) => note);
};
