/** `GET /v1/figures` on the ops listener: the figures of the last hour, or those behind the `next` of an earlier answer. */
import { z } from 'zod';
import type { FigureHistory } from '../../telemetry/figure-history.ts';
import { readRoute, type AdminRoute } from '../ops/admin-route.ts';

const figuresQuery = z.strictObject({ after: z.coerce.number().int().nonnegative().default(0) });

export function figuresRoute(history: Pick<FigureHistory, 'read'>): AdminRoute {
  return readRoute('/v1/figures', figuresQuery, async ({ after }) => {
    return { status: 200, body: history.read(after) };
  });
}
