/**
 * Handlers of the routes of calls: each has the core do it and encodes the answer. Source: API doc, Endpoints 3 and 4;
 * calls-and-media.md.
 */
import { endCall } from '../../core/calls/end-call.ts';
import { issueCallCredentials } from '../../core/calls/issue-call-credentials.ts';
import { queryCallStatus } from '../../core/calls/query-call-status.ts';
import { findMediaProfile } from '../../core/devices/product-defaults.ts';
import type { Result } from '../../lib/result.ts';
import type { DeviceId } from '../../model/ids.ts';
import {
  decodeCallCredentialsBody,
  encodeCallCredentials,
  type CallCredentialsBody,
} from '../../protocol/rest/call-credentials.ts';
import { encodeCallEnd, type CallEndBody } from '../../protocol/rest/call-end.ts';
import { encodeCallStatus } from '../../protocol/rest/device-requests.ts';
import type { ApiServices } from './api-services.ts';
import { replyWith, type Call, type Handler } from './route.ts';

const replyStatus = replyWith(encodeCallStatus);

export const callStatus: Handler<DeviceId> = (deviceId, { credential }, { calls }) =>
  replyStatus(queryCallStatus(calls, credential.appId, deviceId));

const replyEnd = replyWith(encodeCallEnd);

export const callEnd: Handler<CallEndBody> = (order, call, { callEnds }) => {
  const { credential, signature, signatureExpiresMs } = call;
  const { appId } = credential;
  return replyEnd(endCall(callEnds, { appId, ...order, signature, signatureExpiresMs }));
};

/** The product of the device may fill some fields in. Throws where the registry cannot be read: 50000. */
export function parseCallOrder(
  { body, credential }: Call,
  { calls, mixedFormats }: ApiServices,
): Result<CallCredentialsBody, string> {
  return decodeCallCredentialsBody(body, mixedFormats, (deviceId) =>
    findMediaProfile(calls.registry, credential.appId, deviceId),
  );
}

const replyCredentials = replyWith(encodeCallCredentials, undefined, ({ note }) => note);

export const callCredentials: Handler<CallCredentialsBody> = (order, call, { calls }) => {
  const { credential, signature, signatureExpiresMs } = call;
  const { deviceId, room, media, callingTimeoutS } = order;
  const answer = issueCallCredentials(calls, {
    appId: credential.appId,
    deviceId,
    room,
    media,
    callingTimeoutS,
    signature,
    signatureExpiresMs,
  });
  return replyCredentials(answer);
};
