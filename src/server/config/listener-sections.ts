/**
 * The settings of the API and of the ops listener. Those of the listeners for devices stand with them. Source: running.md;
 * what it leaves open is chosen here.
 */
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
  listen: setting(listenAddress, '127.0.0.1:8080', 'Where the signed REST API listens.'),
  connections_max: setting(
    wholeNumber(1, 1_000_000),
    10_000,
    'Connections at once; the limit of open files and the sessions of devices may lower it, to 256 at the least. A full listener closes the oldest silent connection of the address with the most for a newcomer.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 1_000_000),
    1000,
    'Once half of the connections are taken: connections of one address (IPv6: one /64) that arrived in the last 12 s and have proved no signature, at most a quarter of all. An address that has proved none takes at most a sixteenth of the places left, and an eighth of all is reserved for the others. Beyond it the oldest silent connection of the address yields, else the newcomer is closed. 0, as it must be behind a proxy: no bound by address.',
  ),
  ...tlsSettings,
}).superRefine(pairedTlsFiles);

export const opsSection = section({
  listen: setting(
    listenAddress,
    '127.0.0.1:8090',
    'Where probes, metrics and administration listen; never public.',
  ),
  hosts: setting(
    textList('a list of host names'),
    [],
    'Names by which administration may be asked beside the loopback ones and the host listened on.',
  ),
  console: setting(
    onOff,
    true,
    'Whether the listener has the console, a page for operators, at /console, and the figures of the last hour.',
  ),
  connections_max: setting(
    wholeNumber(1, 10_000),
    opsConnectionsReserved,
    'Connections at once; 64 of them are there whatever the other listeners hold.',
  ),
  connections_per_address_max: setting(
    wholeNumber(0, 10_000),
    32,
    'Connections of one address (IPv6: one /64) that have shown no token: one more closes the oldest of them. 0: no such bound, as it must be behind a proxy. While half of the connections are taken, each answer ends its connection.',
  ),
});
