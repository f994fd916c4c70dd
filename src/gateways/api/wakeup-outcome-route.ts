/** GET /v1/device/wakeup-request. Source: events.md, Reading. */
import { codeTexts, refusal } from '../../model/codes.ts';
import type { RequestId } from '../../model/ids.ts';
import { queryWakeupOutcome, type WakeupOutcomeDeps } from '../../core/wakeups/query-wakeup-outcome.ts';
import { decodeWakeupOutcomeQuery, encodeWakeupRecord } from '../../protocol/rest/wakeup.ts';
import { refuse, type Reply, type Route } from './route.ts';

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
        ? answer.then((settled) => reply(requestId, settled))
        : reply(requestId, answer);
    },
  };
}

type WakeupOutcomeAnswer = Awaited<ReturnType<typeof queryWakeupOutcome>>;

function reply(requestId: RequestId, answer: WakeupOutcomeAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeWakeupRecord(requestId, answer.value) };
}
