/** GET /v1/device/connectivity and POST /v1/device/message. Source: API doc, Endpoint 1; signal-wire.md, Sending a message. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { queryConnectivity, type ConnectivityDeps } from '../../core/devices/query-connectivity.ts';
import { encodeConnectivityRecord } from '../../protocol/rest/device-status.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { refuse, type Reply, type Route, type Call } from './route.ts';
import type { MessageDeps } from '../../core/messages/deliver-message.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { decodeMessageBody, encodeMessageReceipt } from '../../protocol/rest/message.ts';

export function connectivityRoute(deps: ConnectivityDeps): Route {
  return {
    name: 'connectivity',
    method: 'GET',
    path: '/v1/device/connectivity',
    permission: 'connectivity:read',
    envelope: 'plain',
    successStatus: 200,
    statusFromCode: false,
    takesRequestId: false,
    handle(call) {
      const deviceId = decodeDeviceQuery(call.query);
      if (!deviceId.ok) return refuse(refusal(40003, deviceId.error));
      const answer = queryConnectivity(deps, call.credential.appId, deviceId.value);
      return answer instanceof Promise ? answer.then(replyConnectivity) : replyConnectivity(answer);
    },
  };
}

type ConnectivityAnswer = Awaited<ReturnType<typeof queryConnectivity>>;

function replyConnectivity(answer: ConnectivityAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeConnectivityRecord(answer.value) };
}

export function messageRoute(deps: MessageDeps): Route {
  return {
    name: 'message',
    method: 'POST',
    path: '/v1/device/message',
    permission: 'message:send',
    envelope: 'with-request-id',
    successStatus: 200,
    statusFromCode: true,
    takesRequestId: false,
    handle: (call) => send(deps, call),
  };
}

function send(deps: MessageDeps, call: Call): Reply | Promise<Reply> {
  const body = decodeMessageBody(call.body);
  if (!body.ok) return refuse(refusal(40003, body.error));
  const { credential, signature, signatureExpiresMs } = call;
  const { appId } = credential;
  return sendMessage(deps, { appId, ...body.value, signature, signatureExpiresMs }).then((answer) =>
    answer.ok
      ? { code: 0, message: codeTexts[0], data: encodeMessageReceipt(answer.value) }
      : refuse(answer.error),
  );
}
