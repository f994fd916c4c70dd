/** Sleeping modules alone, without their controllers: a load on the sleep server. */
import { parseListenAddress, type ListenAddress } from '../../server/config/settings-values.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { FleetReport } from './fleet-report.ts';
import { ModuleFleet } from './module-fleet.ts';
import { listenerAddress } from '../../cli/admin/running-server.ts';
import type { SimulateOptions, Simulation } from './simulation.ts';
import { sourceAddress, type SimulatedDevice } from './simulated-devices.ts';
import { SleepingModule } from './sleeping-module.ts';

/** How often a module sends that nobody advised. */
const heartbeatSecondsUsual = 50;

export function simulateModules(
  context: CommandContext,
  options: SimulateOptions,
  devices: readonly SimulatedDevice[],
): Simulation {
  const server = parseServer(options.server ?? listenerAddress(context, 'sleep'));
  const report = new FleetReport(context, devices.length);
  const { wakeMode, heartbeat = heartbeatSecondsUsual, ramp } = options;
  const fleet = new ModuleFleet(
    devices,
    { wakeMode, heartbeatSeconds: heartbeat, rampPerSecond: ramp },
    {
      clock: context.clock,
      connect: (module) => SleepingModule.connect(server.port, { ...module, host: server.host }),
      addressOf: (number) => sourceAddress(number, devices.length, server.host),
      onWake: (deviceId, packet) => report.wake(deviceId, packet),
      onTrouble: (deviceId, error) => report.trouble(deviceId, error),
    },
  );
  return {
    tally: fleet.tally,
    start: () => fleet.start(),
    progress: () => report.progress(fleet.tally),
    summary: () => report.summary(fleet.tally),
    stop: () => fleet.stop(),
  };
}

/** Throws a usage error. */
function parseServer(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address === null || address.port === 0) throw usageError(`--server ${text}: expected host:port`);
  return address;
}
