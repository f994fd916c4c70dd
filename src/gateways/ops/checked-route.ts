/** An administrative route whose query or body has a schema, and the answers that several of them give. */
import type { z } from 'zod';
import type { AdminReply, AuditTerms, ChangeRoute, ReadRoute } from './admin-route.ts';
import { StoreOpenError } from '../../storage/lmdb/store-open-error.ts';
import type { MissingEntry } from '../../storage/registry/registry-write.ts';

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

/** A change; a body that is not of this schema is 400 and names the field. */
export function changeRoute<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
  audit: AuditTerms,
  handle: (body: z.output<Schema>) => Promise<AdminReply>,
): ChangeRoute {
  return {
    method: 'POST',
    path,
    audit,
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
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || whole}: ${issue.message}`);
  return { status: 400, body: { error: problems.join('; ') } };
}

export function missingEntry({ kind, id }: MissingEntry): AdminReply {
  return { status: 404, body: { error: `no ${kind} ${JSON.stringify(id)} in the registry` } };
}

/** A file that cannot be changed is for the operator to mend, who is told what is wrong with it. */
export async function orWhyNot(change: () => Promise<AdminReply>): Promise<AdminReply> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof StoreOpenError) return { status: 500, body: { error: error.message } };
    throw error;
  }
}
