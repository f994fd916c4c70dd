/** An administrative route whose query or body has a schema, and the answers that several of them give. */
import type { z } from 'zod';
import type { AdminReply, AdminRequest, AdminRoute } from '../ops/admin-route.ts';
import type { MissingEntry } from '../store/registry-write.ts';

/** The query of a GET, the body of a POST; what is not of this schema is 400 and names the field. */
export function checkedRoute<Schema extends z.ZodType>(
  method: 'GET' | 'POST',
  path: string,
  schema: Schema,
  handle: (asked: z.output<Schema>) => Promise<AdminReply>,
): AdminRoute {
  return {
    method,
    path,
    async handle({ query, body }: AdminRequest) {
      const whole = method === 'GET' ? 'query' : 'body';
      const parsed = schema.safeParse(method === 'GET' ? Object.fromEntries(query) : body);
      if (parsed.success) return handle(parsed.data);
      const problems = parsed.error.issues.map(
        (issue) => `${issue.path.join('.') || whole}: ${issue.message}`,
      );
      return { status: 400, body: { error: problems.join('; ') } };
    },
  };
}

export function missingEntry({ kind, id }: MissingEntry): AdminReply {
  return { status: 404, body: { error: `no ${kind} ${JSON.stringify(id)} in the registry` } };
}
