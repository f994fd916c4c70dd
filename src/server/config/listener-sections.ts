/**
 * Settings of the API and of the ops listener. Device listeners have their settings in their own folders. Source: running.md; this file
 * chooses the rest.
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
    'Threads that receive and check requests, each with a share of connections_max. 0: the main thread does, with verification as in auth.verification.',
  ),
  connections_max: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    'Maximum connections. The open file limit and the sessions of devices may lower it, to no less than 256. When full, the oldest idle connection of the busiest address is closed.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Maximum connections of one address (IPv6: one /64), opened in the last 12 s without a valid signature, at most a quarter of all; enforced once half of all connections are in use. When exceeded, the oldest idle one is closed, otherwise the new one. 0: no limit; required behind a proxy.',
  ),
  ...tlsSettings,
}).superRefine(pairedTlsFiles);

export const opsSection = section({
  listen: setting(
    listenAddress,
    '127.0.0.1:8090',
    'Listening address of probes, metrics and administration. Do not make it public.',
  ),
  hosts: setting(
    textList('a list of host names'),
    [],
    'Host names accepted in requests, besides loopback and the listening host.',
  ),
  console: setting(
    onOff,
    true,
    'Enables the console, a page for operators at /console, and the figures of the last hour.',
  ),
  connections_max: setting(
    wholeNumber(1, 10_000),
    opsConnectionsReserved,
    'Maximum connections; descriptors for 64 are reserved.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 10_000),
    32,
    'Maximum connections of one address (IPv6: one /64) without a valid token; one more closes the oldest. 0: no limit; required behind a proxy.',
  ),
});
