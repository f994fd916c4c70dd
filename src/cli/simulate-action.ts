/** What `reveille simulate` does. Exits 1 when a login was refused, or none came through. */
import type { Clock } from '../base/clock.ts';
import type { WakeMode } from '../domain/sleep.ts';
import { parseListenAddress, type ListenAddress } from '../server/settings-values.ts';
import type { CommandContext } from './command-context.ts';
import { usageError } from './command-error.ts';
import { FleetReport } from './fleet-report.ts';
import { ModuleFleet } from './module-fleet.ts';
import { listenerAddress } from './running-server.ts';
import { chooseDevices, sourceAddress, type DeviceChoice } from './simulated-devices.ts';
import { SleepingModule } from './sleeping-module.ts';

export interface SimulateOptions extends DeviceChoice {
  readonly server?: string;
  readonly wakeMode: WakeMode;
  /** Seconds, as are the duration and what the ramp is per. */
  readonly heartbeat: number;
  readonly duration?: number;
  readonly ramp: number;
}

const reportEveryMs = 1000;

export async function simulate(context: CommandContext, options: SimulateOptions): Promise<void> {
  const { clock } = context;
  const server = parseServer(options.server ?? listenerAddress(context, 'sleep'));
  const devices = await chooseDevices(context, options);
  const report = new FleetReport(context, devices.length);
  const fleet = new ModuleFleet(
    devices,
    { wakeMode: options.wakeMode, heartbeatSeconds: options.heartbeat, rampPerSecond: options.ramp },
    {
      clock,
      connect: (module) => SleepingModule.connect(server.port, { ...module, host: server.host }),
      addressOf: (number) => sourceAddress(number, devices.length, server.host),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  fleet.start();
  const cancelReport = clock.every(reportEveryMs, () => report.progress(fleet.tally));
  await untilOver(clock, options.duration);
  cancelReport();
  report.summary(fleet.tally);
  if (fleet.tally.refused > 0 || fleet.tally.logins === 0) process.exitCode = 1;
  await fleet.stop();
}

function parseServer(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address === null || address.port === 0) throw usageError(`--server ${text}: expected host:port`);
  return address;
}

/** Ctrl-C, SIGTERM or the end of the duration; a second Ctrl-C ends the process at once. */
function untilOver(clock: Clock, seconds: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      process.off('SIGINT', end).off('SIGTERM', end);
      resolve();
    };
    const cancel = seconds === undefined ? () => undefined : clock.after(seconds * 1000, end);
    process.on('SIGINT', end).on('SIGTERM', end);
  });
}
