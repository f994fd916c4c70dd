/**
 * `GET /v1/refused` on the ops listener: logins refused since the core's start, each with its reason, and devices whose sessions
 * keep replacing each other; the latest first.
 */
import { z } from 'zod';
import type { RefusedLogin, RefusedLogins } from '../../core/devices/refused-logins.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import { connectionKinds } from '../../model/cluster.ts';
import { loginTroubles } from '../../model/connectivity.ts';
import { refusedLoginsShownMax } from '../../model/limits.ts';
import { readRoute, type AdminRoute } from '../ops/admin-route.ts';
import { deviceIdField } from './device-changes.ts';

const refusedQuery = z.strictObject({
  device_id: deviceIdField.optional(),
  connection: z.enum(connectionKinds).optional(),
  reason: z.enum(loginTroubles).optional(),
  limit: z.coerce.number().int().min(1).max(refusedLoginsShownMax).default(100),
});

export function refusedRoute(refusedLogins: Pick<RefusedLogins, 'list' | 'forgotten'>): AdminRoute {
  return readRoute('/v1/refused', refusedQuery, async (query) => listRefused(refusedLogins, query));
}

export type RefusedAnswer = ReturnType<typeof listRefused>;

function listRefused(
  refusedLogins: Pick<RefusedLogins, 'list' | 'forgotten'>,
  { limit, device_id: deviceId, ...query }: z.output<typeof refusedQuery>,
) {
  const rows = refusedLogins.list({ ...query, deviceId });
  const refused = rows.slice(0, limit).map(encodeRefused);
  return { refused, more: rows.length > limit, forgotten: refusedLogins.forgotten };
}

export type RefusedLoginJson = ReturnType<typeof encodeRefused>;

export function encodeRefused(row: RefusedLogin) {
  return {
    device_id: row.deviceId,
    // The first application of its product; null: none, or the device is not in the registry.
    app_id: row.appId,
    connection: row.connection,
    reason: row.reason,
    // Number of refused logins, or, for a conflict, of replaced sessions.
    count: row.count,
    first_at: formatTimestamp(row.firstAtMs),
    last_at: formatTimestamp(row.lastAtMs),
    // The latest two peer addresses, newest last.
    addresses: row.addresses,
  };
}
