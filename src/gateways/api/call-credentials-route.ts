/** POST /v1/token/msgvoip. Source: API doc, Endpoint 4. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { issueCallCredentials, type CallCredentialsHouse } from '../../core/calls/issue-call-credentials.ts';
import { decodeCallCredentialsBody, encodeCallCredentials } from '../../protocol/rest/call-credentials.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';

export function callCredentialsRoute(house: CallCredentialsHouse): Route {
  return {
    name: 'call-credentials',
    method: 'POST',
    path: '/v1/token/msgvoip',
    permission: 'call:issue',
    envelope: 'msg',
    successStatus: 200,
    statusFromCode: false,
    takesRequestId: false,
    handle: (call) => issue(house, call),
  };
}

function issue(house: CallCredentialsHouse, call: Call): Reply | Promise<Reply> {
  const body = decodeCallCredentialsBody(call.body);
  if (!body.ok) return refuse(refusal(40003, body.error));
  const { credential, signature, signatureExpiresMs } = call;
  const { appId } = credential;
  const { deviceId, room, media, callingTimeoutS } = body.value;
  const order = { appId, deviceId, room, media, callingTimeoutS, signature, signatureExpiresMs };
  return issueCallCredentials(house, order).then((answer) =>
    answer.ok
      ? { code: 0, message: codeTexts[0], data: encodeCallCredentials(answer.value) }
      : refuse(answer.error),
  );
}
