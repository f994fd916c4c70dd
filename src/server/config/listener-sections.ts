/**
 * The settings of the API and of the ops listener. Those of the listeners for devices stand with them. Source: running.md;
 * what it leaves open is chosen here.
 */
import { frontsMax } from '../../model/http-limits.ts';
import { opsConnectionsReserved } from '../../model/limits.ts';
import {
  setting,
  section,
  listenAddress,
  textList,
  wholeNumber,
  pairedTlsFiles,
  tlsSettings,
  onOff,
} from '../../model/settings-values.ts';

export const apiSection = section({
  listen: setting(listenAddress, '127.0.0.1:8080', 'Listening address of the signed REST API.'),
  fronts: setting(
    wholeNumber(0, frontsMax),
    0,
    'Threads that take requests and check them, each with a share of connections_max; 0: the main thread does, and auth.verification says where.',
  ),
  connections_max: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    'Connections at once; the limit of open files and the sessions of devices may lower it, to 256 at the least. Beyond it the oldest silent connection of the address with the most yields.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Once half of the connections are taken: connections of one address (IPv6: one /64) of the last 12 s without a valid signature, at most a quarter of all. Beyond it the oldest silent one yields, else the newcomer is closed. 0, as it must be behind a proxy: no such bound.',
  ),
  ...tlsSettings,
}).superRefine(pairedTlsFiles);

export const opsSection = section({
  listen: setting(
    listenAddress,
    '127.0.0.1:8090',
    'Listening address of probes, metrics and administration; never public.',
  ),
  hosts: setting(
    textList('a list of host names'),
    [],
    'Names by which the listener may be addressed, beyond loopback and the host listened on.',
  ),
  console: setting(
    onOff,
    true,
    'The console, a page for operators at /console, and the figures of the last hour.',
  ),
  connections_max: setting(
    wholeNumber(1, 10_000),
    opsConnectionsReserved,
    'Connections at once; 64 of them are reserved.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 10_000),
    32,
    'Connections of one address (IPv6: one /64) that have shown no token; one more closes the oldest. 0, as it must be behind a proxy: no such bound.',
  ),
});
