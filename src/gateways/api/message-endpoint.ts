/**
 * The endpoint of messages: sends one to a device that is online, or wakes the device for it. Source: signal-wire.md, Sending
 * a message.
 */
import { sendMessage } from '../../core/messages/send-message.ts';
import { sendWakingMessage, type WakingDeps } from '../../core/messages/send-waking-message.ts';
import { holdsPermission } from '../../model/registry.ts';
import {
  decodeMessageBody,
  encodeMessageReceipt,
  encodeMessageRefusal,
} from '../../protocol/rest/device-requests.ts';
import { coded, refuseParameter, refusePermission, replyWith, type Route } from './route.ts';

const replyMessage = replyWith(encodeMessageReceipt, encodeMessageRefusal);

export function messageRoute(deps: WakingDeps): Route {
  return {
    name: 'message',
    method: 'POST',
    path: '/v1/device/message',
    permission: 'message:send',
    ...coded,
    handle(call) {
      const body = decodeMessageBody(call.body);
      if (!body.ok) return refuseParameter(body.error);
      const { credential, signature, signatureExpiresMs } = call;
      const { wake, waitMs, ...asked } = body.value;
      const message = { appId: credential.appId, ...asked, signature, signatureExpiresMs };
      if (!wake) return replyMessage(sendMessage(deps, message));
      if (!holdsPermission(credential, 'wakeup:write')) return refusePermission('wakeup:write');
      call.isLongPoll = waitMs > 0;
      const onGone = (listener: () => void): void => call.onGone(listener);
      return replyMessage(sendWakingMessage(deps, { message, waitMs, credential, onGone }));
    },
  };
}
