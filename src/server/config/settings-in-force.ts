/**
 * Values in force that differ from the configured ones, with the reason: a limit of the machine, another setting, or several nodes that
 * share the value.
 */
import { availableParallelism, hostname } from 'node:os';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import {
  apiConnectionsReserved,
  descriptorsReserved,
  handshakeSocketsReserved,
  httpPoolShareMax,
  opsConnectionsReserved,
} from '../../model/limits.ts';
import { tokenKeyFileOf } from '../../storage/keys/token-key-file.ts';
import { frontCount, mediaThreads, verifierThreads, wakeupLimitSettings } from './derived-settings.ts';
import type { Settings } from './settings-schema.ts';

export interface InForce {
  readonly value: unknown;
  readonly reason: string;
}

export type Surroundings = Readonly<ReturnType<typeof surroundings>>;

/** `openFilesMax`: of a process. `sharers`: nodes that share the rate limits of an application; at least 1. */
export function surroundings(sharers = 1) {
  return { openFilesMax: readOpenFilesLimit(), processors: availableParallelism(), sharers };
}

type Entry = [name: string, inForce: InForce];

/** By `section.key`; only settings whose value in force differs from `settings`. */
export function findInForce(settings: Settings, around: Surroundings): ReadonlyMap<string, InForce> {
  return new Map([
    ...boundByFiles(settings, around),
    ...threadsOf(settings, around),
    ...ratesOf(settings, around),
    ...namesOf(settings),
  ]);
}

/** The open file limit, less the reserved descriptors, bounds everything that holds a socket. */
function boundByFiles(settings: Settings, { openFilesMax }: Surroundings): Entry[] {
  const room = boundSessions(Infinity, openFilesMax, descriptorsReserved);
  const pool = Math.floor(room * httpPoolShareMax);
  // Each edge is a process with its own limit.
  const sleepRoom = room * Math.max(1, settings.sleep.edges);
  const media = settings.media.process === 'child' ? room : Infinity;
  const bounds = {
    'api.connections_max': apiConnectionsReserved + pool,
    'ops.connections_max': opsConnectionsReserved + pool,
    'sleep.max_sessions': sleepRoom,
    'sleep.handshakes_max': sleepRoom,
    'signal.max_sessions': Math.max(0, room - handshakeSocketsReserved),
    'signal.handshakes_max': room + handshakeSocketsReserved,
    'media.legs_max': media,
    'media.handshakes_max': media,
    'media.rtc_peers_max': media,
  };
  const reason = `the limit of open files is ${openFilesMax}, and ${descriptorsReserved} are kept for other work`;
  return Object.entries(bounds).flatMap(([name, value]): Entry[] =>
    value < Number(valueOf(settings, name)) ? [[name, { value, reason }]] : [],
  );
}

/** 0: derived from the number of CPUs. */
function threadsOf(settings: Settings, { processors }: Surroundings): Entry[] {
  const { api, auth, media } = settings;
  const entries: Entry[] = [];
  const fronts = frontCount(settings);
  if (fronts < api.fronts)
    entries.push([
      'api.fronts',
      { value: fronts, reason: 'this system does not balance a port over several fronts' },
    ]);
  if (fronts > 0 && auth.verification === 'pool')
    entries.push(['auth.verification', { value: 'inline', reason: 'each of api.fronts verifies by itself' }]);
  const reason = `0: one less than the ${processors} CPUs`;
  if (auth.threads === 0 && auth.verification === 'pool' && fronts === 0)
    entries.push(['auth.threads', { value: verifierThreads(settings, processors), reason }]);
  if (media.workers === 0 && media.process === 'child') {
    const shared = media.processes > 1 ? `${reason}, shared by ${media.processes} media processes` : reason;
    entries.push(['media.workers', { value: mediaThreads(settings, processors), reason: shared }]);
  }
  return entries;
}

/** Rate limits of an application, divided among the nodes. */
const sharedRates = [
  'wakeup.application_per_second',
  'limits.queries_per_second',
  'limits.issuances_per_second',
  'limits.messages_per_second',
  'limits.event_reads_per_second',
  'limits.provisionings_per_second',
];

/** Default bursts follow from the rates, and nodes share the limits of an application. */
function ratesOf(settings: Settings, { sharers }: Surroundings): Entry[] {
  const { wakeup } = settings;
  const { device, application } = wakeupLimitSettings(settings);
  const fromRate = 'default: seconds of its rate';
  const reason = `shared by ${sharers} nodes`;
  const entries: Entry[] = [];
  if (wakeup.device_burst === null)
    entries.push(['wakeup.device_burst', { value: device.burst, reason: fromRate }]);
  if (wakeup.application_burst === null || sharers > 1) {
    const value = Math.max(1, application.burst / sharers);
    const cause = wakeup.application_burst === null ? fromRate : reason;
    entries.push(['wakeup.application_burst', { value, reason: cause }]);
  }
  for (const name of sharers > 1 ? sharedRates : []) {
    const rate = valueOf(settings, name);
    if (rate !== null) entries.push([name, { value: Number(rate) / sharers, reason }]);
  }
  return entries;
}

function namesOf(settings: Settings): Entry[] {
  const names: Entry[] = [
    ['cluster.node_name', { value: hostname(), reason: 'the host name' }],
    ['calls.token_keys_file', { value: tokenKeyFileOf(settings).path, reason: 'in the data directory' }],
  ];
  return names.filter(([name]) => valueOf(settings, name) === null);
}

function valueOf(settings: Settings, name: string): unknown {
  const [section = '', key = ''] = name.split('.');
  return (settings as unknown as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[section]?.[key];
}
