/**
 * How often one application may call the API, by what it asks for. Off until it is set: a deployment that is shared
 * by several applications sets it so that none is slowed down by another.
 */
import type { z } from 'zod';
import { section, setting } from './settings-section.ts';
import { burst, rate } from './settings-values.ts';

function perSecond(what: string) {
  return setting(rate.nullable(), null, `${what} per second of one application; nothing: as many as come.`);
}

function atOnce(what: string) {
  const description = `${what} of one application at once after a quiet time; nothing: 2 seconds of the rate.`;
  return setting(burst.nullable(), null, description);
}

const queries = 'Queries (connectivity, call status, outcome of a wakeup)';
const issuances = 'Issuances of call credentials';
const messages = 'Messages to devices';
const eventReads = 'Reads of the event log';

export const limitsSection = section({
  queries_per_second: perSecond(queries),
  queries_burst: atOnce(queries),
  issuances_per_second: perSecond(issuances),
  issuances_burst: atOnce(issuances),
  messages_per_second: perSecond(messages),
  messages_burst: atOnce(messages),
  event_reads_per_second: perSecond(eventReads),
  event_reads_burst: atOnce(eventReads),
}).superRefine(burstsOfRates);

const kinds = ['queries', 'issuances', 'messages', 'event_reads'] as const;

type Limits = Readonly<
  Record<`${(typeof kinds)[number]}_per_second` | `${(typeof kinds)[number]}_burst`, number | null>
>;

/** A burst alone would limit nothing, and look as if it did. */
function burstsOfRates(given: Limits, context: z.core.$RefinementCtx): void {
  for (const kind of kinds)
    if (given[`${kind}_burst`] !== null && given[`${kind}_per_second`] === null)
      context.addIssue({
        code: 'custom',
        path: [`${kind}_per_second`],
        input: null,
        message: `a number, since limits.${kind}_burst is given`,
      });
}
