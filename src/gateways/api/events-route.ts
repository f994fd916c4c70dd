/** GET /v1/events. Source: events.md, Reading. */
import { codeTexts, refusal } from '../../model/codes.ts';
import { readEvents, type ReadEventsDeps } from '../../core/events/read-events.ts';
import { decodeEventsQuery, encodeEventPage } from '../../protocol/rest/events.ts';
import { refuse, type Call, type Reply, type Route } from './route.ts';

export function eventsRoute(deps: ReadEventsDeps): Route {
  return {
    name: 'events',
    method: 'GET',
    path: '/v1/events',
    permission: 'events:read',
    envelope: 'plain',
    successStatus: 200,
    statusFromCode: false,
    takesRequestId: false,
    asksAgain: true,
    handle: (call) => read(deps, call),
  };
}

function read(deps: ReadEventsDeps, call: Call): Reply | Promise<Reply> {
  const query = decodeEventsQuery(call.query);
  if (!query.ok) return refuse(refusal(40003, query.error));
  const { appId } = call.credential;
  const onGone = (listener: () => void): void => call.onGone(listener);
  return readEvents(deps, { appId, ...query.value, onGone }).then((answer) =>
    answer.ok
      ? { code: 0, message: codeTexts[0], data: encodeEventPage(answer.value) }
      : refuse(answer.error),
  );
}
