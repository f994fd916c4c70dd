/** What `reveille simulate` does. Exits 1 when a login was refused, or none came through. */
import type { Clock } from '../../lib/clock.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { findSignalUrl } from './signal-url.ts';
import { simulateDevices } from './simulate-devices.ts';
import { simulateModules } from './simulate-modules.ts';
import { chooseDevices } from './simulated-devices.ts';
import type { SimulateOptions, Simulation } from './simulation.ts';

const reportEveryMs = 1000;

export async function simulate(context: CommandContext, options: SimulateOptions): Promise<void> {
  const { clock } = context;
  const simulation = await prepare(context, options);
  simulation.start();
  const cancelReport = clock.every(reportEveryMs, () => simulation.progress());
  await untilOver(clock, options.duration);
  cancelReport();
  simulation.summary();
  if (simulation.tally.refused > 0 || simulation.tally.logins === 0) process.exitCode = 1;
  await simulation.stop();
}

async function prepare(context: CommandContext, options: SimulateOptions): Promise<Simulation> {
  const signalUrl = options.onlySleep === true ? null : findSignalUrl(context, options);
  if (signalUrl === null && options.wakeEvery !== undefined)
    throw usageError('--wake-every needs controllers that come online', 'name their listener with --signal');
  const devices = await chooseDevices(context, options);
  if (signalUrl !== null) return simulateDevices(context, options, devices, signalUrl);
  if (options.onlySleep !== true)
    context.output.remark('no signal listener is known (--signal): the modules only sleep');
  return simulateModules(context, options, devices);
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
