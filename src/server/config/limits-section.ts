/** Limits: API calls of applications, logins of devices, and devices of an application. Source: decisions.md, Limits. */
import { deviceLoginsBurst } from '../../core/devices/login-rates.ts';
import { rate, section, setting, wholeNumber } from '../../model/settings-values.ts';

function perSecond(what: string) {
  const description = `${what} per second of one application, with a burst of 2 seconds; nothing: no limit.`;
  return setting(rate.nullable(), null, description);
}

/**
 * API rate limits of one application by kind of request. Default: off. Deployments shared by several applications set them, so that none
 * slows down another.
 */
export const limitsSection = section({
  devices_max: setting(
    wholeNumber(1, 1_000_000_000).nullable(),
    null,
    "Maximum devices of one application's products; the API adds none beyond it. Nothing: no limit.",
  ),
  device_logins_per_second: setting(
    rate,
    1,
    `Logins per second of one device at one port, after a burst of ${deviceLoginsBurst}; more are refused as busy.`,
  ),
  queries_per_second: perSecond(
    'Queries (connectivity, counted for each device of a batch; call status; wakeup outcome)',
  ),
  issuances_per_second: perSecond('Issuances of call credentials, and separately ends of calls,'),
  messages_per_second: perSecond('Messages to devices'),
  event_reads_per_second: perSecond('Reads of the event log'),
  provisionings_per_second: perSecond('Requests that list or change devices of the registry'),
});
