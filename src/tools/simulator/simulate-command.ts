/** `reveille simulate`: devices over real sockets, until Ctrl-C or for a while. Exits 1 when no login succeeded. */
import { Option, type Command } from 'commander';
import { heartbeatSecondsMax, heartbeatSecondsMin } from '../../model/limits.ts';
import { parseOriginOption } from '../../cli/api/api-access.ts';
import { addTrustOptions } from '../../cli/shell/server-trust.ts';
import {
  addExamples,
  type CommandContext,
  inContext,
  pauseUnless,
  untilInterrupted,
} from '../../cli/shell/command-context.ts';
import { addCredentialOptions } from '../../cli/api/credential-source.ts';
import { wholeNumberOption } from '../../cli/shell/option-values.ts';
import { openSimulation, type SimulateOptions, type Simulation } from './simulate-devices.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { findSignalUrl } from './server-urls.ts';
import { chooseDevices } from './simulated-devices.ts';

const devicesMax = 1_000_000;
const aDayS = 86_400;

export function addSimulateCommand(program: Command): void {
  const wakeMode = new Option('--wake-mode <mode>', 'what wakes the modules');
  const command = program
    .command('simulate')
    .description(
      'Play devices: controllers come online, let their modules sleep, are woken and come online again. ' +
        'A live table shows how they stand and how long a wake takes.',
    )
    .option('--devices <count>', 'how many', wholeNumberOption(1, devicesMax), 1)
    .option(
      '--wake-every <seconds>',
      'wake a sleeping one by chance, through the API',
      wholeNumberOption(1, 3600),
    )
    .option('--online-for <seconds>', 'before it sleeps again', wholeNumberOption(1, aDayS), 3)
    .option(
      '--boot-ms <ms>',
      'from the packet to the sign-in, more or less',
      wholeNumberOption(0, 60_000),
      300,
    )
    .option(
      '--signal <address>',
      'signal listener, host:port or a ws or wss URL; the local one when left out',
    )
    .option(
      '--server <address>',
      'sleep server, host:port or tls://host:port; the one that controllers are told when left out',
    )
    .option('--only-sleep', 'no controllers: modules that log in and stay asleep, as a load')
    .addOption(wakeMode.choices(['fixed', 'custom', 'none']).default('custom'))
    .option(
      '--heartbeat <seconds>',
      'how often each module sends; as controllers are told when left out, or 50',
      wholeNumberOption(heartbeatSecondsMin, heartbeatSecondsMax),
    )
    .option('--duration <seconds>', 'until Ctrl-C when left out', wholeNumberOption(1, 2_000_000))
    .option('--ramp <per-second>', 'logins begun per second', wholeNumberOption(1, 100_000), 1000)
    .option('--product <id>', 'only devices of this product')
    .option(
      '--prefix <text>',
      'only devices whose id begins so; with --secret: made-up ids, PREFIX1, PREFIX2, …',
    )
    .option('--secret <secret>', 'the one secret of all made-up ids')
    .option(
      '--url <origin>',
      'the API that --wake-every asks; the local one when left out',
      parseOriginOption,
    )
    .action(inContext(simulate));
  addExamples(
    addCredentialOptions(addTrustOptions(command)),
    ['simulate --devices 2 --wake-every 5', 'two devices of the local registry, woken now and then'],
    ['simulate --devices 2', 'the same, to be woken from another terminal: reveille wake DEVICE --wait'],
    [
      'simulate --only-sleep --devices 19000 --ramp 5000 --heartbeat 15 --duration 60',
      'sleeping modules as a load, for a minute',
    ],
    ['simulate --devices 10 --prefix LAB- --secret s3cret --signal 10.0.0.5:8082', 'against another server'],
    [
      'simulate --prefix LAB- --secret s3cret --signal wss://lab.example --server tls://lab.example:8081 --ca lab.pem',
      'the same over TLS',
    ],
  );
}

const reportEveryMs = 1000;

async function simulate(context: CommandContext, options: SimulateOptions): Promise<void> {
  const { clock } = context;
  const simulation = await prepare(context, options);
  simulation.start();
  const cancelReport = clock.every(reportEveryMs, () => simulation.progress());
  const durationMs = (options.duration ?? Infinity) * 1000;
  await untilInterrupted((signal) => pauseUnless(clock, durationMs, signal));
  cancelReport();
  simulation.summary();
  if (!simulation.hasUpgradableServer()) process.exitCode = 1;
  simulation.stop();
}

async function prepare(context: CommandContext, options: SimulateOptions): Promise<Simulation> {
  const signalUrl = options.onlySleep === true ? null : findSignalUrl(context, options);
  if (signalUrl === null && options.wakeEvery !== undefined)
    throw usageError('--wake-every needs controllers that come online', 'name their listener with --signal');
  const devices = await chooseDevices(context, options);
  if (signalUrl === null && options.onlySleep !== true)
    context.output.remark('no signal listener is known (--signal): the modules only sleep');
  return openSimulation(context, options, devices, signalUrl);
}
