/** GET /v1/device/msgvoip-call-status. Source: API doc, Endpoint 3. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { queryCallStatus, type CallStatusDeps } from '../../core/calls/query-call-status.ts';
import { encodeCallStatus } from '../../protocol/rest/device-status.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { refuse, type Reply, type Route } from './route.ts';

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
      return answer instanceof Promise ? answer.then(reply) : reply(answer);
    },
  };
}

type CallStatusAnswer = Awaited<ReturnType<typeof queryCallStatus>>;

function reply(answer: CallStatusAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeCallStatus(answer.value) };
}
