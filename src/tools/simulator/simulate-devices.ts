/**
 * Simulates devices over real sockets: whole devices, which log in, sleep, are woken at random and log in again, or sleeping
 * modules alone, as a load on the sleep server.
 */
import type { ConnectionOptions } from 'node:tls';
import type { ReveilleClient, WakeupOutcomeData } from '../../client/reveille-client.ts';
import { findApi, openApi } from '../../cli/api/api-access.ts';
import { pauseUnless, untilInterrupted, type CommandContext } from '../../cli/shell/command-context.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { findCredential, type CredentialOptions } from '../../cli/api/credential-source.ts';
import { openEndpoints, type DeviceEndpointsOptions } from './device-connections.ts';
import { DeviceFleet } from './device-fleet.ts';
import { moduleAlone, wholeDevice, type DeviceLife } from './simulated-device.ts';
import { chooseDevices, type SimulatedDevice, type DeviceChoice } from './simulated-devices.ts';
import { wakeAndWait } from '../../cli/api/wakeup-outcome.ts';
import { FleetReport } from './fleet-report.ts';
import { findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import { findSignalUrl, findSleepServer, localTrust, type SleepServer } from './server-urls.ts';
import { listenerAddress } from '../../cli/admin/running-server.ts';
import type { WakeMode } from '../../model/sleep.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';

const reportEveryMs = 1000;

/** Exits 1 if no login succeeded, or one was refused. */
export async function simulateDevices(context: CommandContext, options: SimulateOptions): Promise<void> {
  const { clock } = context;
  const { onlineFor, bootMs, ramp: rampPerSecond, wakeEvery, signal, duration = Infinity } = options;
  const signalUrl = options.onlySleep === true ? null : findSignalUrl(context, options);
  if (signalUrl === null && wakeEvery !== undefined)
    throw usageError('--wake-every requires controllers', 'name their listener with --signal');
  const devices = await chooseDevices(context, options);
  if (signalUrl === null && options.onlySleep !== true)
    context.output.remark(
      'no signal listener is known (--signal): playing modules only, without controllers',
    );
  const trust = findTrust(context, options);
  const sleep = findSleepServer(context, options, trust);
  const life = signalUrl === null ? lifeOfModule(context, options, sleep) : wholeDevice;
  const api = wakeEvery === undefined ? null : await openApiOf(context, options, devices, trust);
  const endpoints: DeviceEndpointsOptions = {
    signalUrl,
    signalTls: (signal === undefined ? localTrust(context, 'signal', trust) : null) ?? trust,
    sleep,
    wakeMode: options.wakeMode,
    heartbeatSeconds: options.heartbeat,
    devices: devices.length,
    onMessage: () => (tally.messages += 1),
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
  fleet.start();
  const stopWaking =
    api === null || wakeEvery === undefined
      ? null
      : wakeAtRandom(clock, wakeEvery * 1000, fleet, report, (id) => wakeAndWait(api, clock, id));
  const cancelReport = clock.every(reportEveryMs, () => report.progress());
  await untilInterrupted((until) => pauseUnless(clock, duration * 1000, until));
  cancelReport();
  report.summary();
  if (tally.refused > 0 || tally.logins + tally.sleepLogins === 0) process.exitCode = 1;
  stopWaking?.();
  api?.close();
  fleet.stop();
}

/** Default interval of a module without a controller. */
const heartbeatSecondsUsual = 50;

function lifeOfModule(
  context: CommandContext,
  { heartbeat = heartbeatSecondsUsual }: SimulateOptions,
  { address = listenerAddress(context, 'sleep') }: SleepServer,
): DeviceLife {
  return moduleAlone(address, heartbeat);
}

/** Assumes that all devices belong to one application. */
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

export interface SimulateOptions extends DeviceChoice, CredentialOptions, TrustOptions {
  readonly server?: string;
  readonly signal?: string;
  readonly onlySleep?: boolean;
  readonly wakeMode: WakeMode;
  /** Seconds, like the durations below. Default: as the server advises. */
  readonly heartbeat?: number;
  readonly onlineFor: number;
  readonly bootMs: number;
  readonly wakeEvery?: number;
  readonly url?: string;
  readonly duration?: number;
  readonly ramp: number;
}

/** Maximum wakeups with a pending outcome; beyond it no device is woken. */
const awaitedMax = 64;

/**
 * Wakes random sleeping devices until it is cancelled; later outcomes are not reported. `wake` resolves with the outcome, and
 * rejects if the wakeup failed or its outcome is unknown.
 */
export function wakeAtRandom(
  clock: Clock,
  everyMs: number,
  fleet: Pick<DeviceFleet, 'pickAsleep'>,
  report: Pick<FleetReport, 'outcome' | 'trouble'>,
  wake: (deviceId: string) => Promise<WakeupOutcomeData>,
): Cancel {
  let awaited = 0;
  let isStopped = false;
  const wakeOne = async (): Promise<void> => {
    const deviceId = awaited < awaitedMax ? fleet.pickAsleep() : null;
    if (deviceId === null) return;
    awaited += 1;
    try {
      const outcome = await wake(deviceId);
      if (!isStopped) report.outcome(outcome);
    } catch (error) {
      if (!isStopped) report.trouble(deviceId, error as Error);
    } finally {
      awaited -= 1;
    }
  };
  const cancel = clock.every(everyMs, () => void wakeOne());
  return () => {
    isStopped = true;
    cancel();
  };
}
