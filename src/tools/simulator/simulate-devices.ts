/**
 * A simulation over real sockets, and its options: of whole devices, which come online, sleep, are woken by chance and
 * come online again, or of sleeping modules alone, as a load on the sleep server.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Clock } from '../../lib/clock.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import { findApi, openApi } from '../../cli/api/api-access.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { findCredential, type CredentialOptions } from '../../cli/api/credential-source.ts';
import { openEndpoints, type DeviceEndpointsOptions } from './device-connections.ts';
import { DeviceFleet } from './device-fleet.ts';
import { RandomWaker } from './random-waker.ts';
import { moduleAlone, wholeDevice, type DeviceLife } from './simulated-device.ts';
import type { SimulatedDevice, DeviceChoice } from './simulated-devices.ts';
import { wakeAndWait } from '../../cli/api/wakeup-outcome.ts';
import { FleetReport } from './fleet-report.ts';
import { findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import { findSleepServer, localTrust, type SleepServer } from './server-urls.ts';
import { listenerAddress } from '../../cli/admin/running-server.ts';
import type { WakeMode } from '../../model/sleep.ts';

/** `signalUrl`: null: modules alone. Throws a usage error. */
export async function openSimulation(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
  signalUrl: string | null,
): Promise<Simulation> {
  const { clock } = context;
  const { onlineFor, bootMs, ramp: rampPerSecond, wakeEvery, signal } = options;
  const hasControllers = signalUrl !== null;
  const trust = findTrust(context, options);
  const sleep = findSleepServer(context, options, trust);
  const life = hasControllers ? wholeDevice : lifeOfModule(context, options, sleep);
  const api = wakeEvery === undefined ? null : await openApiOf(context, options, devices, trust);
  const endpoints: DeviceEndpointsOptions = {
    signalUrl,
    signalTls: (signal === undefined ? localTrust(context, 'signal', trust) : null) ?? trust,
    sleep,
    wakeMode: options.wakeMode,
    heartbeatSeconds: options.heartbeat,
    devices: devices.length,
    onMessage: () => (fleet.tally.messages += 1),
  };
  const fleet: DeviceFleet = new DeviceFleet(
    devices,
    { life, onlineMs: onlineFor * 1000, bootMs, rampPerSecond },
    {
      clock,
      random: () => Math.random(),
      endpointsOf: (device, number) => openEndpoints(endpoints, device, number),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onAwake: (deviceId, tookMs) => report.awake(deviceId, tookMs),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  const { tally } = fleet;
  const report = new FleetReport(context, tally, api !== null);
  const waker = api === null ? null : newWaker(api, clock, fleet, report);
  return {
    hasSucceeded: () => tally.refused === 0 && (hasControllers ? tally.logins : tally.sleepLogins) > 0,
    start: () => {
      fleet.start();
      if (wakeEvery !== undefined) waker?.start(wakeEvery * 1000);
    },
    progress: () => report.progress(),
    summary: () => report.summary(),
    stop: () => {
      waker?.stop();
      api?.close();
      fleet.stop();
    },
  };
}

/** How often a module sends that nobody advised. */
const heartbeatSecondsUsual = 50;

function lifeOfModule(
  context: CommandContext,
  { heartbeat = heartbeatSecondsUsual }: SimulateOptions,
  { address = listenerAddress(context, 'sleep') }: SleepServer,
): DeviceLife {
  return moduleAlone(address, heartbeat);
}

/** All devices are taken to be of one application. */
async function openApiOf(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
  trust: ConnectionOptions | undefined,
): Promise<ReveilleClient> {
  const need = { permissions: ['wakeup:write'], deviceId: devices[0]?.deviceId ?? null } as const;
  const credential = await findCredential(context, options, need);
  return openApi(findApi(context, options.url), credential, context.clock, trust);
}

function newWaker(api: ReveilleClient, clock: Clock, fleet: DeviceFleet, report: FleetReport): RandomWaker {
  return new RandomWaker({
    clock,
    pick: () => fleet.pickAsleep(),
    wake: (deviceId) => wakeAndWait(api, clock, deviceId),
    onOutcome: (outcome) => report.outcome(outcome),
    onTrouble: (deviceId, error) => report.trouble(deviceId, error),
  });
}

export interface SimulateOptions extends DeviceChoice, CredentialOptions, TrustOptions {
  readonly server?: string;
  readonly signal?: string;
  readonly onlySleep?: boolean;
  readonly wakeMode: WakeMode;
  /** Seconds, as are the durations below and what the ramp is per; as the server advises when left out. */
  readonly heartbeat?: number;
  readonly onlineFor: number;
  readonly bootMs: number;
  readonly wakeEvery?: number;
  readonly url?: string;
  readonly duration?: number;
  readonly ramp: number;
}

export interface Simulation {
  /** Somebody has logged in, and nobody was refused. */
  hasSucceeded(): boolean;
  start(): void;
  /** Once a second. */
  progress(): void;
  summary(): void;
  stop(): void;
}
