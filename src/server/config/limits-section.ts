/** Limits of the calls of applications, of the logins of devices, and of the devices of an application. Source: decisions.md, Limits. */
import type { z } from 'zod';
import { deviceLoginsBurst } from '../../core/devices/login-rates.ts';
import { burst, rate, section, setting, wholeNumber } from '../../model/settings-values.ts';

function perSecond(what: string) {
  return setting(rate.nullable(), null, `${what} per second of one application; nothing: no limit.`);
}

function atOnce(what: string) {
  const description = `${what} at once after a quiet time; nothing: 2 seconds of the rate.`;
  return setting(burst.nullable(), null, description);
}

const queries = 'Queries (connectivity, one for each device of a batch, call status, outcome of a wakeup)';
const issuances = 'Issuances of call credentials, and apart from them ends of calls,';
const messages = 'Messages to devices';
const eventReads = 'Reads of the event log';
const provisionings = 'Requests that list or change devices';

/**
 * Rates at which one application may call the API, by what it asks for. Off until it is set: a deployment that is shared by
 * several applications sets it so that none is slowed down by another.
 */
export const limitsSection = section({
  devices_max: setting(
    wholeNumber(1, 1_000_000_000).nullable(),
    null,
    "Devices of one application's products, beyond which the API adds none; nothing: no limit.",
  ),
  device_logins_per_second: setting(
    rate,
    1,
    `Logins per second of one device at one port, after ${deviceLoginsBurst} at once; beyond it they are refused as busy.`,
  ),
  queries_per_second: perSecond(queries),
  queries_burst: atOnce(queries),
  issuances_per_second: perSecond(issuances),
  issuances_burst: atOnce(issuances),
  messages_per_second: perSecond(messages),
  messages_burst: atOnce(messages),
  event_reads_per_second: perSecond(eventReads),
  event_reads_burst: atOnce(eventReads),
  provisionings_per_second: perSecond(provisionings),
  provisionings_burst: atOnce(provisionings),
}).superRefine(burstsOfRates);

const kinds = ['queries', 'issuances', 'messages', 'event_reads', 'provisionings'] as const;

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
