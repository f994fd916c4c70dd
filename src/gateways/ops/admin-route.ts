/**
 * An administrative route: what it declares of itself, how its query or body is checked, and what the audit log has of a
 * change. The listener does the rest.
 */
import {
  auditIds,
  type AuditAction,
  type AuditId,
  type AuditIntent,
  type AuditOutcome,
  type Operator,
} from '../../model/audit.ts';
import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { maskUrlsIn } from '../../model/registry.ts';
import type { FieldError } from '../../storage/registry/entry-reader.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';

export interface AdminRequest {
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined when the request has none. */
  readonly body: unknown;
  /** The name of the operator. */
  readonly operator: string;
  /** Aborted when the caller hangs up before the answer is whole. */
  readonly gone: AbortSignal;
}

/** An answer that is no success. */
export class AdminRefusal {
  /** HTTP status. */
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string) {
    this.status = status;
    this.error = error;
  }
}

/** An object that is no refusal is a success, sent as JSON. */
export type AdminAnswer = object | AdminRefusal;

/** The parts of a change that the audit log has, as well as the ids of its body, or of the query of an upload. */
export interface AuditTerms {
  readonly action: AuditAction;
  /** Taken from the answer, each from where it stands there: `credential.access_key_id`. */
  readonly answered?: Readonly<Partial<Record<AuditId, string>>>;
}

interface BaseRoute {
  readonly path: string;
  handle(request: AdminRequest): Promise<AdminAnswer>;
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
  /** Its end, also for a caller that has hung up. It is the last line. */
  readonly ended: Promise<AdminAnswer>;
}

/** Content of the data directory with its secrets, for the holder of `ops.token` alone: the token lies in that directory. */
export interface DirectoryRoute {
  readonly method: 'GET';
  readonly path: string;
  open(request: Pick<AdminRequest, 'query'>): Promise<AdminRefusal | DirectoryContent>;
}

export interface DirectoryContent {
  readonly pieces: Readable;
  readonly headers: Readonly<Record<string, string>>;
}

/** A question; a query that is not of this schema is 400 and names the field. A key that is repeated has a list of values. */
export function readRoute<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  handle: (query: z.output<Schema>, request: AdminRequest) => Promise<AdminAnswer>,
): ReadRoute {
  return {
    method: 'GET',
    path,
    handle: async (request) =>
      checked(schema, valuesOf(request.query), 'query', (query) => handle(query, request)),
  };
}

function valuesOf(query: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const values = Array.from(new Set(query.keys()), (key) => [key, query.getAll(key)] as const);
  return Object.fromEntries(values.map(([key, all]) => [key, all.length === 1 ? (all[0] ?? '') : all]));
}

/** `/v1/device/add` is `device.add` in the audit log, `/v1/calls/end` is `call.end`. */
type ActionOf<Path> = Path extends `/v1/${infer Kinds}/${infer Verb}`
  ? `${Kinds extends `${infer Kind}s` ? Kind : Kinds}.${Verb}`
  : '';

/** `action`: where it is not by the path. */
type TermsOf<Path> =
  ActionOf<Path> extends AuditAction
    ? [Pick<AuditTerms, 'answered'>?]
    : [AuditTerms & { action: AuditAction }];

/** A change; a body that is not of this schema is 400 and names the field. */
export function changeRoute<const Path extends string, Schema extends z.ZodType>(
  path: Path,
  schema: Schema,
  handle: (body: z.output<Schema>) => Promise<AdminAnswer>,
  ...[terms]: TermsOf<Path>
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
  handle: (asked: z.output<Schema>) => Promise<AdminAnswer>,
): Promise<AdminAnswer> {
  const parsed = schema.safeParse(asked);
  if (parsed.success) return handle(parsed.data);
  return refuse(400, explainIssues(parsed.error, whole));
}

/** A sentence for each field; `whole`: names a mistake that is no field's. */
export function explainIssues({ issues }: z.ZodError, whole: 'query' | 'body'): string {
  return issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`).join('; ');
}

export function refuse(status: number, error: string): AdminRefusal {
  return new AdminRefusal(status, error);
}

/** Of an entry that cannot be in a registry. */
export function refuseEntry({ field, reason }: FieldError): AdminRefusal {
  return refuse(400, `${field} ${reason}`);
}

export function missingEntry({ kind, id }: MissingEntry): AdminRefusal {
  const shown = kind === 'webhook' ? maskUrlsIn(id) : id;
  return refuse(404, `no ${kind} ${JSON.stringify(shown)} in the registry`);
}

/** `bodyOf`: the answer where the entry is there. */
export function answerEntry<Entry>(
  outcome: Result<Entry, MissingEntry>,
  bodyOf: (entry: Entry) => object,
): AdminAnswer {
  return outcome.ok ? bodyOf(outcome.value) : missingEntry(outcome.error);
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
export function intentOf({ operator, from }: OpsCaller, { action }: AuditTerms, asked: unknown): AuditIntent {
  const ids = Object.fromEntries(auditIds.map((name) => [name, valueAt(asked, name)]));
  return { operator: operator.name, role: operator.role, from, action, ids };
}

/** The outcome of a change from its answer. */
export function outcomeOf(answer: AdminAnswer, { answered = {} }: AuditTerms): AuditOutcome {
  if (answer instanceof AdminRefusal)
    return { result: answer.status >= 500 ? 'failed' : 'refused', reason: answer.error };
  const places = Object.entries(answered);
  return {
    result: 'ok',
    ids: Object.fromEntries(places.map(([name, place]) => [name, valueAt(answer, place)])),
  };
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
