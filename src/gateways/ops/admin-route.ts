/**
 * The type of an administrative route: its declaration, the validation of its query or body, and its audit terms.
 * The ops listener runs it.
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
import { z } from 'zod';
import type { Result } from '../../lib/result.ts';
import { maskUrlsIn } from '../../model/registry.ts';
import type { FieldError } from '../../storage/registry/entry-reader.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';

export interface AdminRequest {
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly operator: string;
  /** Aborted when the caller hangs up before the answer is complete. */
  readonly gone: AbortSignal;
}

export class AdminRefusal {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string) {
    this.status = status;
    this.error = error;
  }
}

/** Any other object is a success, sent as JSON. */
export type AdminAnswer = object | AdminRefusal;

/** The fields of a change that go into the audit log, besides the ids in its body, or in the query of an upload. */
export interface AuditTerms {
  readonly action: AuditAction;
  /** Values taken from the answer, by their path: `credential.access_key_id`. */
  readonly answered?: Readonly<Partial<Record<AuditId, string>>>;
}

interface BaseRoute {
  readonly path: string;
  handle(request: AdminRequest): Promise<AdminAnswer>;
}

/** Changes nothing, so that viewers may call it. */
export interface ReadRoute extends BaseRoute {
  readonly method: 'GET';
}

export interface ChangeRoute extends BaseRoute {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly audit: AuditTerms;
}

export type AdminRoute = ReadRoute | ChangeRoute;

/** A route that accepts a body of any size up to the limit, and reports its progress line by line. */
export interface UploadRoute {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly audit: AuditTerms;
  /**
   * `spoolFile` holds the whole body and is deleted at the end. `gone` is aborted when the caller hangs up; remaining work is then
   * skipped.
   */
  upload(request: Pick<AdminRequest, 'query'>, spoolFile: string, gone: AbortSignal): Upload;
}

export interface Upload {
  /** Each is sent as a line of JSON. A hang-up ends the iteration. */
  readonly lines: AsyncIterable<unknown>;
  /** The result, sent as the last line; it resolves even if the caller has hung up. */
  readonly ended: Promise<AdminAnswer>;
}

/** Serves the data directory with its secrets, only to the holder of `ops.token`, who can read that directory anyway. */
export interface DirectoryRoute {
  readonly method: 'GET';
  readonly path: string;
  open(request: Pick<AdminRequest, 'query'>): Promise<AdminRefusal | DirectoryContent>;
}

export interface DirectoryContent {
  readonly pieces: Readable;
  readonly headers: Readonly<Record<string, string>>;
}

/** A read. A query that does not match the schema is 400 and names the field. A repeated key has a list of values. */
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

/** `action`: required if the path does not determine it. */
type TermsOf<Path> =
  ActionOf<Path> extends AuditAction
    ? [Pick<AuditTerms, 'answered'>?]
    : [AuditTerms & { action: AuditAction }];

/** A change. A body that does not match the schema is 400 and names the field. */
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

/** A text that `parse` accepts; `form` describes it. */
export function parsedField<Id extends string>(parse: (text: string) => Id | null, form: string) {
  return z.string().transform((text, context): Id => {
    const parsed = parse(text);
    if (parsed === null) context.addIssue(form);
    return parsed ?? z.NEVER;
  });
}

/** One sentence per field; `whole` names an issue that belongs to no field. */
export function explainIssues({ issues }: z.ZodError, whole: 'query' | 'body'): string {
  return issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`).join('; ');
}

export function refuse(status: number, error: string): AdminRefusal {
  return new AdminRefusal(status, error);
}

export function refuseEntry({ field, reason }: FieldError): AdminRefusal {
  return refuse(400, `${field} ${reason}`);
}

export function missingEntry({ kind, id }: MissingEntry): AdminRefusal {
  const shown = kind === 'webhook' ? maskUrlsIn(id) : id;
  return refuse(404, `no ${kind} ${JSON.stringify(shown)} in the registry`);
}

/** `bodyOf`: the answer if the entry exists. */
export function answerEntry<Entry>(
  outcome: Result<Entry, MissingEntry>,
  bodyOf: (entry: Entry) => object,
): AdminAnswer {
  return outcome.ok ? bodyOf(outcome.value) : missingEntry(outcome.error);
}

export interface OpsCaller {
  readonly operator: Operator;
  readonly from: string;
  /** False once the token is revoked. */
  readonly isAdmitted: () => boolean;
}

/** The audit intent of a request. `asked`: the body, or the query of an upload. */
export function intentOf({ operator, from }: OpsCaller, { action }: AuditTerms, asked: unknown): AuditIntent {
  const ids = Object.fromEntries(auditIds.map((name) => [name, valueAt(asked, name)]));
  return { operator: operator.name, role: operator.role, from, action, ids };
}

export function outcomeOf(answer: AdminAnswer, { answered = {} }: AuditTerms): AuditOutcome {
  if (answer instanceof AdminRefusal)
    return { result: answer.status >= 500 ? 'failed' : 'refused', reason: answer.error };
  const places = Object.entries(answered);
  return {
    result: 'ok',
    ids: Object.fromEntries(places.map(([name, place]) => [name, valueAt(answer, place)])),
  };
}

/** `place`: keys separated by dots. Undefined: not found. */
function valueAt(body: unknown, place: string): unknown {
  let value = body;
  for (const key of place.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
