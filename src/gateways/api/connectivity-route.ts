/** GET /v1/device/connectivity. Source: API doc, Endpoint 1. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { queryConnectivity, type ConnectivityDeps } from '../../core/devices/query-connectivity.ts';
import { encodeConnectivityRecord } from '../../protocol/rest/device-status.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { refuse, type Reply, type Route } from './route.ts';

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
      return answer instanceof Promise ? answer.then(reply) : reply(answer);
    },
  };
}

type ConnectivityAnswer = Awaited<ReturnType<typeof queryConnectivity>>;

function reply(answer: ConnectivityAnswer): Reply {
  if (!answer.ok) return refuse(answer.error);
  return { code: 0, message: codeTexts[0], data: encodeConnectivityRecord(answer.value) };
}
