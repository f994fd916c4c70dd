/**
 * Checks of the machine by values that are cheap to read, used by the doctor before a start, and by a running server for its alarms.
 */
import { existsSync, readFileSync } from 'node:fs';
import { listenSockets } from '../../edge/sleep-sockets.ts';
import { acceptBacklog, hasReusePort, readAcceptQueueMax } from '../../lib/accept-queue.ts';
import { isLoopback } from '../../lib/connections/listen-address.ts';
import { boundSessions, readOpenFilesLimit } from '../../lib/open-files-limit.ts';
import { descriptorsReserved, frontEndReadBytes } from '../../model/limits.ts';
import { readAddressSpaceLimit } from '../../storage/lmdb/map-room.ts';
import type { Settings } from '../config/settings-schema.ts';
import { failing, inMegabytes, ok, warn, type Finding } from './finding.ts';

export type Machine = Readonly<ReturnType<typeof thisMachine>>;

/** Values of a machine that the checks use. Null: unknown on this system. */
export function thisMachine() {
  return {
    nodeVersion: process.versions.node,
    // Soft limit of open files.
    openFilesMax: readOpenFilesLimit(),
    // Maximum receive buffer of a TCP connection, bytes.
    receiveBufferMax: readReceiveBufferMax(),
    // Maximum accept queue of a listening socket.
    acceptQueueMax: readAcceptQueueMax(),
    // True: the kernel moves pending connections of a closing socket to another one on its port.
    migratesConnections: readMigration(),
    // Bytes.
    addressSpaceMax: readAddressSpaceLimit(),
  };
}

export function checkMachineLimits(settings: Settings, nowMs: number, machine: Machine): Finding[] {
  return [
    checkClock(nowMs),
    checkOpenFiles(settings.sleep.max_sessions, machine.openFilesMax),
    ...checkAddressSpace(machine.addressSpaceMax),
    ...checkReceiveBuffers(settings, machine.receiveBufferMax),
    ...checkAcceptQueue(settings, machine),
    ...checkMigration(settings, machine.migratesConnections),
  ];
}

/** An earlier clock is wrong: this release is newer. */
const releasedMs = Date.UTC(2026, 0);

/** Signatures have dates: with a wrong clock every request is refused. */
function checkClock(nowMs: number): Finding {
  const found = new Date(nowMs).toISOString();
  return nowMs < releasedMs
    ? failing('clock', `${found} is in the past`, 'set the clock and keep it by NTP: requests are dated')
    : ok('clock', found);
}

/** `wanted`: from the settings. */
function checkOpenFiles(wanted: number, limit: number): Finding {
  const bounded = boundSessions(wanted, limit, descriptorsReserved);
  const found = `the limit of ${limit} leaves room for ${bounded} sleep sessions`;
  if (bounded >= wanted) return ok('open files', found);
  const advice = `sleep.max_sessions is ${wanted}: ulimit -n ${wanted + descriptorsReserved}, or LimitNOFILE in its unit`;
  return bounded === 0 ? failing('open files', found, advice) : warn('open files', found, advice);
}

/** The store's memory map grows with it, and needs address space more than memory. */
function checkAddressSpace(limitBytes: number): Finding[] {
  if (limitBytes === Infinity) return [];
  const found = `limited to ${inMegabytes(limitBytes)}: a store of that size refuses writes`;
  return [warn('address space', found, 'LimitAS and ulimit -v unlimited')];
}

const receiveBuffersFile = '/proc/sys/net/ipv4/tcp_rmem';
const receiveBuffersAdvice = "sysctl -w net.ipv4.tcp_rmem='4096 131072 393216', and in /etc/sysctl.d";

function readReceiveBufferMax(): number | null {
  if (!existsSync(receiveBuffersFile)) return null;
  return Number(readFileSync(receiveBuffersFile, 'latin1').trim().split(/\s+/).at(-1));
}

/** The HTTP library reads a socket as long as its reads are full, so the buffer bounds its turn. See docs/adr/0022. */
function checkReceiveBuffers({ api }: Pick<Settings, 'api'>, bytes: number | null): Finding[] {
  if (bytes === null || isLoopback(api.listen)) return [];
  const check = 'receive buffers';
  const found = `a connection may buffer ${bytes} bytes`;
  if (bytes < frontEndReadBytes) return [ok(check, found)];
  const risk = `${found}: one peer with some Gbit/s can hold the API for seconds`;
  return [warn(check, risk, receiveBuffersAdvice)];
}

/** Connections beyond the accept queue are lost silently: with SYN cookies the kernel completes the handshake, unknown to the server. */
function checkAcceptQueue(
  { sleep }: Pick<Settings, 'sleep'>,
  { nodeVersion, acceptQueueMax }: Machine,
): Finding[] {
  if (acceptQueueMax === null || isLoopback(sleep.listen)) return [];
  const check = 'accept queue';
  const sockets = hasReusePort(nodeVersion) ? listenSockets(acceptQueueMax) : 1;
  const found = `the accept queues hold ${sockets * acceptQueueMax} modules`;
  if (sockets * acceptQueueMax >= acceptBacklog) return [ok(check, found)];
  const risk = `${found}: in a storm of logins, further modules may get no session key`;
  return [warn(check, risk, `sysctl -w net.core.somaxconn=${acceptBacklog}, and in /etc/sysctl.d`)];
}

const migrationFile = '/proc/sys/net/ipv4/tcp_migrate_req';

function readMigration(): boolean | null {
  return existsSync(migrationFile) ? readFileSync(migrationFile, 'latin1').trim() === '1' : null;
}

/** During an upgrade two cores share the port of the API, and fronts always do. */
function checkMigration(
  { api, sleep }: Pick<Settings, 'api' | 'sleep'>,
  migrates: boolean | null,
): Finding[] {
  if (migrates === null || isLoopback(api.listen) || sleep.edges + api.fronts === 0) return [];
  const check = 'new connections at an upgrade';
  if (migrates) return [ok(check, 'the kernel gives them to the new core')];
  const risk = 'the kernel resets those of the API that the old core has not accepted';
  return [warn(check, risk, 'sysctl -w net.ipv4.tcp_migrate_req=1, and in /etc/sysctl.d')];
}
