/**
 * The endpoints of calls: reads each one's parameters, has the core do it, and writes the answer. Source: API doc, Endpoints
 * 3 and 4; calls-and-media.md.
 */
import { endCall, type CallEndDeps } from '../../core/calls/end-call.ts';
import { issueCallCredentials, type CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import { queryCallStatus, type CallStatusDeps } from '../../core/calls/query-call-status.ts';
import { findMediaProfile } from '../../core/devices/product-defaults.ts';
import { fail, type Result } from '../../lib/result.ts';
import { refusal, type Refusal } from '../../model/codes.ts';
import { decodeCallEndBody, encodeCallEnd } from '../../protocol/rest/call-end.ts';
import {
  decodeCallCredentialsBody,
  encodeCallCredentials,
  type CallCredentialsBody,
} from '../../protocol/rest/call-credentials.ts';
import type { MixedFormats } from '../../protocol/rest/call-media.ts';
import { encodeCallStatus } from '../../protocol/rest/device-requests.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { plain, refuse, refuseParameter, replyWith, type Call, type Route } from './route.ts';

const replyCallStatus = replyWith(encodeCallStatus);

export function callStatusRoute(deps: CallStatusDeps): Route {
  return {
    name: 'call-status',
    method: 'GET',
    path: '/v1/device/msgvoip-call-status',
    permission: 'call:read',
    ...plain,
    unverifiedCode: 50000,
    handle(call) {
      const deviceId = decodeDeviceQuery(call.query);
      if (!deviceId.ok) return refuseParameter(deviceId.error);
      return replyCallStatus(queryCallStatus(deps, call.credential.appId, deviceId.value));
    },
  };
}

const replyCallEnd = replyWith(encodeCallEnd);

export function callEndRoute(deps: CallEndDeps): Route {
  return {
    name: 'call-end',
    method: 'POST',
    path: '/v1/device/msgvoip-call/end',
    permission: 'call:end',
    ...plain,
    handle(call) {
      const body = decodeCallEndBody(call.body);
      if (!body.ok) return refuseParameter(body.error);
      const { credential, signature, signatureExpiresMs } = call;
      const { appId } = credential;
      return replyCallEnd(endCall(deps, { appId, ...body.value, signature, signatureExpiresMs }));
    },
  };
}

const replyCredentials = replyWith(encodeCallCredentials, undefined, ({ note }) => note);

/** `mixedFormats`: whether both directions may have unlike video formats. */
export function callCredentialsRoute(deps: CallCredentialsDeps, mixedFormats: MixedFormats): Route {
  return {
    name: 'call-credentials',
    method: 'POST',
    path: '/v1/token/msgvoip',
    permission: 'call:issue',
    ...plain,
    envelope: 'msg',
    handle(call) {
      const body = decodeOrder(deps, mixedFormats, call);
      if (!body.ok) return refuse(body.error);
      const { credential, signature, signatureExpiresMs } = call;
      const { deviceId, room, media, callingTimeoutS } = body.value;
      const order = { deviceId, room, media, callingTimeoutS, signature, signatureExpiresMs };
      const answer = issueCallCredentials(deps, { appId: credential.appId, ...order });
      return replyCredentials(answer);
    },
  };
}

/** 40003; or 50000, where nobody can tell what the device's product fills in. */
function decodeOrder(
  { registry, log }: CallCredentialsDeps,
  mixedFormats: MixedFormats,
  { body, credential }: Call,
): Result<CallCredentialsBody, Refusal<40003 | 50000>> {
  try {
    const decoded = decodeCallCredentialsBody(body, mixedFormats, (deviceId) =>
      findMediaProfile(registry, credential.appId, deviceId),
    );
    return decoded.ok ? decoded : fail(refusal(40003, decoded.error));
  } catch (error) {
    log.error({ err: error }, 'the registry cannot be read for call credentials');
    return fail(refusal(50000));
  }
}
