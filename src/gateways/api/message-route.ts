/** POST /v1/device/message. Source: signal-wire.md, Sending a message. */
import { codeTexts, refusal } from '../../model/codes.ts';
import type { MessageDeps } from '../../core/messages/deliver-message.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { decodeMessageBody, encodeMessageReceipt } from '../../protocol/rest/message.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';

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
