/** POST and GET /v1/device/wakeup-request: a wakeup, and what became of it. Source: API doc, Endpoint 2; events.md, Reading. */
import { codeTexts, refusal } from '../../model/codes.ts';
import type { WakeupDeps } from '../../core/wakeups/do-wakeup.ts';
import { submitWakeup } from '../../core/wakeups/submit-wakeup.ts';
import {
  decodeWakeupBody,
  encodeWakeupReceipt,
  decodeWakeupOutcomeQuery,
  encodeWakeupRecord,
} from '../../protocol/rest/wakeup.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';
import type { RequestId } from '../../model/ids.ts';
import { queryWakeupOutcome, type WakeupOutcomeDeps } from '../../core/wakeups/query-wakeup-outcome.ts';

export function wakeupRoute(deps: WakeupDeps): Route {
  return {
    name: 'wakeup',
    method: 'POST',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    envelope: 'with-request-id',
    successStatus: 202,
    statusFromCode: true,
    takesRequestId: true,
    handle: (call) => submit(deps, call),
  };
}

function submit(deps: WakeupDeps, call: Call): Reply | Promise<Reply> {
  const { requestId, credential, signature, signatureExpiresMs, bodySha256 } = call;
  if (requestId.origin === 'invalid')
    return refuse(refusal(40003, 'X-Request-ID must be 1-128 printable ASCII characters, given once'));
  const body = decodeWakeupBody(call.body);
  if (!body.ok) return refuse(refusal(40003, body.error));
  const { deviceId, customData, customDataText } = body.value;
  return submitWakeup(deps, {
    appId: credential.appId,
    deviceId,
    customData,
    customDataText,
    requestId: requestId.id,
    isCallersId: requestId.origin === 'caller',
    signature,
    signatureExpiresMs,
    bodySha256,
  }).then((answer) =>
    answer.ok
      ? { code: 0, message: codeTexts[0], data: encodeWakeupReceipt(answer.value) }
      : refuse(answer.error),
  );
}

export function wakeupOutcomeRoute(deps: WakeupOutcomeDeps): Route {
  return {
    name: 'wakeup-outcome',
    method: 'GET',
    path: '/v1/device/wakeup-request',
    permission: 'wakeup:write',
    envelope: 'with-request-id',
    successStatus: 200,
    statusFromCode: true,
    takesRequestId: false,
    asksAgain: true,
    handle(call) {
      const query = decodeWakeupOutcomeQuery(call.query);
      if (!query.ok) return refuse(refusal(40003, query.error));
      const { requestId, waitMs } = query.value;
      const answer = queryWakeupOutcome(deps, {
        appId: call.credential.appId,
        requestId,
        waitMs,
        onGone: (listener) => call.onGone(listener),
      });
      return answer instanceof Promise
        ? answer.then((settled) => replyOutcome(requestId, settled))
        : replyOutcome(requestId, answer);
    },
  };
}

type WakeupOutcomeAnswer = Awaited<ReturnType<typeof queryWakeupOutcome>>;

function replyOutcome(requestId: RequestId, answer: WakeupOutcomeAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeWakeupRecord(requestId, answer.value) };
}
