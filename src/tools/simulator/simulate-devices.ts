/** Whole devices, controllers and modules: they come online, sleep, are woken and come online again. */
import type { Clock } from '../../lib/clock.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import { findApi, openApi } from '../../cli/api/api-access.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { findCredential } from '../../cli/api/credential-source.ts';
import { openEndpoints, type DeviceEndpointsOptions } from './device-endpoints.ts';
import { DeviceFleet } from './device-fleet.ts';
import { DeviceReport } from './device-report.ts';
import { LiveTable } from './live-table.ts';
import { RandomWaker } from './random-waker.ts';
import type { SimulatedDevice } from './simulated-devices.ts';
import type { SimulateOptions, Simulation } from './simulation.ts';
import { wakeAndWait } from '../../cli/api/wakeup-outcome.ts';

export async function simulateDevices(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
  signalUrl: string,
): Promise<Simulation> {
  const { clock, output } = context;
  const { onlineFor, bootMs, ramp: rampPerSecond, wakeEvery } = options;
  const api = wakeEvery === undefined ? null : await openApiOf(context, options, devices);
  const endpoints: DeviceEndpointsOptions = {
    clock,
    signalUrl,
    sleepServer: options.server,
    wakeMode: options.wakeMode,
    heartbeatSeconds: options.heartbeat,
    devices: devices.length,
    onMessage: () => (fleet.tally.messages += 1),
  };
  const fleet: DeviceFleet = new DeviceFleet(
    devices,
    { onlineMs: onlineFor * 1000, bootMs, rampPerSecond },
    {
      clock,
      random: () => Math.random(),
      endpointsOf: (device, number) => openEndpoints(endpoints, device, number),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onAwake: (deviceId, tookMs) => report.awake(deviceId, tookMs),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  const table = new LiveTable(process.stderr, clock);
  const report = new DeviceReport({ clock, output, table, tally: fleet.tally, wakesItself: api !== null });
  const waker = api === null ? null : newWaker(api, clock, fleet, report);
  return {
    tally: fleet.tally,
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

/** All devices are taken to be of one application. */
async function openApiOf(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
): Promise<ReveilleClient> {
  const need = { permission: 'wakeup:write', deviceId: devices[0]?.deviceId ?? null } as const;
  const credential = await findCredential(context, options, need);
  return openApi(findApi(context, options.url), credential, context.clock);
}

function newWaker(api: ReveilleClient, clock: Clock, fleet: DeviceFleet, report: DeviceReport): RandomWaker {
  return new RandomWaker({
    clock,
    pick: () => fleet.pickAsleep(),
    wake: (deviceId) => wakeAndWait(api, clock, deviceId),
    onOutcome: (outcome) => report.outcome(outcome),
    onTrouble: (deviceId, error) => report.trouble(deviceId, error),
  });
}
