/** POST /v1/token/msgvoip. Source: API doc, Endpoint 4. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { issueCallCredentials, type CallCredentialsDeps } from '../../core/calls/issue-call-credentials.ts';
import { decodeCallCredentialsBody, encodeCallCredentials } from '../../protocol/rest/call-credentials.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';

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
