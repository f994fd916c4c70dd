/** A change asked of the ops listener, as the audit log tells it: from the request its intent, from the answer its outcome. */
import type { AuditId, AuditIds, AuditIntent, AuditOutcome } from '../../model/audit.ts';
import type { Operator } from '../../model/operator.ts';
import type { AdminReply, AuditTerms } from './admin-route.ts';

/** Who asks, and from where. */
export interface OpsCaller {
  readonly operator: Operator;
  /** Remote address. */
  readonly from: string;
  /** Whether the token is good still. */
  readonly holds: () => boolean;
}

/** `asked`: the body, or the query of an upload. */
export function intentOf({ operator, from }: OpsCaller, terms: AuditTerms, asked: unknown): AuditIntent {
  const ids = Object.fromEntries((terms.asked ?? []).map((name) => [name, valueAt(asked, name)]));
  return { operator: operator.name, role: operator.role, from, action: terms.action, ids };
}

export function outcomeOf({ status, body }: AdminReply, { answered = {} }: AuditTerms): AuditOutcome {
  if (status >= 400) {
    const reason = valueAt(body, 'error');
    return {
      result: status >= 500 ? 'failed' : 'refused',
      ...(typeof reason === 'string' && { reason }),
    };
  }
  const places = Object.entries(answered) as [AuditId, string][];
  const ids: AuditIds = Object.fromEntries(places.map(([name, place]) => [name, valueAt(body, place)]));
  return { result: 'ok', ids };
}

/** Undefined: there is nothing. */
function valueAt(body: unknown, place: string): unknown {
  let value = body;
  for (const key of place.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
