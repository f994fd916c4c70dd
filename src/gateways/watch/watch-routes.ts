/**
 * How a call's pictures go, on the ops listener: `GET /v1/calls/media` tells it to machines, `POST /v1/calls/watch` hands
 * out the address of a page that shows it to one person, once.
 */
import { z } from 'zod';
import type { SessionId } from '../../model/ids.ts';
import type { AdminReply, AdminRoute } from '../ops/admin-route.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import { noTicket, unknownSession } from '../admin/call-routes.ts';
import { changeRoute, readRoute } from '../ops/checked-route.ts';
import { describeCarriedCall, type WatchDeps } from './watch-deps.ts';

const asked = z.strictObject({ session: z.string().min(1) as unknown as z.ZodType<SessionId> });

export function watchRoutes(deps: WatchDeps): AdminRoute[] {
  return [
    readRoute('/v1/calls/media', asked, ({ session }) => describe(deps, session)),
    changeRoute('/v1/calls/watch', asked, { action: 'call.watch', asked: ['session'] }, async ({ session }) =>
      handOut(deps, session),
    ),
  ];
}

async function describe(deps: WatchDeps, sessionId: SessionId): Promise<AdminReply> {
  const described = await describeCarriedCall(deps, sessionId);
  if (described === null) return unknownSession(sessionId);
  if (deps.media.address !== null) return { status: 200, body: described };
  return { status: 503, body: { error: 'no media process is there at the moment' } };
}

function handOut(deps: WatchDeps, sessionId: SessionId): AdminReply {
  if (deps.calls.find(sessionId) === null) return unknownSession(sessionId);
  const issued = deps.pageTickets.issue(sessionId);
  if (issued === null) return noTicket;
  const query = new URLSearchParams({ ticket: issued.ticket }).toString();
  const url = `${deps.opsOrigin()}/watch?${query}`;
  return { status: 200, body: { url, expires_at: formatTimestamp(issued.expiresAtMs) } };
}
