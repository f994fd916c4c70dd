/** Limits of the calls of applications, of the logins of devices, and of the devices of an application. Source: decisions.md, Limits. */
import { deviceLoginsBurst } from '../../core/devices/login-rates.ts';
import { rate, section, setting, wholeNumber } from '../../model/settings-values.ts';

function perSecond(what: string) {
  const description = `${what} per second of one application, and as many at once as come in 2 seconds; nothing: no limit.`;
  return setting(rate.nullable(), null, description);
}

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
  queries_per_second: perSecond(
    'Queries (connectivity, one for each device of a batch, call status, outcome of a wakeup)',
  ),
  issuances_per_second: perSecond(
    'Issuances of call credentials, and counted apart from them ends of calls,',
  ),
  messages_per_second: perSecond('Messages to devices'),
  event_reads_per_second: perSecond('Reads of the event log'),
  provisionings_per_second: perSecond('Requests that list or change devices of the registry'),
});
