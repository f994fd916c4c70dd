/**
 * An administrative route: what it declares of itself, how its query or body is checked, and what the audit log has of a
 * change. The listener does the rest.
 */
import type {
  AuditAction,
  AuditId,
  AuditIds,
  AuditIntent,
  AuditOutcome,
  Operator,
} from '../../model/audit.ts';
import type { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { maskUrlsIn } from '../../model/registry.ts';
import { StoreOpenError } from '../../storage/lmdb/store-format.ts';
import type { FieldError } from '../../storage/registry/entry-reader.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';

export interface AdminRequest {
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined when the request has none. */
  readonly body: unknown;
}

export interface AdminReply {
  readonly status: number;
  /** Sent as JSON. */
  readonly body: unknown;
}

/** The parts of a change that the audit log has. */
export interface AuditTerms {
  readonly action: AuditAction;
  /** Taken from the body, of an upload from the query, by the same names. */
  readonly asked?: readonly AuditId[];
  /** Taken from the body of the answer, each from where it stands there: `credential.access_key_id`. */
  readonly answered?: Readonly<Partial<Record<AuditId, string>>>;
}

interface BaseRoute {
  readonly path: string;
  handle(request: AdminRequest): Promise<AdminReply>;
}

/** Changes nothing, so that a viewer may ask it too. */
export interface ReadRoute extends BaseRoute {
  readonly method: 'GET';
}

export interface ChangeRoute extends BaseRoute {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly audit: AuditTerms;
}

export type AdminRoute = ReadRoute | ChangeRoute;

/** A route that takes a body of any size up to the limit, and reports its progress line by line. */
export interface UploadRoute {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly audit: AuditTerms;
  /**
   * `spoolFile` holds the whole body and is gone when all of it is over. `gone`: the caller hangs up, and what is not done
   * yet is not to be done.
   */
  upload(request: Pick<AdminRequest, 'query'>, spoolFile: string, gone: AbortSignal): Upload;
}

export interface Upload {
  /** Each is sent as a line of JSON. When the caller hangs up the iteration is ended where it stands. */
  readonly lines: AsyncIterable<unknown>;
  /** How it ended, also for a caller that has hung up. Its body is the last line; undefined: there is none. */
  readonly ended: Promise<AdminReply>;
}

/** A question; a query that is not of this schema is 400 and names the field. */
export function readRoute<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  handle: (query: z.output<Schema>) => Promise<AdminReply>,
): ReadRoute {
  return {
    method: 'GET',
    path,
    handle: async ({ query }) => checked(schema, Object.fromEntries(query), 'query', handle),
  };
}

/** `/v1/device/add` is `device.add` in the audit log, `/v1/calls/end` is `call.end`. */
type ActionOf<Path> = Path extends `/v1/${infer Kinds}/${infer Verb}`
  ? `${Kinds extends `${infer Kind}s` ? Kind : Kinds}.${Verb}`
  : never;

/** The ids of a change that the audit log has; `action`: where it is not by the path. */
type ChangeTerms<Path> = Omit<AuditTerms, 'action'> &
  (ActionOf<Path> extends AuditAction ? object : Pick<AuditTerms, 'action'>);

/** A change; a body that is not of this schema is 400 and names the field. */
export function changeRoute<const Path extends string, Schema extends z.ZodType>(
  path: Path,
  schema: Schema,
  terms: ChangeTerms<Path>,
  handle: (body: z.output<Schema>) => Promise<AdminReply>,
): ChangeRoute {
  const action = path.replace('/v1/', '').replace(/s?\//, '.') as AuditAction;
  return {
    method: 'POST',
    path,
    audit: { action, ...terms },
    handle: async ({ body }) => checked(schema, body, 'body', handle),
  };
}

async function checked<Schema extends z.ZodType>(
  schema: Schema,
  asked: unknown,
  whole: 'query' | 'body',
  handle: (asked: z.output<Schema>) => Promise<AdminReply>,
): Promise<AdminReply> {
  const parsed = schema.safeParse(asked);
  if (parsed.success) return handle(parsed.data);
  return refuse(400, explainIssues(parsed.error, whole));
}

/** A sentence for each field; `whole`: names a mistake that is no field's. */
export function explainIssues({ issues }: z.ZodError, whole: 'query' | 'body'): string {
  return issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`).join('; ');
}

export function refuse(status: number, error: string): AdminReply {
  return { status, body: { error } };
}

/** Of an entry that cannot be in a registry. */
export function refuseEntry({ field, reason }: FieldError): AdminReply {
  return refuse(400, `${field} ${reason}`);
}

export function missingEntry({ kind, id }: MissingEntry): AdminReply {
  const shown = kind === 'webhook' ? maskUrlsIn(id) : id;
  return refuse(404, `no ${kind} ${JSON.stringify(shown)} in the registry`);
}

/** `bodyOf`: the answer where the entry is there. */
export function entryReply<Entry>(
  outcome: Result<Entry, MissingEntry>,
  bodyOf: (entry: Entry) => object,
): AdminReply {
  return outcome.ok ? { status: 200, body: bodyOf(outcome.value) } : missingEntry(outcome.error);
}

/** Answers 500 with the reason when the file behind a change cannot be used: the operator has to mend it. */
export async function orFileError(change: () => Promise<AdminReply>): Promise<AdminReply> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof StoreOpenError) return refuse(500, error.message);
    throw error;
  }
}

/** The operator of a request and its origin. */
export interface OpsCaller {
  readonly operator: Operator;
  /** Remote address. */
  readonly from: string;
  /** False once the token is revoked. */
  readonly holds: () => boolean;
}

/** The intent of a change from its request. `asked`: the body, or the query of an upload. */
export function intentOf({ operator, from }: OpsCaller, terms: AuditTerms, asked: unknown): AuditIntent {
  const ids = Object.fromEntries((terms.asked ?? []).map((name) => [name, valueAt(asked, name)]));
  return { operator: operator.name, role: operator.role, from, action: terms.action, ids };
}

/** The outcome of a change from its answer. */
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

/** `place`: keys with dots between them. Undefined: nothing is there. */
function valueAt(body: unknown, place: string): unknown {
  let value = body;
  for (const key of place.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
