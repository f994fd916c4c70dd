/** POST /v1/token/msgvoip and GET /v1/device/msgvoip-call-status. Source: API doc, Endpoints 3 and 4. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { issueCallCredentials, type CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import { decodeCallCredentialsBody, encodeCallCredentials } from '../../protocol/rest/call-credentials.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';
import { queryCallStatus, type CallStatusDeps } from '../../core/calls/query-call-status.ts';
import { encodeCallStatus } from '../../protocol/rest/device-status.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';

export function callCredentialsRoute(deps: CallCredentialsDeps): Route {
  return {
    name: 'call-credentials',
    method: 'POST',
    path: '/v1/token/msgvoip',
    permission: 'call:issue',
    envelope: 'msg',
    successStatus: 200,
    statusFromCode: false,
    takesRequestId: false,
    handle: (call) => issue(deps, call),
  };
}

function issue(deps: CallCredentialsDeps, call: Call): Reply | Promise<Reply> {
  const body = decodeCallCredentialsBody(call.body);
  if (!body.ok) return refuse(refusal(40003, body.error));
  const { credential, signature, signatureExpiresMs } = call;
  const { appId } = credential;
  const { deviceId, room, media, callingTimeoutS } = body.value;
  const order = { appId, deviceId, room, media, callingTimeoutS, signature, signatureExpiresMs };
  return issueCallCredentials(deps, order).then((answer) =>
    answer.ok
      ? { code: 0, message: codeTexts[0], data: encodeCallCredentials(answer.value) }
      : refuse(answer.error),
  );
}

export function callStatusRoute(deps: CallStatusDeps): Route {
  return {
    name: 'call-status',
    method: 'GET',
    path: '/v1/device/msgvoip-call-status',
    permission: 'call:read',
    envelope: 'plain',
    successStatus: 200,
    statusFromCode: false,
    unverifiedCode: 50000,
    takesRequestId: false,
    handle(call) {
      const deviceId = decodeDeviceQuery(call.query);
      if (!deviceId.ok) return refuse(refusal(40003, deviceId.error));
      const answer = queryCallStatus(deps, call.credential.appId, deviceId.value);
      return answer instanceof Promise ? answer.then(replyStatus) : replyStatus(answer);
    },
  };
}

type CallStatusAnswer = Awaited<ReturnType<typeof queryCallStatus>>;

function replyStatus(answer: CallStatusAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeCallStatus(answer.value) };
}
